"""Model folders: what was saved comes back, and what is wrong is an error, never random weights."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_model import tiny_config, tiny_model

from sparc_search.errors import ModelDamaged, ModelError, ModelNotFound
from sparc_search.model import encoder_onnx, encoder_torch
from sparc_search.model.config import SparcConfig
from sparc_search.model.encoder_torch import SparcModel, copy_with
from sparc_search.model.files import PARTS, RANGES, TUNED, ModelFolder, open_model, read_card, write_card

SERVED = [name for name in PARTS if name not in (RANGES, TUNED)]
"""Ranges are read when the ONNX file is made, and checked then; only a tuned model has tuned questions."""


@pytest.fixture
def copy(whole_folder: Path, tmp_path: Path) -> Path:
    """A folder to damage."""
    return Path(shutil.copytree(whole_folder, tmp_path / "copy"))


def test_what_was_saved_comes_back(model: SparcModel, folder: Path) -> None:
    loaded = SparcModel.from_pretrained(folder)
    assert loaded.config == model.config
    assert not loaded.network.training
    for name, value in model.network.state_dict().items():
        assert torch.equal(loaded.network.state_dict()[name], value.half().float()), name
    assert loaded.pieces(["Climbing the dome"])[0].ids.tolist() == model.pieces(["Climbing the dome"])[0].ids.tolist()


def test_saving_again_changes_no_byte(folder: Path, tmp_path: Path) -> None:
    SparcModel.from_pretrained(folder).save_pretrained(tmp_path / "again")
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_every_file_can_be_read_by_whom_the_folder_can(folder: Path) -> None:
    assert {path.stat().st_mode for path in folder.iterdir()} == {(folder / "config.json").stat().st_mode}


def test_other_weights_make_another_fingerprint(folder: Path, tmp_path: Path) -> None:
    tiny_model(seed=1).save_pretrained(tmp_path / "other")
    prints = {open_model(str(path)).fingerprint for path in (folder, tmp_path / "other")}
    assert len(prints) == 2
    assert encoder_torch.open_encoder(str(folder), device="cpu").fingerprint in prints


def test_saving_removes_the_onnx_file_of_older_weights(copy: Path) -> None:
    assert (copy / "model.onnx").exists()
    tiny_model(seed=1).save_pretrained(copy)
    assert not (copy / "model.onnx").exists()
    assert not (copy / "questions.onnx").exists()
    with pytest.raises(ModelNotFound, match=r"no model\.onnx"):
        encoder_onnx.open_encoder(str(copy))


def open_both(folder: Path) -> None:
    encoder_torch.open_encoder(str(folder), device="cpu")
    encoder_onnx.open_encoder(str(folder))


@pytest.mark.parametrize("name", SERVED)
def test_one_flipped_byte_is_noticed(copy: Path, name: str) -> None:
    path = copy / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelDamaged, match="sha256"):
        open_both(copy)


@pytest.mark.parametrize("name", SERVED)
@pytest.mark.parametrize("change", ["cut", "empty", "gone"])
def test_a_file_that_is_cut_or_gone_is_noticed(copy: Path, name: str, change: str) -> None:
    path = copy / name
    data = path.read_bytes()
    path.unlink()
    if change != "gone":
        path.write_bytes(data[: len(data) // 2] if change == "cut" else b"")
    with pytest.raises(ModelNotFound if change == "gone" else ModelDamaged):
        open_both(copy)


@pytest.mark.parametrize("card", ["", "[]", "3", '"x"', "{}", '{"sha256": 1}', '{"sha256": ["config.json"]}'])
def test_a_card_that_is_none(copy: Path, card: str) -> None:
    (copy / "card.json").write_text(card)
    with pytest.raises(ModelError):
        open_both(copy)


def test_no_model_at_all(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(ModelNotFound, match="no model in"):
            SparcModel.from_pretrained(place)


Tensors = dict[str, torch.Tensor]


def renamed(tensors: Tensors) -> None:
    tensors["sparse.start_9.query.bias"] = tensors.pop("sparse.start_1.query.bias")


def lost(tensors: Tensors) -> None:
    del tensors["body.encoder.layer.1.output.dense.weight"]


def besides(tensors: Tensors) -> None:
    tensors["pooler.weight"] = torch.zeros(3)


def misshapen(tensors: Tensors) -> None:
    tensors["start.weight"] = tensors["start.weight"].T.contiguous()


def shorter(tensors: Tensors) -> None:
    name = "body.embeddings.word_embeddings.weight"
    tensors[name] = tensors[name][:-1].contiguous()


@pytest.mark.parametrize("change", [renamed, lost, besides, misshapen, shorter])
def test_keys_and_shapes_must_be_right_even_if_the_hash_is(copy: Path, change: Callable[[Tensors], None]) -> None:
    tensors = load_file(copy / "model.safetensors")
    change(tensors)
    save_file(tensors, copy / "model.safetensors")
    write_card(copy, {})
    with pytest.raises(ModelDamaged, match="does not fit"):
        SparcModel.from_pretrained(copy)


def test_a_pickle_is_no_weights_and_is_not_run(copy: Path, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "exploded",)

    (copy / "model.safetensors").write_bytes(pickle.dumps(Bomb()))
    write_card(copy, {})
    with pytest.raises(ModelDamaged, match="safetensors"):
        SparcModel.from_pretrained(copy)
    assert not (tmp_path / "exploded").exists()


def test_an_onnx_file_that_is_none(copy: Path) -> None:
    (copy / "model.onnx").write_bytes(b"not a graph")
    write_card(copy, {})
    with pytest.raises(ModelDamaged, match="cannot be loaded"):
        encoder_onnx.open_encoder(str(copy)).prepare()


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"unknown": 1},
        {"ngrams": 3},
        {"body": {}},
        {"body": {"hidden_size": 32}},
        {"body": None},
    ],
)
def test_a_configuration_of_another_kind(tmp_path: Path, change: dict[str, Any]) -> None:
    tiny_config().save(tmp_path)
    values = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**values, **change}))
    with pytest.raises(ModelDamaged):
        SparcConfig.load(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "{}"])
def test_a_configuration_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ModelDamaged, match="not a SPARC model configuration"):
        SparcConfig.load(tmp_path)


def test_configuration_round_trip(tmp_path: Path) -> None:
    config = tiny_config(ngrams=(1, 2, 3), filter_thresholds=(-1.5, 0.25))
    config.save(tmp_path)
    assert SparcConfig.load(tmp_path) == config


def test_the_card_keeps_what_it_was_told_and_lists_every_hash(whole_folder: Path) -> None:
    card = read_card(whole_folder)
    assert card["name"] == "tiny"
    assert sorted(card["sha256"]) == sorted(SERVED)


def test_other_thresholds_in_another_folder(folder: Path, tmp_path: Path) -> None:
    config = tiny_config(filter_thresholds=(0.5, 0.25))
    copy_with(ModelFolder(folder), tmp_path / "new", config)
    copied = open_model(str(tmp_path / "new"))
    assert copied.config.filter_thresholds == (0.5, 0.25)
    assert copied.card["name"] == "tiny"
    assert copied.fingerprint != open_model(str(folder)).fingerprint
    assert np.array_equal(copied.file("model.onnx").read_bytes(), (folder / "model.onnx").read_bytes())
