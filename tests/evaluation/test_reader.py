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

from sparc_search.errors import ModelDamaged, ModelNotFound, UsageError
from sparc_search.evaluation.bm25 import Bm25
from sparc_search.evaluation.closed_reader import read_closed
from sparc_search.evaluation.questions import OpenQuestion
from sparc_search.evaluation.reader import Reader, RetrieveAndRead, Window, best_spans, open_reader
from sparc_search.evaluation.reader_data import apart, as_passages, chosen, examples, negatives, read_training
from sparc_search.evaluation.reader_files import ReaderCard, read_card, write_card
from sparc_search.evaluation.reader_training import (
    ReaderBody,
    ReaderSettings,
    export,
    load_base,
    make_batch,
    reader_loss,
    run_torch,
    train,
)
from sparc_search.evaluation.reader_tuning import best_mix, tuned_mix
from sparc_search.model.tokenizer import Pieces, WordPieces
from sparc_search.records import CONTINUES, PUNCTUATION, Passage
from sparc_search.squad import SquadParagraph, SquadQuestion

PIECES = tiny_pieces()
CARD = ReaderCard(BODY, 24, 12, 3, 0.0, {}, {})


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
    pipeline = RetrieveAndRead(Bm25(some), Reader(CARD, PIECES, years), read=2)
    reply = pipeline.ask("when was the tower or dome built", k=5)
    assert reply.answers[0].text == "1882"
    assert reply.answers[0].passage.id == "p1"
    assert reply.candidates == 2
    assert set(reply.seconds) == {"retrieve", "read"}
    strong = RetrieveAndRead(Bm25(passages("dome 1882", "tower tower tower 1882")), pipeline.reader, mix=100.0)
    assert strong.ask("tower").answers[0].passage.id == "p1"
    assert RetrieveAndRead(Bm25(some), pipeline.reader).ask("xyzzy").answers == ()


def test_a_long_passage_is_read_to_its_end() -> None:
    text = "river lake " * 40 + "1882"
    [best, *_] = Reader(CARD, PIECES, years).read("when", passages(text))
    assert text[best.start : best.end] == "1882"


@given(st.integers(0, 60), st.integers(4, 12))
def test_windows_hold_every_piece(length: int, window: int) -> None:
    reader = Reader(ReaderCard(BODY, window + 4, 12, 3, 0.0, {}, {}), PIECES, years)
    cut = list(reader._windows(passages("lake " * length), window))
    assert {window.first + at for window in cut for at in range(len(window.pieces.ids))} == set(range(length))
    assert all(len(one.pieces.ids) <= window for one in cut)


@settings(deadline=None)
@given(st.lists(st.sampled_from([0, CONTINUES, PUNCTUATION]), min_size=1, max_size=8), st.integers(0, 10**6))
def test_the_best_span_is_the_best_legal_one(flags: list[int], seed: int) -> None:
    flags[0] &= ~CONTINUES
    count = len(flags)
    logits = np.random.default_rng(seed).normal(size=(count, 2)).astype(np.float32)
    offsets = np.array([(at * 2, at * 2 + 1) for at in range(count)], np.int32)
    window = Window(0, 0, Pieces(np.zeros(count, np.int32), offsets, np.array(flags, np.uint8)))
    legal = {
        (i * 2, j * 2 + 1): float(logits[i, 0]) + float(logits[j, 1])
        for i in range(count)
        for j in range(i, min(count, i + 3))
        if not flags[i] & CONTINUES
        and not (j + 1 < count and flags[j + 1] & CONTINUES)
        and not all(flag & PUNCTUATION for flag in flags[i : j + 1])
    }
    found = best_spans(window, logits, 3)
    assert len(found) == min(5, len(legal))
    assert [legal[span.start, span.end] for span in found] == sorted(legal.values(), reverse=True)[:5]


# --- data ------------------------------------------------------------------------------------------------------------


def squad(folder: Path, towers: int = 12) -> Path:
    def paragraph(number: int) -> dict[str, Any]:
        place, year = ("dome", "tower", "bridge", "museum")[number % 4], ("1882", "paris", "rome")[number % 3]
        context = f"{place} of {'gold ' * (number % 5)}{year} in {year}"
        answers = [{"text": year, "answer_start": context.index(year)}]
        return {"context": context, "qas": [{"id": str(number), "question": f"where is {place}", "answers": answers}]}

    path = folder / "train.json"
    path.write_text(json.dumps({"data": [{"title": "t", "paragraphs": [paragraph(n) for n in range(towers)]}]}))
    return path


def test_the_answer_is_where_the_file_says() -> None:
    [one] = chosen([SquadParagraph("rome or rome", (SquadQuestion("1", "q", ("rome",), 8),))], 10, 0)
    assert one.start == 8
    [moved] = chosen([SquadParagraph("rome or rome", (SquadQuestion("1", "q", ("rome",), 5),))], 10, 0)
    assert moved.start == 0
    assert chosen([SquadParagraph("rome", (SquadQuestion("1", "q", ("paris",), 0),))], 10, 0) == []


