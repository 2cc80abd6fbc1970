"""One tiny model for all tests here, in memory and as a folder with its ONNX file. Nobody may change them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tiny_pieces import tiny_pieces

from sparc_search.model.encoding import NetworkEncoder
from sparc_search.model.tokenizer import WordPieces

if TYPE_CHECKING:  # torch is for the tests that use it: others run without
    from sparc_search.model.encoder_torch import SparcModel


@pytest.fixture(scope="session")
def pieces() -> WordPieces:
    return tiny_pieces()


@pytest.fixture(scope="session")
def model() -> SparcModel:
    from tiny_model import tiny_model

    return tiny_model()


@pytest.fixture(scope="session")
def folder(model: SparcModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole model folder; the ONNX file has fp32 weights."""
    from sparc_search.model.export import export

    path = tmp_path_factory.mktemp("tiny") / "model"
    model.save_pretrained(path, {"name": "tiny", "licence": "none"})
    export(path, "fp32")
    return path


@pytest.fixture(scope="session")
def whole_folder(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with every file that one may have."""
    from sparc_search.model.export import export

    path = Path(shutil.copytree(folder, tmp_path_factory.mktemp("whole") / "model"))
    export(path)
    return path


@pytest.fixture(scope="session")
def torch_encoder(folder: Path) -> NetworkEncoder:
    from sparc_search.model import encoder_torch

    return encoder_torch.open_encoder(str(folder), device="cpu")


@pytest.fixture(scope="session")
def onnx_encoder(folder: Path) -> NetworkEncoder:
    from sparc_search.model import encoder_onnx

    return encoder_onnx.open_encoder(str(folder), threads=1)
