"""Encoders: one text's result never depends on its neighbours, and every length of text is defined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tiny_model import WORDS, without_padding

from sparc_search.encoder import Encoder
from sparc_search.model.encoder_torch import SparcModel, TorchNetwork
from sparc_search.model.encoding import BatchTokens, Network, NetworkEncoder, Outputs, batches_by_length
from sparc_search.records import SIDES, TITLE, Passage
from sparc_search.search.ranking import ranked
from sparc_search.search.scorer import score_spans
from sparc_search.stores.phrase_block import encode
from sparc_search.stores.stored_blocks import CompiledBlocks

texts = st.lists(st.sampled_from([*WORDS, "climbing", "xyz", ".", "北", "😀"]), max_size=40).map(" ".join)


class Recorder:
    """A network that remembers what it said of each text, without padding."""

    def __init__(self, network: Network) -> None:
        self.network, self.said = network, dict[tuple[int, ...], dict[str, NDArray[np.float32]]]()

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Outputs:
        outputs = self.network(ids, mask)
        for row, length in enumerate(mask.sum(1).tolist()):
            self.said[tuple(ids[row, :length].tolist())] = {
                name: without_padding(name, values[row], length) for name, values in outputs.items()
            }
        return outputs


def recorded(
    encoder: NetworkEncoder, most_tokens: int, run: Callable[[NetworkEncoder], object]
) -> list[dict[tuple[int, ...], dict[str, NDArray[np.float32]]]]:
    """What the networks of an encoder say when batches hold so many tokens."""
    recorders = Recorder(encoder._passage_network), Recorder(encoder._question_network)
    batches = BatchTokens(most_tokens, most_tokens)
    run(NetworkEncoder(encoder.config, encoder.pieces, *recorders, encoder.fingerprint, batches))
    return [recorder.said for recorder in recorders]


@pytest.mark.parametrize("kind", ["torch", "onnx"])
@settings(max_examples=12)
@given(data=st.data())
def test_batch_size_and_padding_change_nothing(kind: str, data: st.DataObject, request: pytest.FixtureRequest) -> None:
    encoder = request.getfixturevalue(f"{kind}_encoder")
    drawn = data.draw(st.lists(texts, min_size=1, max_size=5))

    def run(encoder: NetworkEncoder) -> None:
        encoder.encode_passages(passages_of(drawn))
        encoder.encode_questions(drawn)

    for alone, together in zip(recorded(encoder, 1, run), recorded(encoder, 10_000, run), strict=True):
        assert alone.keys() == together.keys()
        for ids, outputs in alone.items():
            for name, values in outputs.items():
                np.testing.assert_allclose(together[ids][name], values, atol=2e-5, rtol=1e-4, err_msg=name)


def passages_of(texts: list[str]) -> list[Passage]:
    return [Passage(f"p{number}", "d", number, text) for number, text in enumerate(texts)]


@pytest.mark.parametrize("kind", ["torch", "onnx"])
def test_order_of_input_is_order_of_output(kind: str, request: pytest.FixtureRequest) -> None:
    encoder = request.getfixturevalue(f"{kind}_encoder")
    drawn = ["the dome " * 9, "a", "the city of rome", "", "gold"]
    assert [encoded.passage.text for encoded in encoder.encode_passages(passages_of(drawn))] == drawn
    assert [question.text for question in encoder.encode_questions(drawn)] == drawn
    assert encoder.encode_passages([]) == []
    assert encoder.encode_questions([]) == []


@pytest.mark.parametrize("kind", ["torch", "onnx"])
def test_an_encoder_is_what_the_interface_says(kind: str, request: pytest.FixtureRequest) -> None:
    encoder = request.getfixturevalue(f"{kind}_encoder")
    assert isinstance(encoder, Encoder)
    assert encoder.window == 46
    assert encoder.token_offsets("the dome") == [(0, 3), (4, 8)]
    assert len(encoder.token_offsets("dome " * 500)) == 500


@pytest.mark.parametrize("kind", ["torch", "onnx"])
@pytest.mark.parametrize("text", ["", " \n", "\u0301", "?", "dome", "😀", "[SEP] [CLS] [PAD]"])
def test_short_texts_are_defined(kind: str, text: str, request: pytest.FixtureRequest) -> None:
    encoder: NetworkEncoder = request.getfixturevalue(f"{kind}_encoder")
    [question] = encoder.encode_questions([text])
    assert np.all(np.isfinite(question.start_vector))
    assert np.all(np.isfinite(question.end_vector))
    assert np.linalg.norm(question.passage_vector) == pytest.approx(14, rel=1e-2)  # fp16 weights
    assert {ngram.name for ngram in (*question.start_ngrams, *question.end_ngrams)} <= {text}
    [encoded] = encoder.encode_passages([Passage("p", "d", 0, text)])
    assert len(encoded.block.token_ids) == len(encoder.token_offsets(text))
    assert np.linalg.norm(encoded.block.passage_vector * encoded.block.passage_scale) == pytest.approx(1, rel=0.02)
    assert encoded.features["start"] == encoded.features["end"] == {}  # one n-gram says nothing of itself


@pytest.mark.parametrize("kind", ["torch", "onnx"])
def test_of_a_long_question_the_beginning_is_read(kind: str, request: pytest.FixtureRequest) -> None:
    encoder: NetworkEncoder = request.getfixturevalue(f"{kind}_encoder")
    words = (WORDS * 9)[:200]
    whole, cut = encoder.encode_questions([" ".join(words), " ".join(words[:14])])
    np.testing.assert_allclose(whole.start_vector, cut.start_vector, atol=1e-5)
    assert [ngram.name for ngram in whole.start_ngrams] == [ngram.name for ngram in cut.start_ngrams]
    assert whole.lex_terms == cut.lex_terms
    assert whole.text == " ".join(words)


@pytest.mark.parametrize("kind", ["torch", "onnx"])
def test_of_a_long_passage_the_window_is_read(kind: str, request: pytest.FixtureRequest) -> None:
    encoder: NetworkEncoder = request.getfixturevalue(f"{kind}_encoder")
    words = (WORDS * 9)[:200]
    whole, cut = encoder.encode_passages(passages_of([" ".join(words), " ".join(words[: encoder.window])]))
    assert np.array_equal(whole.block.token_ids, cut.block.token_ids)
    assert np.array_equal(whole.block.offsets, cut.block.offsets)
    assert len(whole.block.token_ids) == encoder.window
    assert whole.features["lex"] == cut.features["lex"]
    assert whole.features["start"].keys() == cut.features["start"].keys()


def reading_titles(encoder: NetworkEncoder, most: int) -> NetworkEncoder:
    """The same encoder with a model that reads so many word pieces of a title."""
    config = replace(encoder.config, title_window=most, prune=0.0)
    networks = encoder._passage_network, encoder._question_network
    return NetworkEncoder(config, encoder.pieces, *networks, encoder.fingerprint)


@pytest.mark.parametrize("kind", ["torch", "onnx"])
def test_a_title_is_read_before_the_passage(kind: str, request: pytest.FixtureRequest) -> None:
    encoder = reading_titles(request.getfixturevalue(f"{kind}_encoder"), 2)
    text = "the city of rome was built ."
    bare, titled = (Passage("p", "d", 0, text, title=title) for title in ("", "golden bridge in paris"))
    without, encoded = encoder.encode_passages([bare, titled])
    block = encoded.block
    assert [encoder.pieces.piece(token) for token in block.token_ids[:3]] == ["golden", "bridge", "[SEP]"]
    assert np.array_equal(block.token_ids[3:], without.block.token_ids)
    assert np.array_equal(block.offsets[3:], without.block.offsets)
    assert ((block.flags & TITLE) != 0).tolist() == [True] * 3 + [False] * len(without.block.token_ids)
    for phrases in (block.start, block.end):
        assert phrases.positions.min() >= 3  # no answer is in a title
    found = encoded.features["start"].keys() | encoded.features["end"].keys()
    assert {"golden", "bridge", "golden bridge"} <= found  # but its n-grams count
    assert not any("[SEP]" in name for name in found)
    assert encoded.features["lex"].keys() >= {"golden", "bridge", "paris", "rome"}  # all of it, and each word once
    [asked] = encoder.encode_questions(["the golden bridge of rome"])
    assert len(score_spans(asked, [], [block])) == len(score_spans(asked, [], [without.block]))


def test_a_passage_of_a_title_alone_has_no_answer(torch_encoder: NetworkEncoder) -> None:
    encoder = reading_titles(torch_encoder, 4)
    [encoded] = encoder.encode_passages([Passage("p", "d", 0, "", title="golden bridge")])
    assert not len(encoded.block.start.positions)
    assert not len(score_spans(encoder.encode_questions(["golden"])[0], [], [encoded.block]))


def test_a_model_that_reads_no_titles_counts_them_in_lex_alone(torch_encoder: NetworkEncoder) -> None:
    bare, titled = (Passage("p", "d", 0, "the dome", title=title) for title in ("", "golden bridge"))
    encoded = torch_encoder.encode_passages([bare, titled])
    assert encoded[0].features["start"] == encoded[1].features["start"]
    assert encoded[0].features["lex"].keys() == {"the", "dome"}
    assert encoded[1].features["lex"].keys() == {"the", "dome", "golden", "bridge"}


@settings(max_examples=15)
@given(text=texts, question=texts)
def test_no_phrase_scores_above_the_features(text: str, question: str, torch_encoder: NetworkEncoder) -> None:
    [encoded] = torch_encoder.encode_passages([Passage("p", "d", 0, text)])
    [asked] = torch_encoder.encode_questions([question])
    spans = score_spans(asked, [], [encoded.block])
    for side, ngrams in zip(SIDES, (asked.start_ngrams, asked.end_ngrams), strict=True):
        bound = sum(ngram.weight * encoded.features[side].get(ngram.name, 0.0) for ngram in ngrams)
        for number in range(len(spans)):
            parts = {part.kind: part.value for part in spans.parts(number)}
            assert parts["sparse start" if side == "start" else "sparse end"] <= bound * (1 + 1e-9)


def test_no_answer_is_longer_than_those_the_model_was_trained_for(torch_encoder: NetworkEncoder) -> None:
    longest = torch_encoder.config.longest_answer
    [encoded] = torch_encoder.encode_passages(
        [Passage("p", "d", 0, "the river dome gold lake city built tower bridge")]
    )
    spans = score_spans(torch_encoder.encode_questions(["what was built"])[0], [], [encoded.block])
    assert max((spans.end - spans.start + 1).tolist()) == longest
    stored = CompiledBlocks([encode(encoded.block)])
    shown = list(ranked(torch_encoder.encode_questions(["what was built"])[0], [], stored, 100))
    assert max(span.end - span.start + 1 for span in shown) <= longest


def test_one_answer_of_the_whole_road_shows_its_characters(torch_encoder: NetworkEncoder) -> None:
    text = "Café in Paris — 北京大学 😀 was built."
    [encoded] = torch_encoder.encode_passages([Passage("p", "d", 0, text)])
    [asked] = torch_encoder.encode_questions(["what was built"])
    spans = score_spans(asked, [], [encoded.block])
    offsets = encoded.block.offsets
    shown = {text[offsets[i, 0] : offsets[j, 1]] for i, j in zip(spans.start, spans.end, strict=True)}
    assert {"Café", "Café in Paris", "北京大学", "京大", "😀", "Paris — 北", "built."} <= shown


class Widths:
    """A network that remembers how many texts it was given at once."""

    def __init__(self, network: Network) -> None:
        self.network, self.texts = network, list[int]()

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Outputs:
        self.texts.append(len(ids))
        return self.network(ids, mask)


def test_batches_are_as_large_as_is_asked_for(torch_encoder: NetworkEncoder) -> None:
    network = Widths(torch_encoder._passage_network)
    encoder = NetworkEncoder(torch_encoder.config, torch_encoder.pieces, network, network, "x")
    many = passages_of(["the dome " * 10] * 400)  # 22 word pieces each, with the special ones
    encoder.encode_passages(many)
    encoder.in_batches_of(22 * 300).encode_passages(many)
    encoder.in_batches_of(1).encode_passages(many[:3])
    assert network.texts == [186, 186, 28, 300, 100, 1, 1, 1]
    singly = NetworkEncoder(torch_encoder.config, torch_encoder.pieces, network, network, "x", BatchTokens(1, 1))
    network.texts.clear()
    singly.in_batches_of(100_000).encode_passages(many[:3])  # int8 has one scale for a batch, so it stays at one text
    assert network.texts == [1, 1, 1]


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(1, 300))
def test_batches_hold_every_row_once_and_few_tokens(lengths: list[int], most: int) -> None:
    batches = list(batches_by_length(lengths, most))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * (max(lengths[row] for row in batch) + 2) <= most
    flat = [lengths[row] for batch in batches for row in batch]
    assert flat == sorted(flat)


def test_the_network_runs_on_what_it_is_given(model: SparcModel) -> None:
    """No gradient is kept, and outputs are plain arrays."""
    outputs = TorchNetwork(model.network, "cpu", questions=False)(np.asarray([[2, 7, 3]]), np.ones((1, 3), np.int64))
    assert all(isinstance(values, np.ndarray) and values.dtype == np.float32 for values in outputs.values())
