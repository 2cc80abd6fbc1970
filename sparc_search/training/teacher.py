"""A teacher's word on every training question: where it thinks the answer starts and ends, written once to a file.

The file keeps the likeliest few starts and ends of each question with their log probabilities (fp16), as word pieces
of the whole paragraph; it knows the tokenizer and the data it was made with, and refuses others.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelDamaged, UsageError

_AGAIN = "write it again with `sparc-search evaluate teach`"
_ARRAYS = ("keys", "places", "logs")


class Taught(NamedTuple):
    """The likeliest starts (row 0) and ends (row 1) of one answer, and their shares, which sum to one at most."""

    places: NDArray[np.int32]  # (2, K)
    shares: NDArray[np.float32]  # (2, K)

    def inside(self, first: int, count: int) -> Taught:
        """The same in a window of the paragraph; what lies outside gets nothing."""
        within = (self.places >= first) & (self.places < first + count)
        return Taught(np.where(within, self.places - first, 0), np.where(within, self.shares, 0).astype(np.float32))


@dataclass(frozen=True, slots=True)
class Teacher:
    """A teacher's file in memory."""

    path: Path
    about: dict[str, Any]
    keys: NDArray[np.uint64]  # ascending
    places: NDArray[np.uint16]  # (N, 2, K)
    logs: NDArray[np.float16]  # (N, 2, K)

    def __call__(self, question: str, paragraph: str) -> Taught | None:
        """What it said of a question on a paragraph; None if it was not asked."""
        key = key_of(question, paragraph)
        at = int(np.searchsorted(self.keys, key))
        if at == len(self.keys) or self.keys[at] != key:
            return None
        return Taught(self.places[at].astype(np.int32), np.exp(self.logs[at].astype(np.float32)))

    def check(self, tokenizer: str, files: Iterable[tuple[str, str]]) -> None:
        """Refuse another tokenizer (its sha256) and data files (name, sha256) that it was not made with."""
        if self.about["tokenizer"] != tokenizer:
            raise UsageError(
                f"{self.path} was made with another tokenizer: its word pieces mean nothing here",
                "train the teacher on the same base, and write its file again",
            )
        known = {file["sha256"] for file in self.about["data"]}
        for name, sha256 in files:
            if sha256 not in known:
                raise UsageError(f"{self.path} was made without {name}, or with another version of it", _AGAIN)


def key_of(question: str, paragraph: str) -> np.uint64:
    """A question on its paragraph, as a number: ids of several files may be the same."""
    digest = hashlib.blake2b(f"{question}\0{paragraph}".encode("utf-8", "replace"), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def top_shares(logits: NDArray[np.float32], keep: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The places of the largest start and end logits (N, 2), and their log probabilities: (2, keep) both."""
    columns = logits.T.astype(np.float64)
    highest = columns.max(1, keepdims=True)
    logs = columns - highest - np.log(np.exp(columns - highest).sum(1, keepdims=True))
    places = np.argsort(-logs, axis=1, kind="stable")[:, :keep]
    found = np.take_along_axis(logs, places, 1)
    missing = keep - places.shape[1]
    return np.pad(places, ((0, 0), (0, missing))), np.pad(found, ((0, 0), (0, missing)), constant_values=-np.inf)


def write_teacher(
    path: Path,
    about: dict[str, Any],
    keys: Sequence[np.uint64],
    places: Sequence[NDArray[np.int64]],
    logs: Sequence[NDArray[np.float32]],
) -> None:
    """Write the file; a question that was asked twice is kept once."""
    unique, rows = np.unique(np.asarray(keys, np.uint64), return_index=True)
    part = path.with_name(path.name + ".part")
    with part.open("wb") as stream:
        np.savez(
            stream,
            about=np.frombuffer(json.dumps(about).encode(), np.uint8),
            keys=unique,
            places=np.asarray(places, np.uint16)[rows],
            logs=np.asarray(logs, np.float16)[rows],
        )
    part.replace(path)


def read_teacher(path: Path) -> Teacher:
    """Read a file that `write_teacher` wrote."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as found:
            about = json.loads(found["about"].tobytes())
            keys, places, logs = (found[name] for name in _ARRAYS)
        whole = len(keys) == len(places) == len(logs) and places.shape == logs.shape and places.ndim == 3
        if not whole or not {"tokenizer", "data"} <= about.keys():
            raise ValueError("its parts do not fit together")
    except FileNotFoundError as error:
        raise UsageError(f"there is no teacher file {path}", _AGAIN) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ModelDamaged(f"{path} is no teacher file, or damaged: {error}", _AGAIN) from error
    return Teacher(path, about, keys, places, logs)
