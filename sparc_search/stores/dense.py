"""Passage vectors in files on this machine, searched by FAISS.

The local engine keeps vectors in its own segments. One on a server does not, so each machine that asks questions keeps
this (see derived.py). Everything in the folder can be made again from the index, and what does not check out is.

    manifest.json   format, whose vectors they are, up to which generation, and the files with sizes and sums
    v12/            ids, vectors, scales, and the FAISS file if there are enough vectors to need one
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from ..dense_store import DenseStore
from ..errors import IndexDamaged
from ..stored import Hit, VectorChange
from .derived_files import check_sizes, listed_files, map_array, replace_text, save_array, sync_all
from .vector_index import Mask, VectorIndex, quantised, write_faiss

FORMAT: Final = 1
_MANIFEST: Final = "manifest.json"
_FAISS: Final = "dense.faiss"
_REWRITE: Final = 0.1
"""New vectors, as a share of all, from which on the files are written anew."""


class FaissStore(DenseStore):
    """Vectors in FAISS files on this machine."""

    def __init__(self, location: Path, identity: str = "") -> None:
        self._location, self._identity = location, identity
        self.clear()
        self._load()

    @classmethod
    def open(cls, location: Path, identity: str, *, writable: bool) -> Self:
        """Open the files in a folder, if they are of this identity and whole; otherwise begin with nothing."""
        return cls(Path(location), identity)

    def clear(self) -> None:
        """Forget everything."""
        self.generation = 0
        self._ids: list[str] = []
        self._base = VectorIndex(np.zeros((0, 0), np.int8), np.zeros(0, np.float32), None)
        self._stale: Mask = np.zeros(0, bool)
        """Vectors of the base that were replaced."""
        self._new: dict[str, tuple[NDArray[np.int8], np.float32]] = {}

    def __len__(self) -> int:
        return len(self._ids) - int(self._stale.sum()) + len(self._new)

    def apply(self, change: VectorChange) -> None:
        """Forget what went, take over what came."""
        known = self._numbers
        for id in change.removed:
            self._new.pop(id, None)
        self._stale[[known[id] for id in change.removed if id in known]] = True
        if change.passage_ids:
            vectors, scales = quantised(change.vectors, change.scales)
            self._new.update(zip(change.passage_ids, zip(vectors, scales, strict=True), strict=True))
            self._stale[[known[id] for id in change.passage_ids if id in known]] = True
        self.generation = change.generation

    def differing(self, change: VectorChange) -> list[str]:
        """The ids among these whose vector is missing here, or another."""
        known, (vectors, scales) = self._numbers, quantised(change.vectors, change.scales)
        return [
            id
            for id, vector, scale in zip(change.passage_ids, vectors, scales, strict=True)
            if (own := self._vector(id, known)) is None or own[1] != scale or not np.array_equal(own[0], vector)
        ]

    def _vector(self, id: str, known: Mapping[str, int]) -> tuple[NDArray[np.int8], np.float32] | None:
        if id in self._new:
            return self._new[id]
        number = known.get(id)
        if number is None or self._stale[number]:
            return None
        return self._base.vectors[number], self._base.scales[number]

    def search(self, vectors: NDArray[np.float32], k: int, allowed: Iterable[str] | None) -> list[Sequence[Hit]]:
        """For each vector the k passages of the largest inner product, ties by passage id."""
        chosen = None if allowed is None else set(allowed)
        found: list[list[Hit]] = [[] for _ in vectors]
        for ids, index, mask in self._parts(chosen):
            for hits, (numbers, scores) in zip(found, index.search(vectors, k, mask), strict=True):
                hits += [Hit(ids[n], s) for n, s in zip(numbers.tolist(), scores.tolist(), strict=True)]
        return [sorted(hits, key=lambda hit: (-hit.score, hit.passage_id))[:k] for hits in found]

    def _parts(self, chosen: set[str] | None) -> Iterable[tuple[list[str], VectorIndex, Mask | None]]:
        if self._ids:
            fresh = ~self._stale if chosen is None else ~self._stale & self._mask(self._ids, chosen)
            yield self._ids, self._base, None if fresh.all() else fresh
        if self._new:
            ids = list(self._new)
            vectors, scales = self._new_vectors()
            yield ids, VectorIndex(vectors, scales, None), None if chosen is None else self._mask(ids, chosen)

    @staticmethod
    def _mask(ids: Sequence[str], chosen: set[str]) -> Mask:
        return np.fromiter((id in chosen for id in ids), bool, len(ids))

    @property
    def _numbers(self) -> dict[str, int]:
        return {id: number for number, id in enumerate(self._ids)}

    def save(self) -> None:
        """Write everything anew, if there is much that the files do not have."""
        if len(self._new) > _REWRITE * len(self._ids):
            self.write()

    def write(self) -> None:
        """Write everything anew; the old files go when the new ones are in place."""
        vectors, scales = self._all()
        folder = self._location / f"v{self.generation}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        blob = json.dumps(self._ids, ensure_ascii=False).encode("utf-8", "surrogatepass")
        (folder / "ids.json").write_bytes(blob)
        save_array(folder, "vectors", vectors)
        save_array(folder, "scales", scales)
        written = write_faiss(vectors, scales, folder / _FAISS)
        files = listed_files(folder)
        sync_all(folder)
        manifest = {"format": FORMAT, "identity": self._identity, "generation": self.generation}
        replace_text(self._location / _MANIFEST, json.dumps({**manifest, "folder": folder.name, "files": files}))
        for other in self._location.glob("v*"):
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
        self._base = VectorIndex(vectors, scales, folder / _FAISS if written else None)

    def _all(self) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Put old and new together, by id."""
        kept = np.flatnonzero(~self._stale)
        ids = [self._ids[number] for number in kept.tolist()] + list(self._new)
        vectors, scales = self._new_vectors()
        if len(kept):
            vectors = np.concatenate([self._base.vectors[kept], vectors])
            scales = np.concatenate([self._base.scales[kept], scales])
        order = sorted(range(len(ids)), key=ids.__getitem__)
        self._ids, self._new, self._stale = [ids[number] for number in order], {}, np.zeros(len(ids), bool)
        return vectors[order], scales[order]

    def _new_vectors(self) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        if not self._new:
            return np.zeros((0, self._base.vectors.shape[1]), np.int8), np.zeros(0, np.float32)
        stored = list(self._new.values())
        return np.stack([vector for vector, _ in stored]), np.array([scale for _, scale in stored], np.float32)

    def _load(self) -> None:
        """Open the files, if they are this store's and whole; otherwise begin with nothing."""
        try:
            manifest: dict[str, Any] = json.loads((self._location / _MANIFEST).read_text(encoding="utf-8"))
            if manifest["format"] != FORMAT or manifest["identity"] != self._identity:
                return
            folder = self._location / manifest["folder"]
            check_sizes(folder, manifest["files"])
            ids = json.loads((folder / "ids.json").read_bytes().decode("utf-8", "surrogatepass"))
            vectors, scales = map_array(folder, "vectors"), map_array(folder, "scales")
        except (OSError, ValueError, KeyError, TypeError, IndexDamaged):
            return
        if len(ids) == len(vectors) == len(scales):
            self._ids, self._stale = ids, np.zeros(len(ids), bool)
            self._base = VectorIndex(vectors, scales, folder / _FAISS if _FAISS in manifest["files"] else None)
            self.generation = manifest["generation"]
