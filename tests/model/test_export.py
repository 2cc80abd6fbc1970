"""The ONNX file says what torch says; stored in fewer bits, nearly."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from numpy.typing import NDArray
from tiny_model import VOCABULARY_SIZE, random_ids, tiny_network, tiny_pieces, without_padding

from sparc_search.errors import UsageError
from sparc_search.model.encoder_onnx import OnnxNetwork, open_encoder
from sparc_search.model.encoder_torch import SparcModel, TorchNetwork
from sparc_search.model.export import export, graph_of, output_names, question_names, save
from sparc_search.model.files import open_model
from sparc_search.model.onnx_precision import PRECISIONS
from sparc_search.records import Passage

Outputs = dict[str, NDArray[np.float32]]
BODIES: dict[str, dict[str, Any]] = {
    "bert": {},
    "another": {"hidden_act": "relu"},  # what the hand-written graph does not know is traced
}


def batch(*lengths: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Padded random texts of these lengths, with an unknown word in the first."""
    rng = np.random.default_rng(len(lengths))
    ids = np.zeros((len(lengths), max(lengths) + 2), np.int64)
    for row, length in enumerate(lengths):
        ids[row, : length + 2] = [2, *random_ids(rng, length, VOCABULARY_SIZE - 5), 3]
    if lengths[0] > 3:
        ids[0, 3] = 1
    return ids, (ids != 0).astype(np.int64)


BATCHES = [batch(0), batch(1), batch(9), batch(4, 46, 0, 1), batch(0, 0)]


