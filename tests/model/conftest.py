"""One tiny model for all tests here, in memory and as a folder with its ONNX file. Nobody may change them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from hypothesis import settings
from tiny_model import tiny_model, tiny_pieces

from sparc_search.model import encoder_onnx, encoder_torch
from sparc_search.model.encoder_torch import SparcModel
from sparc_search.model.encoding import NetworkEncoder
from sparc_search.model.export import export
from sparc_search.model.tokenizer import WordPieces

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Tiny matrices are slower on many threads."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def pieces() -> WordPieces:
    return tiny_pieces()


@pytest.fixture(scope="session")
def model() -> SparcModel:
    return tiny_model()


@pytest.fixture(scope="session")
def folder(model: SparcModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole model folder; the ONNX file has fp32 weights."""
    path = tmp_path_factory.mktemp("tiny") / "model"
    model.save_pretrained(path, {"name": "tiny", "licence": "none"})
    export(path, "fp32")
    return path


@pytest.fixture(scope="session")
def whole_folder(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with every file that one may have."""
    path = Path(shutil.copytree(folder, tmp_path_factory.mktemp("whole") / "model"))
    export(path)
    return path


@pytest.fixture(scope="session")
def torch_encoder(folder: Path) -> NetworkEncoder:
    return encoder_torch.open_encoder(str(folder), device="cpu")


@pytest.fixture(scope="session")
def onnx_encoder(folder: Path) -> NetworkEncoder:
    return encoder_onnx.open_encoder(str(folder), threads=1)
