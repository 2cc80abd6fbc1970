"""What is trained to compute in int8 is what the ONNX file computes, whoever else is in the batch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from tiny_model import random_ids, tiny_network, tiny_pieces, without_padding
from tiny_training import CLS_SEP_PAD, random_passages

from sparc_search.errors import ModelDamaged, UsageError
from sparc_search.model.encoder_onnx import OnnxNetwork, open_encoder
from sparc_search.model.encoder_torch import SparcModel, TorchNetwork
from sparc_search.model.export import export, output_names
from sparc_search.model.network import SparcNetwork
from sparc_search.records import Passage
from sparc_search.training.batches import BatchShape
from sparc_search.training.loop import Training, TrainingSettings
from sparc_search.training.quantising import Range, release, rounded

SETTINGS = TrainingSettings(
    steps=6, rate=1e-3, warm_up=2, cool_down=2, checkpoint_every=2, batch=BatchShape(4, 2, 2), quantise=True
)


def training(checkpoint: Path | None = None, settings: TrainingSettings = SETTINGS) -> Training:
    return Training(tiny_network(), random_passages(0, 10, 3), [], CLS_SEP_PAD, settings, checkpoint)


@pytest.fixture(scope="module")
def trained() -> SparcNetwork:
    run = training()
    run.run(lambda news: None)
    return run.network


def test_rounding_lets_gradients_pass() -> None:
    values = torch.tensor([0.2, 0.7, -1.4], requires_grad=True)
    rounded(values).sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [1, 1, 1]
    place = Range()
    place(torch.tensor([-1.0, 3.0]))
    place.watching = False
    found = place(torch.tensor([-5.0, -1.0, 0.0, 1.0, 3.0, 9.0]))
    assert found.tolist() == pytest.approx([-1, -1, 0, 1, 3, 3], abs=4 / 255)
    found.sum().backward()
    assert float(place.high.grad) > 0  # type: ignore[arg-type]


def test_it_resumes_bit_for_bit(tmp_path: Path, trained: SparcNetwork) -> None:
    half = training(tmp_path / "checkpoint")
    half.run(lambda news: None, lambda: half.step == 3)
    rest = training(tmp_path / "checkpoint")
    rest.resume()
    rest.run(lambda news: None)
    for name, value in trained.state_dict().items():
        assert torch.equal(value, rest.network.state_dict()[name]), name
    with pytest.raises(UsageError, match="quantise"):
        training(tmp_path / "checkpoint", replace(SETTINGS, quantise=False)).resume()


def test_the_file_computes_what_was_trained(tmp_path: Path) -> None:
    run = training()
    run.run(lambda news: None)
    network = run.network.eval()
    rng = np.random.default_rng(0)
    ids = np.zeros((2, 12), np.int64)
    ids[0], ids[1, :7] = [2, *random_ids(rng, 10, 30), 3], [2, *random_ids(rng, 5, 30), 3]
    mask = (ids > 0).astype(np.int64)
    simulated = TorchNetwork(network, "cpu", questions=False)(ids, mask)
    ranges = release(network)
    model = SparcModel(network, tiny_pieces())
    plain = TorchNetwork(network, "cpu", questions=False)(ids, mask)
    model.save_pretrained(tmp_path)
    with pytest.raises(UsageError, match="--quantise"):
        export(tmp_path, "static8")
    model.save_pretrained(tmp_path, {}, ranges)
    whole = (tmp_path / "ranges.json").read_text()
    (tmp_path / "ranges.json").write_text(whole.replace("0", "1", 1))
    with pytest.raises(ModelDamaged, match="ranges"):
        export(tmp_path, "static8")
    (tmp_path / "ranges.json").write_text(whole)
    export(tmp_path, "static8")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    computed = OnnxNetwork(session, output_names(model))
    found = computed(ids, mask)
    alone = computed(ids[1:, :7], mask[1:, :7])
    for name in ("start", "end", "pooled", "start_1"):
        for row, length in enumerate(mask.sum(1).tolist()):
            mine = without_padding(name, found[name][row], length)
            near = np.abs(mine - without_padding(name, simulated[name][row], length)).mean()
            far = np.abs(mine - without_padding(name, plain[name][row], length)).mean()
            assert near <= 0.5 * far, name  # the simulation says what int8 does, up to roundings that tip over
        assert np.allclose(without_padding(name, found[name][1], 7), alone[name][0], atol=1e-5)
    encoder = open_encoder(str(tmp_path), threads=1)
    assert encoder.arithmetic == "onnx static8"
    assert encoder.encode_passages([Passage("p", "d", 0, "the dome of rome")])
    whole = OnnxNetwork(session, [f"question_{name}" for name in ("start", "end")])(ids, mask)
    asked = onnxruntime.InferenceSession(str(tmp_path / "questions.onnx"), providers=["CPUExecutionProvider"])
    for name, values in OnnxNetwork(asked, list(whole))(ids, mask).items():
        assert np.allclose(values, whole[name], atol=1e-5)


def test_other_bodies_are_refused() -> None:
    network = tiny_network()
    network.config = replace(network.config, body={**network.config.body, "model_type": "electra"})
    with pytest.raises(UsageError, match="BERT"):
        Training(network, random_passages(0, 10, 3), [], CLS_SEP_PAD, SETTINGS)