def torch_outputs(model: SparcModel, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Outputs:
    both = (TorchNetwork(model.network, "cpu", questions=questions)(ids, mask) for questions in (False, True))
    return {name: values for outputs in both for name, values in outputs.items()}


def onnx_outputs(path: Path, model: SparcModel, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Outputs:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return dict(OnnxNetwork(session, output_names(model))(ids, mask))


def assert_equal_on_real_tokens(found: Outputs, expected: Outputs, mask: NDArray[np.int64]) -> None:
    """Positions of padding say nothing and are never read."""
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].shape == values.shape, name
        for row, length in enumerate(mask.sum(1).tolist()):
            right = without_padding(name, values[row], length)
            np.testing.assert_allclose(
                without_padding(name, found[name][row], length), right, atol=3e-5, rtol=1e-4, err_msg=name
            )


@pytest.mark.slow
@pytest.mark.parametrize("body", BODIES)
def test_onnx_equals_torch_in_fp32(body: str, tmp_path: Path) -> None:
    compare(SparcModel(tiny_network(3, BODIES[body]), tiny_pieces()), tmp_path)


@pytest.mark.parametrize("ngrams", [(), (2,), (1, 2, 3)], ids=str)
def test_onnx_equals_torch_for_all_ngram_sizes(ngrams: tuple[int, ...], tmp_path: Path) -> None:
    compare(SparcModel(tiny_network(4, ngrams=ngrams), tiny_pieces()), tmp_path)


def compare(model: SparcModel, folder: Path) -> None:
    save(graph_of(model), folder / "model.onnx")
    for ids, mask in BATCHES:
        found = onnx_outputs(folder / "model.onnx", model, ids, mask)
        assert_equal_on_real_tokens(found, torch_outputs(model, ids, mask), mask)


def test_both_encoders_store_the_same(folder: Path, request: pytest.FixtureRequest) -> None:
    """Beyond the network all is shared: blocks differ by float noise at most, which moves a rounding now and then."""
    torch_encoder, onnx_encoder = (request.getfixturevalue(f"{kind}_encoder") for kind in ("torch", "onnx"))
    assert torch_encoder.fingerprint == onnx_encoder.fingerprint
    passages = [Passage("p", "d", 0, "the golden dome of rome was built in 1882 .", title="the dome")]
    [one], [other] = (encoder.encode_passages(passages) for encoder in (torch_encoder, onnx_encoder))
    for mine, theirs in ((one.block.start, other.block.start), (one.block.end, other.block.end)):
        assert np.array_equal(mine.positions, theirs.positions)
        assert np.abs(mine.vectors.astype(int) - theirs.vectors).max() <= 1
        assert np.abs(mine.spans.astype(int) - theirs.spans).max() <= 1
    assert one.features["lex"] == other.features["lex"]
    [asked], [asked_too] = (encoder.encode_questions(["who built it"]) for encoder in (torch_encoder, onnx_encoder))
    np.testing.assert_allclose(asked.start_vector, asked_too.start_vector, atol=1e-5)
    np.testing.assert_allclose(asked.passage_vector, asked_too.passage_vector, atol=1e-4)
    for mine_ngrams, their_ngrams in zip(asked.start_ngrams, asked_too.start_ngrams, strict=True):
        assert mine_ngrams.name == their_ngrams.name
        assert mine_ngrams.weight == pytest.approx(their_ngrams.weight, abs=1e-5)


@pytest.mark.parametrize(("precision", "tolerance"), [("weights16", 0.01), ("weights8", 0.1), ("int8", 0.5)])
def test_fewer_bits_are_near_and_smaller(folder: Path, tmp_path: Path, precision: str, tolerance: float) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    export(copy, precision)
    assert (copy / "model.onnx").stat().st_size < (folder / "model.onnx").stat().st_size * 0.8
    model = SparcModel.from_pretrained(folder)
    ids, mask = batch(4, 46, 0, 1)
    found, exact = onnx_outputs(copy / "model.onnx", model, ids, mask), torch_outputs(model, ids, mask)
    for name in ("start", "end", "pooled", "question_start", "start_1"):
        for row, length in enumerate(mask.sum(1).tolist()):
            right = without_padding(name, exact[name][row], length)
            error = np.abs(without_padding(name, found[name][row], length) - right).max()
            assert error <= tolerance * np.abs(exact[name]).max(), name


@pytest.mark.parametrize("precision", ["weights16", "weights8"])
def test_stored_in_fewer_bits_no_result_depends_on_its_neighbours(folder: Path, tmp_path: Path, precision: str) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    export(copy, precision)
    model = SparcModel.from_pretrained(folder)
    ids, mask = batch(4, 46, 0, 1)
    together = onnx_outputs(copy / "model.onnx", model, ids, mask)
    alone = onnx_outputs(copy / "model.onnx", model, ids[:1, :6], mask[:1, :6])
    for name, values in alone.items():
        np.testing.assert_allclose(without_padding(name, together[name][0], 6), values[0], atol=2e-5, rtol=1e-4)


def test_questions_in_int8_are_near_and_weigh_nothing_more(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    export(copy, "mixed")
    small, whole = copy / "questions.onnx", copy / "model.onnx"
    assert small.stat().st_size < whole.stat().st_size / 2  # the large weights stand in the other file
    model = SparcModel.from_pretrained(folder)
    session = onnxruntime.InferenceSession(str(small), providers=["CPUExecutionProvider"])
    assert [output.name for output in session.get_outputs()] == question_names(model)
    for length in (0, 1, 9, 40):
        ids, mask = batch(length)
        found, exact = OnnxNetwork(session, question_names(model))(ids, mask), torch_outputs(model, ids, mask)
        for name in ("question_start", "question_end", "question_pooled"):
            assert np.abs(found[name] - exact[name]).max() <= 0.5 * np.abs(exact[name]).max(), name


def test_passages_are_read_as_before_when_questions_are_in_int8(folder: Path, tmp_path: Path) -> None:
    passages = [Passage("p", "d", 0, "the golden dome of rome was built in 1882 .", title="the dome")]
    encoders = []
    for precision in ("weights8", "mixed"):
        copy = Path(shutil.copytree(folder, tmp_path / precision))
        export(copy, precision)
        encoders.append(open_encoder(str(copy), threads=1))
    [one], [other] = (encoder.encode_passages(passages) for encoder in encoders)
    assert one.features == other.features
    assert np.array_equal(one.block.start.vectors, other.block.start.vectors)


def test_another_precision_takes_the_graph_of_the_questions_away(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    export(copy, "mixed")
    assert "questions.onnx" in open_model(str(copy)).card["sha256"]
    export(copy, "weights8")
    assert "questions.onnx" not in open_model(str(copy)).card["sha256"]
    assert not (copy / "questions.onnx").exists()


@pytest.mark.parametrize("precision", ["mixed", "int8"])
def test_computed_in_int8_no_result_depends_on_its_neighbours(folder: Path, tmp_path: Path, precision: str) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    export(copy, precision)
    encoder = open_encoder(str(copy), threads=3)
    texts = ["the golden dome of rome was built in 1882 .", "a dome", "the city " * 12]
    passages = [Passage(f"p{number}", "d", number, text) for number, text in enumerate(texts)]
    together = encoder.encode_passages(passages)
    for passage, found in zip(passages, together, strict=True):
        [alone] = encoder.encode_passages([passage])
        if precision == "int8":  # fp32 has its noise, which another test bounds
            assert alone.features == found.features
            assert np.array_equal(alone.block.start.vectors, found.block.start.vectors)
    for text, question in zip(texts, encoder.encode_questions(texts), strict=True):
        assert np.array_equal(encoder.encode_questions([text])[0].start_vector, question.start_vector)


def test_the_hash_of_the_new_file_stands_in_the_card(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    before = open_model(str(copy)).card
    export(copy, "weights8")
    after = open_model(str(copy))
    assert after.file("model.onnx").is_file()
    assert after.card["sha256"]["model.onnx"] != before["sha256"]["model.onnx"]
    assert {**after.card, "sha256": 0} == {**before, "sha256": 0, "precision": "weights8"}
    assert after.fingerprint == open_model(str(folder)).fingerprint  # an index stays good


def test_an_unknown_precision_is_answered_with_the_known(folder: Path) -> None:
    with pytest.raises(UsageError, match="weights8"):
        export(folder, "int4")
    assert set(PRECISIONS) == {"fp32", "weights16", "weights8", "mixed", "int8"}


def test_exporting_leaves_torch_as_it_was(model: SparcModel) -> None:
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    graph = graph_of(model)
    PRECISIONS["weights8"](graph)
    assert all(torch.equal(value, before[name]) for name, value in model.network.state_dict().items())
