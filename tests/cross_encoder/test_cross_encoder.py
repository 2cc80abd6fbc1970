"""Retrieve and read, with a network whose logits can be worked out by hand; then with a tiny one that is trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tiny_model import BODY, tiny_model, tiny_network, tiny_pieces

from sparc_search.cross_encoder.data import (
    NO_ANSWER,
    Example,
    PlacedQuestion,
    apart,
    apart_by_chance,
    as_paragraphs,
    as_passages,
    asked_in,
    examples,
    length_of,
    negatives,
    plan_epoch,
    sampled,
)
from sparc_search.cross_encoder.files import CrossEncoderCard, read_card, write_card
from sparc_search.cross_encoder.network import CrossEncoderNetwork, export, load_base, run_torch, save_as_base
from sparc_search.cross_encoder.reading import CrossEncoder, PassageLogits, best_spans, open_cross_encoder, windows
from sparc_search.cross_encoder.teaching import share_of
from sparc_search.cross_encoder.training import (
    NULL_WEIGHT,
    CrossEncoderSettings,
    CrossEncoderTraining,
    answer_loss,
    make_batch,
)
from sparc_search.cross_encoder.tuning import best_mix, tuned_mix
from sparc_search.errors import ModelDamaged, ModelNotFound, UsageError
from sparc_search.evaluation.bm25 import Bm25
from sparc_search.evaluation.closed import read_closed
from sparc_search.evaluation.questions import OpenQuestion
from sparc_search.evaluation.retrieve_and_read import RetrieveAndRead
from sparc_search.model.tokenizer import Pieces, WordPieces
from sparc_search.records import CONTINUES, PUNCTUATION, Passage
from sparc_search.squad import SquadFile, paragraphs_of, read_squad

PIECES = tiny_pieces()
CARD = CrossEncoderCard(BODY, 24, 12, 3, 0.0, {}, {})


def years(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """A network that takes every 1882 for the answer, the more so the more often `dome` stands beside it."""
    year, dome = PIECES(["1882 dome"])[0].ids
    found = np.zeros((*ids.shape, 2), np.float32)
    found[ids == year] = 2.0
    return found + found * (ids == dome).sum(1)[:, None, None]


def passages(*texts: str) -> list[Passage]:
    return [Passage(f"p{number}", "d", number, text) for number, text in enumerate(texts)]


def test_it_reads_all_passages_and_takes_the_best_span() -> None:
    some = passages("the tower was built in 1882", "the dome, built in 1882, is gold", "a river")
    pipeline = RetrieveAndRead(Bm25(some), CrossEncoder(CARD, PIECES, years), read=2)
    reply = pipeline.ask("when was the tower or dome built", k=5)
    assert reply.answers[0].text == "1882"
    assert reply.answers[0].passage.id == "p1"
    assert reply.candidates == 2
    assert set(reply.seconds) == {"retrieve", "read"}
    strong = RetrieveAndRead(Bm25(passages("dome 1882", "tower tower tower 1882")), pipeline.reader, mix=100.0)
    assert strong.ask("tower").answers[0].passage.id == "p1"
    assert RetrieveAndRead(Bm25(some), pipeline.reader).ask("xyzzy").answers == ()


def test_it_may_find_nothing() -> None:
    def doubting(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        found = years(ids, mask)
        found[:, 0] = 1.5 * (ids == PIECES(["lake"])[0].ids[0]).any(1)[:, None]
        return found

    best, *rest = CrossEncoder(CARD, PIECES, doubting).read("when", passages("built in 1882", "a lake"))
    assert (best.score, best.nothing) == (4.0, 0.0)
    assert {span.nothing for span in rest if span.passage == 1} == {3.0}


def test_a_long_passage_is_read_to_its_end() -> None:
    text = "river lake " * 40 + "1882"
    [best, *_] = CrossEncoder(CARD, PIECES, years).read("when", passages(text))
    assert text[best.start : best.end] == "1882"


@given(st.integers(0, 60), st.integers(4, 12))
def test_windows_hold_every_piece(length: int, window: int) -> None:
    cut = list(windows(np.arange(length, dtype=np.int32), window, 3))
    assert {number for _, part in cut for number in part.tolist()} == set(range(length))
    assert all(len(part) <= window and part.tolist()[:1] in ([first], []) for first, part in cut)


@settings(deadline=None)
@given(st.lists(st.sampled_from([0, CONTINUES, PUNCTUATION]), min_size=1, max_size=8), st.integers(0, 10**6))
def test_the_best_span_is_the_best_legal_one(flags: list[int], seed: int) -> None:
    flags[0] &= ~CONTINUES
    count = len(flags)
    logits = np.random.default_rng(seed).normal(size=(count, 2)).astype(np.float32)
    offsets = np.array([(at * 2, at * 2 + 1) for at in range(count)], np.int32)
    pieces = Pieces(np.zeros(count, np.int32), offsets, np.array(flags, np.uint8))
    legal = {
        (i * 2, j * 2 + 1): float(logits[i, 0]) + float(logits[j, 1])
        for i in range(count)
        for j in range(i, min(count, i + 3))
        if not flags[i] & CONTINUES
        and not (j + 1 < count and flags[j + 1] & CONTINUES)
        and not all(flag & PUNCTUATION for flag in flags[i : j + 1])
    }
    found = best_spans(0, PassageLogits(pieces, logits, 0.0), 3)
    assert len(found) == min(5, len(legal))
    assert [legal[span.start, span.end] for span in found] == sorted(legal.values(), reverse=True)[:5]


# --- data ------------------------------------------------------------------------------------------------------------


def squad(folder: Path, towers: int = 12) -> SquadFile:
    def paragraph(number: int) -> dict[str, Any]:
        place, year = ("dome", "tower", "bridge", "museum")[number % 4], ("1882", "paris", "rome")[number % 3]
        context = f"{place} of {'gold ' * (number % 5)}{year} in {year}"
        answers = [{"text": year, "answer_start": context.index(year)}]
        qas: list[dict[str, Any]] = [{"id": str(number), "question": f"where is {place}", "answers": answers}]
        if number % 4 == 0:
            qas.append({"id": f"no-{number}", "question": "when is lake", "answers": [], "is_impossible": True})
        return {"context": context, "qas": qas}

    path = folder / "train.json"
    path.write_text(json.dumps({"data": [{"title": f"t{n % 3}", "paragraphs": [paragraph(n)]} for n in range(towers)]}))
    return read_squad(path)


def one_question(text: str, answer: str, start: int) -> list[PlacedQuestion]:
    answers = [{"text": answer, "answer_start": start}]
    paragraph = {"context": text, "qas": [{"id": "1", "question": "when", "answers": answers}]}
    return asked_in([SquadFile(Path("one.json"), "", tuple(paragraphs_of({"paragraphs": [paragraph]})))])


def test_the_answer_is_where_the_file_says() -> None:
    assert one_question("rome or rome", "rome", 8)[0].start == 8
    assert one_question("rome or rome", "rome", 5)[0].start == 0
    assert one_question("rome", "paris", 0) == []


def test_a_wrong_passage_holds_no_answer(tmp_path: Path) -> None:
    asked = asked_in([squad(tmp_path)])
    wrong = negatives(asked, Bm25(as_passages(asked)), 1.0, 0)
    assert wrong
    for number, text in wrong.items():
        assert asked[number].question.answers[0] not in text
    assert negatives(asked, Bm25(as_passages(asked)), 0.0, 0) == {}


@given(st.integers(0, 29), st.integers(5, 40))
def test_the_window_holds_the_answer(at: int, window: int) -> None:
    words = ["lake"] * 30
    words[at] = "1882"
    asked = one_question(" ".join(words), "1882", 5 * at)
    [example] = examples(asked, {}, PIECES, window)
    assert len(example.passage) == min(window, 30)
    assert PIECES.piece(int(example.passage[example.start])) == "1882"
    assert example.start == example.end


def test_questions_without_an_answer_are_told_by_the_file(tmp_path: Path) -> None:
    some = examples(asked_in([squad(tmp_path)]), {}, PIECES, 20)
    assert [example.id for example in some if example.start == NO_ANSWER] == ["no-0", "no-4", "no-8"]
    batch = make_batch(some, PIECES, 12)
    for example, (start, end) in zip(some, batch.gold.tolist(), strict=True):
        assert ((start, end) == (0, 0)) == (example.start == NO_ANSWER)


def test_held_out_articles_are_apart(tmp_path: Path) -> None:
    asked = asked_in([squad(tmp_path)])
    kept, held = apart(asked, {"t1"})
    assert {one.article for one in held} == {"t1"}
    assert len(kept) + len(held) == len(asked)
    kept, held = apart_by_chance(asked, 3, 1)
    assert len(held) >= 3
    assert not {one.text for one in kept} & {one.text for one in held}
    assert apart_by_chance(asked, 0, 1) == (asked, [])
    assert apart_by_chance(asked, 10**6, 1)[0]
    assert len(sampled(asked, 3, 1)) == 3
    assert sampled(asked, 0, 1) == asked
    assert sum(len(paragraph.questions) for paragraph in as_paragraphs(asked)) == 12


@given(st.lists(st.tuples(st.integers(1, 30), st.sampled_from([0.0, 0.3, 1.0, 2.0])), min_size=1, max_size=30))
def test_an_epoch_sees_examples_as_often_as_they_weigh(lengths: list[tuple[int, float]]) -> None:
    word = np.ones(1, np.int32)
    some = [Example("", word, np.ones(length, np.int32), 0, 0, weight) for length, weight in lengths]
    plan = plan_epoch(some, 64, 1, 0)
    seen = [number for batch in plan for number in batch]
    assert plan == plan_epoch(some, 64, 1, 0)
    for number, example in enumerate(some):
        assert int(example.weight) <= seen.count(number) <= int(example.weight) + (example.weight % 1 > 0)
    for batch in plan:
        assert len(batch) == 1 or len(batch) * max(length_of(some[number]) for number in batch) <= 64
    assert all(len(batch) <= 2 for batch in plan_epoch(some, 64, 1, 0, 2))


# --- training --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from safetensors.torch import save_file

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("base")
    weights = {f"bert.{name}": value.contiguous() for name, value in tiny_network().body.state_dict().items()}
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(BODY))
    PIECES.save(folder)
    return folder


def some_examples(asked: list[PlacedQuestion]) -> list[Example]:
    return examples(asked, negatives(asked, Bm25(as_passages(asked)), 0.5, 3), PIECES, 20)


def new_training(base: Path, asked: list[PlacedQuestion], folder: Path | None, **settings: Any) -> CrossEncoderTraining:
    torch.manual_seed(0)
    wanted = CrossEncoderSettings(**{"steps": 120, "tokens": 80, "rate": 2e-3, "cool_down": 30, **settings})
    return CrossEncoderTraining(load_base(base, BODY), some_examples(asked), PIECES, wanted, 12, folder)


Trained = tuple[CrossEncoderNetwork, list[float], list[PlacedQuestion]]


@pytest.fixture(scope="module")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    asked = asked_in([squad(tmp_path_factory.mktemp("data"))])
    run = new_training(base, asked, None, warm_up=10, average=0.9, dropout=0.0)
    losses: list[float] = []
    assert run.run(lambda news: losses.append(news.loss))
    return run.network, losses, asked


def test_the_loss_is_the_cross_entropy_over_all_words_met(tmp_path: Path) -> None:
    some = some_examples(asked_in([squad(tmp_path)]))
    batch = make_batch(some, PIECES, 12)
    logits = torch.randn((*batch.ids.shape, 2), generator=torch.Generator().manual_seed(0))
    owners = batch.owner.tolist()
    assert 0 < len(owners) < len(some)
    found, refused = [], []
    for number, example in enumerate(some):
        for side, place in enumerate((example.start, example.end)):
            words = logits[number, batch.words[number], side]
            nothing = logits[number, :1, side]
            met = [words, nothing]
            if number in owners:
                row = len(some) + owners.index(number)
                met.append(wrong := logits[row, batch.words[row], side])
                nothing_there = logits[row, :1, side]
                refused.append(torch.cat([wrong, nothing_there]).logsumexp(0) - nothing_there[0])
            right = nothing[0] if example.start == NO_ANSWER else words[place]
            found.append(torch.cat(met).logsumexp(0) - right)
    total = torch.stack(found).sum() / 2 + NULL_WEIGHT * torch.stack(refused).sum() / 2
    wanted = float(total / (len(some) + NULL_WEIGHT * len(owners)))
    assert float(answer_loss(logits, batch)) == pytest.approx(wanted, rel=1e-5)


def test_it_learns(trained: Trained) -> None:
    _, losses, _ = trained
    assert sum(losses[-5:]) < 0.5 * sum(losses[:5])


def test_a_resumed_run_ends_with_the_same_weights(base: Path, tmp_path: Path) -> None:
    asked = asked_in([squad(tmp_path)])
    whole = new_training(base, asked, tmp_path / "a", steps=9, warm_up=2, dropout=0.2)
    whole.run(lambda news: None)
    first = new_training(base, asked, tmp_path / "b", steps=9, warm_up=2, dropout=0.2)
    seen: list[int] = []
    assert not first.run(lambda news: seen.append(news.step), lambda: len(seen) == 4)
    second = new_training(base, asked, tmp_path / "b", steps=9, warm_up=2, dropout=0.2)
    second.resume()
    assert second.step == 4
    assert second.run(lambda news: None)
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, second.network.state_dict()[name]), name
    assert second.history == whole.history


def test_a_checkpoint_of_other_data_or_batches_is_refused(base: Path, tmp_path: Path) -> None:
    asked = asked_in([squad(tmp_path)])
    new_training(base, asked, tmp_path / "a", steps=1).run(lambda news: None)
    with pytest.raises(ModelDamaged, match="same data"):
        new_training(base, asked[:5], tmp_path / "a").resume()
    with pytest.raises(UsageError, match="tokens"):
        new_training(base, asked, tmp_path / "a", tokens=99).resume()
    with pytest.raises(ModelDamaged, match="no checkpoint"):
        new_training(base, asked, None).resume()


def test_the_onnx_file_is_the_network(trained: Trained, tmp_path: Path) -> None:
    network, _, asked = trained
    folder = saved(network, tmp_path)
    reader = open_cross_encoder(folder, threads=1)
    ids = np.array([[2, 20, 21, 3, 22, 23, 24, 3], [2, 20, 3, 25, 3, 0, 0, 0]], np.int64)
    mask = (ids > 0).astype(np.int64)
    wanted, found = run_torch(network)(ids, mask), reader.network(ids, mask)
    assert np.abs(wanted - found)[mask > 0].max() < 1e-4
    rows = [row for some in read_closed(reader, as_paragraphs(asked)) for row in some]
    assert sum(row.exact_match for row in rows) / len(rows) > 0.5
    mixes = tuned_mix(reader, Bm25(as_passages(asked)), [OpenQuestion("1", "where is dome", ("1882",))], read=3)
    assert best_mix(mixes) in mixes
    assert best_mix({0.0: 0.3, 0.1: 0.5, 0.2: 0.5}) == 0.1


def saved(network: CrossEncoderNetwork, folder: Path) -> Path:
    PIECES.save(folder)
    export(network, BODY, folder / "reader.onnx")
    write_card(folder, body=BODY, window=24, question_window=12, longest_answer=3, mix=0.0, training={})
    return folder


def test_a_damaged_reader_is_refused(trained: Trained, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="train-reader"):
        read_card(tmp_path)
    folder = saved(trained[0], tmp_path)
    assert read_card(folder).in_words == "bert, 2 layers of 32"
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelDamaged):
        read_card(folder)
    (folder / "reader.json").write_text("{}")
    with pytest.raises(ModelDamaged):
        read_card(folder)


def test_other_bodies_and_missing_weights_are_refused(base: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="BERT"):
        load_base(base, {**BODY, "model_type": "distilbert"})
    with pytest.raises(ModelNotFound, match="lack"):
        load_base(tmp_path, BODY)


def test_it_may_begin_from_the_body_of_a_sparc_model(tmp_path: Path) -> None:
    model = tiny_model()
    model.save_pretrained(tmp_path)
    begun = load_base(tmp_path, json.loads((tmp_path / "config.json").read_text())["body"])
    body = model.network.body.state_dict()
    for name, value in begun.body.state_dict().items():
        assert torch.allclose(value, body[name], atol=1e-3)  # a folder keeps half precision


def test_it_may_begin_from_a_reader(base: Path, tmp_path: Path) -> None:
    reader = load_base(base, BODY)
    save_as_base(reader, BODY, tmp_path)
    begun = load_base(tmp_path, json.loads((tmp_path / "config.json").read_text()))
    for name, value in reader.state_dict().items():
        assert torch.allclose(begun.state_dict()[name], value, atol=1e-3)


def test_pieces_load_again(trained: Trained, tmp_path: Path) -> None:
    assert len(WordPieces.load(saved(trained[0], tmp_path))) == len(PIECES)


def test_a_share_of_the_questions_is_the_same_whatever_stands_beside_them() -> None:
    asked = [PlacedQuestion(OpenQuestion(str(n), f"question {n}", ("x",)), "", "text", 0, 1) for n in range(400)]
    without = PlacedQuestion(OpenQuestion("none", "question", ()), "", "text", NO_ANSWER, NO_ANSWER)
    some = share_of([*asked, without], 0.25)
    assert 60 < len(some) < 140
    assert share_of(asked[200:], 0.25) == [question for question in some if question in asked[200:]]
    assert set(some) <= set(share_of(asked, 0.5))
    assert share_of([*asked, without], 1.0) == asked
