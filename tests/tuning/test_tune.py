"""Tuning on a tiny model: what learns and what stays, what is written and when, what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tiny_model import WORDS, tiny_model

from sparc_search.errors import IndexMismatch, Interrupted, ModelError, UsageError
from sparc_search.evaluation.watching import Watcher
from sparc_search.index import Index
from sparc_search.model.encoder_onnx import open_encoder as open_onnx
from sparc_search.model.encoder_torch import open_encoder as open_torch
from sparc_search.model.export import export
from sparc_search.model.files import ONNX, TUNED, WEIGHTS, open_model, sha256_of
from sparc_search.settings import Settings
from sparc_search.training.average import trainable
from sparc_search.tuning.learning import TuningSettings
from sparc_search.tuning.run import QuestionSide, Tuning, TuningReport
from sparc_search.tuning.scoring import PoolTensors
from sparc_search.tuning.work import Work

QUICK = TuningSettings(layers=1, epochs=2, rate=1e-3, batch=4, passages=4, folds=2)
PLACES = [word for word in WORDS if word not in ("the", "a", "of", "in", "and", "is", "was", "1882", "built")]


def note_of(number: int) -> dict[str, str]:
    """A note that no other note is like: a place, its colour and the year it was built."""
    place, near = PLACES[number % len(PLACES)], PLACES[(7 * number + 3) % len(PLACES)]
    return {"id": f"{number}", "title": place, "text": f"the {place} of {near} was built in 18{number:02}"}


def question_of(number: int) -> dict[str, object]:
    place, near = PLACES[number % len(PLACES)], PLACES[(7 * number + 3) % len(PLACES)]
    return {"question": f"when was the {place} of {near} built", "answer": f"18{number:02}"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "base"
    tiny_model().save_pretrained(folder, {"confidence": {"bias": 0.0, "score": 0.1, "lead": 0.1, "widest": 5.0}})
    export(folder)
    return folder


@pytest.fixture(scope="module")
def settings(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """An index of thirty notes by the tiny model."""
    chosen = Settings().changed(index=tmp_path_factory.mktemp("index") / "notes", model=str(model), threads=1)
    with Index.create(settings=chosen) as index:
        assert index.add(map(note_of, range(30))).indexed == 30
    return chosen


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return written(tmp_path / "questions.jsonl", map(question_of, range(20)))


@pytest.fixture(scope="module")
def done(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> TuningReport:
    """A tuning that was not disturbed."""
    folder = tmp_path_factory.mktemp("done")
    return tuned(settings, written(folder / "questions.jsonl", map(question_of, range(20))))


@pytest.fixture(scope="module")
def result(done: TuningReport) -> Path:
    """The model it wrote."""
    assert done.written
    return done.written


def written(path: Path, lines: Iterator[dict[str, object]] | Sequence[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def tuned(settings: Settings, questions: Path, *, resume: bool = False, **changes: object) -> TuningReport:
    plan = Tuning(settings, [questions], questions.parent / "notes.tuned", QUICK)
    for name, value in changes.items():
        setattr(plan, name, value)
    return plan.run(resume=resume, anyway=True)


def test_torch_scores_what_the_scorer_scores(settings: Settings, model: Path) -> None:
    from sparc_search.evaluation.questions import OpenQuestion
    from sparc_search.tuning.proposing import propose

    asked = [OpenQuestion(f"{n}", str(question_of(n)["question"]), (f"18{n:02}",)) for n in range(6)]
    side = QuestionSide(open_model(str(model)), asked, layers=1)
    config = side.network.config
    with Index.open(settings=settings, encoder=side.encoder) as index:
        pieces = [text.ids for text in side.texts]
        pools = list(propose(index, asked, pieces, passages=4, window=config.question_window))
        best = [reply.answers[0].score for reply in index.ask_many([one.text for one in asked], k=1)]
    with torch.no_grad():
        states = side.asked(range(len(asked)))
    for row, pool in enumerate(pools):
        assert pool is not None
        scores = PoolTensors.of(pool).scores(states, row, config.ngrams, config.question_window)
        assert float(scores.max()) == pytest.approx(best[row], rel=1e-4)


def test_what_is_frozen_is_computed_once_and_changes_nothing(model: Path) -> None:
    from sparc_search.evaluation.questions import OpenQuestion

    texts = ["when was the dome built", "who painted the golden tower of paris"]
    for layers in (0, 1, 2):
        side = QuestionSide(open_model(str(model)), [OpenQuestion("", text) for text in texts], layers)
        whole = open_torch(str(model)).encode_questions([*texts, "what is rome"])
        for found, wanted in zip(side.encoder.encode_questions([*texts, "what is rome"]), whole, strict=True):
            np.testing.assert_allclose(found.start_vector, wanted.start_vector, atol=1e-5)
            np.testing.assert_allclose(found.passage_vector, wanted.passage_vector, atol=1e-5)
            assert [ngram.name for ngram in found.start_ngrams] == [ngram.name for ngram in wanted.start_ngrams]
        names = set(trainable(side.network))
        assert "question_start.weight" in names
        assert "sparse.start_1.query.weight" in names
        assert not names & {"start.weight", "end.weight", "span_start.weight", "filter.weight"}
        assert any(name.startswith("body.encoder.layer.1.") for name in names) == (layers > 0)
        assert any(name.startswith("body.encoder.layer.0.") for name in names) == (layers > 1)


def test_the_question_side_learns_and_the_passages_stay(
    settings: Settings, model: Path, done: TuningReport, result: Path
) -> None:
    before, out = {path.name: sha256_of(path) for path in model.iterdir()}, result
    assert done.judgement.verdict == "too few"
    assert (len(done.asked.questions), done.judgement.questions) == (20, 20)
    base, folder = open_model(str(model)), open_model(str(out))
    assert folder.fingerprint == base.fingerprint, "it fits the same passages"
    assert folder.tuned
    assert not base.tuned
    assert [sha256_of(out / name) for name in (WEIGHTS, ONNX)] == [before[name] for name in (WEIGHTS, ONNX)]
    assert folder.card["tuning"]["questions"] == 20
    learned = load_file(folder.file(TUNED))
    assert "question_start.weight" in learned
    assert "sparse.end_2.key.weight" in learned
    assert not any(name.startswith(("start.", "filter.", "body.encoder.layer.0.")) for name in learned)
    assert {name: open_model(str(model)).card["sha256"].get(name, sha) for name, sha in before.items()} == before
    assert sorted(path.name for path in out.parent.iterdir()) == ["notes.tuned", "questions.jsonl"]

    text = str(question_of(3)["question"])
    plain, by_onnx, by_torch = (
        encoder.encode_questions([text])[0]
        for encoder in (open_onnx(str(model)), open_onnx(str(out)), open_torch(str(out)))
    )
    assert np.abs(plain.start_vector - by_torch.start_vector).max() > 1e-3
    assert np.abs(by_onnx.start_vector - by_torch.start_vector).max() < np.abs(plain.start_vector).max() / 10
    with Index.open(settings=replace(settings, model=str(out))) as index:
        assert index.ask(text).best is not None
        index.add([note_of(3)])  # unchanged: its passages are those of the base


def test_stopped_and_resumed_is_as_if_nothing_had_happened(
    settings: Settings, questions: Path, done: TuningReport, result: Path
) -> None:
    steps = 0

    def stop() -> bool:
        nonlocal steps
        steps += 1
        return steps == 23  # 20 of looking, two of the first fold

    with pytest.raises(Interrupted, match="resume"):
        tuned(settings, questions, stop=stop)
    assert sorted(path.name for path in questions.parent.iterdir()) == ["notes.tuned.tuning", "questions.jsonl"]
    with pytest.raises(UsageError, match="--resume"):
        tuned(settings, questions)
    with pytest.raises(UsageError, match="another `settings`"):
        tuned(settings, questions, resume=True, tuning=replace(QUICK, epochs=3))
    report = tuned(settings, questions, resume=True)
    assert report.written
    assert (report.written / TUNED).read_bytes() == (result / TUNED).read_bytes()
    assert report.judgement == done.judgement
    assert sorted(path.name for path in questions.parent.iterdir()) == ["notes.tuned", "questions.jsonl"]


def test_a_kill_in_the_middle_leaves_the_model_that_was_there(
    settings: Settings, questions: Path, result: Path
) -> None:
    out = shutil.copytree(result, questions.parent / "notes.tuned")
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    class Killed(BaseException):
        """No code catches this."""

    class Dying(Watcher):
        def counting(self, what: str, total: int) -> AbstractContextManager[Callable[[], object]]:
            if what.startswith("all"):
                raise Killed
            return super().counting(what, total)

    with pytest.raises(Killed):
        tuned(settings, questions, watcher=Dying())
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    (questions.parent / "notes.tuned.new").mkdir()  # a kill while it was written
    assert tuned(settings, questions, resume=True).written == out
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before, "the same seed, the same model"


def test_without_a_gain_nothing_is_written(settings: Settings, questions: Path) -> None:
    report = Tuning(settings, [questions], questions.parent / "out", QUICK).run()
    assert report.written is None
    assert [path.name for path in questions.parent.iterdir()] == ["questions.jsonl"]


def test_what_cannot_be_learned_from_is_counted_and_named(settings: Settings, tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        *map(question_of, range(20)),
        {**question_of(1), "answers": ["1801", "in 1801"], "verdict": "up"},
        {"question": "when was the moon built", "answers": ["2099"]},
        {"question": "when was rome built", "verdict": "down"},
        {"question": "where is the queen", "answers": ["rome"]},
        {"question": "Where is the  queen", "answers": ["paris"]},
    ]
    lines[20].pop("answer")
    report = tuned(settings, written(tmp_path / "questions.jsonl", lines))
    assert (report.asked.repeated, report.asked.unanswered) == (1, 1)
    assert report.asked.contradictory == ("where is the queen",)
    assert report.nowhere == ("when was the moon built",)
    assert report.judgement.questions == 20
    assert json.loads(json.dumps(report.record()))["nowhere"] == ["when was the moon built"]


@pytest.mark.parametrize(
    ("lines", "match"),
    [
        ([{"question": "when", "verdict": "down"}], "no right answer"),
        ([{"question": "when", "answer": "a"}, {"question": "When", "answer": "b"}], "contradict"),
        ([{"question": "when was the moon built", "answer": "2099"}], "only 0 of 1"),
    ],
)
def test_nothing_to_learn_from_is_said(
    settings: Settings, tmp_path: Path, lines: list[dict[str, object]], match: str
) -> None:
    file = written(tmp_path / "questions.jsonl", lines)
    with pytest.raises(UsageError, match=match):
        tuned(settings, file)
    assert not (tmp_path / "notes.tuned").exists()


def test_two_tunings_at_once_and_places_that_are_taken(settings: Settings, questions: Path, model: Path) -> None:
    out = questions.parent / "notes.tuned"
    with Work.beside(out), pytest.raises(ModelError, match="under way"):
        tuned(settings, questions)
    with pytest.raises(UsageError, match="is to be tuned"):
        tuned(settings, questions, out=model)
    with pytest.raises(UsageError, match="no tuned model"):
        tuned(settings, questions, out=questions.parent)


def test_a_tuned_model_does_not_fit_another_index(
    settings: Settings, questions: Path, result: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other-model"
    tiny_model(seed=1).save_pretrained(other)
    export(other)
    elsewhere = settings.changed(index=tmp_path / "elsewhere", model=str(other))
    with Index.create(settings=elsewhere) as index:
        index.add([note_of(0)])
    with Index(replace(elsewhere, model=str(result))) as index, pytest.raises(IndexMismatch) as caught:
        index.ask("when was the dome built")
    assert "was tuned for passages of" in caught.value.message
    assert "sparc-search tune" in caught.value.remedy
    with pytest.raises(IndexMismatch):
        tuned(replace(elsewhere, model=settings.model), questions)
