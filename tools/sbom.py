"""What a release is made of: the packages it needs, as installed here, and its model files, as CycloneDX 1.6 (JSON).

python tools/sbom.py --extras metrics,torch > dist/sparc-search.cdx.json

Nothing in it depends on the time or the machine: the same environment gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NAME: Final = "sparc-search"
PACKAGE: Final = Path(__file__).resolve().parent.parent / "sparc_search"
MODELS: Final = (PACKAGE / "model" / "default", PACKAGE / "cross_encoder" / "default")
WEIGHTS: Final = (".onnx", ".safetensors", ".json")


def bom(extras: Sequence[str]) -> dict[str, Any]:
    """The whole document; the serial number follows from what it says."""
    needed = closure(NAME, extras)
    root = distribution(NAME)
    edges = [{"ref": purl(root), "dependsOn": sorted(map(purl, _direct(root, extras, needed)))}]
    edges += [{"ref": purl(one), "dependsOn": sorted(map(purl, _direct(one, (), needed)))} for one in needed.values()]
    found: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**component(root), "type": "application"}},
        "components": [*map(component, needed.values()), *model_files()],
        "dependencies": edges,
    }
    text = json.dumps(found, sort_keys=True)
    return {**found, "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, text)}"}


def closure(name: str, extras: Sequence[str]) -> dict[str, Distribution]:
    """Everything that a package needs with these extras, directly or not, by name. All of it must be installed."""
    found: dict[str, Distribution] = {}
    open_ends = [(distribution(name), tuple(extras))]
    seen = set()
    while open_ends:
        one, wanted = open_ends.pop()
        for requirement in requirements(one, wanted):
            key = canonicalize_name(requirement.name), tuple(sorted(requirement.extras))
            if key not in seen:
                seen.add(key)
                open_ends.append((distribution(requirement.name), key[1]))
                found[key[0]] = open_ends[-1][0]
    return {key: found[key] for key in sorted(found) if key != canonicalize_name(name)}


def requirements(one: Distribution, extras: Sequence[str]) -> Iterator[Requirement]:
    """What a package asks for, here and with these extras."""
    for text in one.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in ("", *extras)):
            yield requirement


def _direct(one: Distribution, extras: Sequence[str], needed: dict[str, Distribution]) -> Iterator[Distribution]:
    names = {canonicalize_name(requirement.name) for requirement in requirements(one, extras)}
    yield from (needed[name] for name in names if name in needed)


def component(one: Distribution) -> dict[str, Any]:
    """One package."""
    about = {"type": "library", "bom-ref": purl(one), "name": one.name, "version": one.version, "purl": purl(one)}
    told = (one.metadata.get_all("License-Expression") or [""])[0]
    return {**about, "licenses": [{"expression": told}]} if told else about


def purl(one: Distribution) -> str:
    """The address of a package, as others write it too."""
    return f"pkg:pypi/{canonicalize_name(one.name)}@{one.version}"


def model_files() -> Iterator[dict[str, Any]]:
    """The files of the model and of the reader in the package, with their hashes."""
    for path in sorted(path for folder in MODELS for path in folder.iterdir() if path.suffix in WEIGHTS):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        hashes = [{"alg": "SHA-256", "content": digest}]
        name = path.relative_to(PACKAGE).as_posix()
        yield {"type": "file", "bom-ref": f"file:{name}", "name": name, "hashes": hashes}


def main(arguments: Sequence[str]) -> int:
    """Write it to stdout."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--extras", default="", help="with commas between, like metrics,torch")
    extras = [extra for extra in parser.parse_args(arguments).extras.split(",") if extra]
    try:
        sys.stdout.write(json.dumps(bom(extras), indent=2, sort_keys=True) + "\n")
    except PackageNotFoundError as error:
        sys.stderr.write(f"{error.name} is not installed: make test installs all extras\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