def test_a_wrong_passage_holds_no_answer(tmp_path: Path) -> None:
    paragraphs = read_training([squad(tmp_path)])
    asked = chosen(paragraphs, 100, 0)
    wrong = negatives(asked, Bm25(as_passages(paragraphs)), 1.0, 0)
    assert wrong
    for number, other in wrong.items():
        assert asked[number].question.answers[0] not in paragraphs[other].text
    assert negatives(asked, Bm25(as_passages(paragraphs)), 0.0, 0) == {}


@given(st.integers(0, 29), st.integers(5, 40))
def test_the_window_holds_the_answer(at: int, window: int) -> None:
    words = ["lake"] * 30
    words[at] = "1882"
    paragraph = SquadParagraph(" ".join(words), (SquadQuestion("1", "when", ("1882",)),))
    [example] = examples(chosen([paragraph], 1, 0), {}, [paragraph], PIECES, window)
    assert len(example.passage) == min(window, 30)
    assert PIECES.piece(int(example.passage[example.start])) == "1882"
    assert example.start == example.end


def test_held_out_paragraphs_are_apart(tmp_path: Path) -> None:
    paragraphs = read_training([squad(tmp_path)])
    kept, held = apart(paragraphs, 3, 1)
    assert sum(len(paragraph.questions) for paragraph in held) == 3
    assert not {one.text for one in kept} & {one.text for one in held}
    assert len(kept) + len(held) == len(paragraphs)
    assert apart(paragraphs, 0, 1)[1] == []


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


@pytest.fixture(scope="module")
def trained(
    base: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ReaderBody, list[float], list[SquadParagraph]]:
    paragraphs = read_training([squad(tmp_path_factory.mktemp("data"))])
    asked = chosen(paragraphs, 100, 0)
    wrong = negatives(asked, Bm25(as_passages(paragraphs)), 0.5, 0)
    network = load_base(base, BODY)
    losses: list[float] = []
    train(
        network,
        examples(asked, wrong, paragraphs, PIECES, 20),
        PIECES,
        ReaderSettings(epochs=40, batch=4, rate=2e-3),
        12,
        lambda step, steps, loss: losses.append(loss),
    )
    return network, losses, paragraphs


def test_the_loss_is_the_cross_entropy_over_all_words_met(tmp_path: Path) -> None:
    paragraphs = read_training([squad(tmp_path)])
    asked = chosen(paragraphs, 100, 0)
    some = examples(asked, negatives(asked, Bm25(as_passages(paragraphs)), 0.5, 3), paragraphs, PIECES, 20)
    batch = make_batch(some, PIECES, 12)
    logits = torch.randn((*batch.ids.shape, 2), generator=torch.Generator().manual_seed(0))
    owners, slow = batch.owner.tolist(), []
    assert 0 < len(owners) < len(some)
    for number, example in enumerate(some):
        rows = [number] + ([len(some) + owners.index(number)] if number in owners else [])
        for side, place in enumerate((example.start, example.end)):
            met = torch.cat([logits[row, batch.words[row], side] for row in rows])
            right = logits[number, batch.words[number], side][place]
            slow.append(met.logsumexp(0) - right)
    assert float(reader_loss(logits, batch)) == pytest.approx(float(torch.stack(slow).mean()), rel=1e-5)


def test_it_learns(trained: tuple[ReaderBody, list[float], list[SquadParagraph]]) -> None:
    _, losses, _ = trained
    assert sum(losses[-5:]) < 0.5 * sum(losses[:5])


def test_the_onnx_file_is_the_network(
    trained: tuple[ReaderBody, list[float], list[SquadParagraph]], tmp_path: Path
) -> None:
    network, _, paragraphs = trained
    folder = saved(network, tmp_path)
    reader = open_reader(folder, threads=1)
    ids = np.array([[2, 20, 21, 3, 22, 23, 24, 3], [2, 20, 3, 25, 3, 0, 0, 0]], np.int64)
    mask = (ids > 0).astype(np.int64)
    wanted, found = run_torch(network)(ids, mask), reader._network(ids, mask)
    assert np.abs(wanted - found)[mask > 0].max() < 1e-4
    rows = [row for some in read_closed(reader, paragraphs) for row in some]
    assert sum(row.exact_match for row in rows) / len(rows) > 0.5
    mixes = tuned_mix(reader, Bm25(as_passages(paragraphs)), [OpenQuestion("1", "where is dome", ("1882",))], read=3)
    assert best_mix(mixes) in mixes
    assert best_mix({0.0: 0.3, 0.1: 0.5, 0.2: 0.5}) == 0.1


def saved(network: ReaderBody, folder: Path) -> Path:
    PIECES.save(folder)
    export(network, BODY, folder / "reader.onnx")
    write_card(folder, body=BODY, window=24, question_window=12, longest_answer=3, mix=0.0, training={})
    return folder


def test_a_damaged_reader_is_refused(
    trained: tuple[ReaderBody, list[float], list[SquadParagraph]], tmp_path: Path
) -> None:
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


def test_pieces_load_again(trained: tuple[ReaderBody, list[float], list[SquadParagraph]], tmp_path: Path) -> None:
    assert len(WordPieces.load(saved(trained[0], tmp_path))) == len(PIECES)
