from __future__ import annotations

import bz2
import gzip
import io

import pytest

from sparc_search.errors import RejectedDocument
from sparc_search.loaders.compressed import decompressed, inner_name

TEXT = b"one\ntwo\n" * 1000


def opened(data: bytes, name: str) -> io.BufferedReader:
    return decompressed(io.BufferedReader(io.BytesIO(data)), name)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "data"), [("a.txt.gz", gzip.compress(TEXT)), ("a.TXT.BZ2", bz2.compress(TEXT))])
def test_what_is_inside(name: str, data: bytes) -> None:
    assert opened(data, name).read() == TEXT
    assert inner_name(name).lower() == "a.txt"
    assert opened(data, name).readline() == b"one\n"


def test_other_names_are_left_alone() -> None:
    assert opened(TEXT, "a.txt").read() == TEXT
    assert inner_name("a.txt") == "a.txt"


@pytest.mark.parametrize("name", ["a.gz", "a.bz2"])
@pytest.mark.parametrize("data", [b"nonsense", gzip.compress(TEXT)[:-10], bz2.compress(TEXT)[:-10]])
def test_damaged_data_is_rejected(name: str, data: bytes) -> None:
    with pytest.raises(RejectedDocument, match="damaged"):
        opened(data, name).read()


@pytest.mark.parametrize(("name", "pack"), [("a.gz", gzip.compress), ("a.bz2", bz2.compress)])
def test_a_bomb_stops_early(name: str, pack: object) -> None:
    stream = opened(pack(bytes(100 << 20)), name)  # type: ignore[operator]
    read = [0]
    with pytest.raises(RejectedDocument, match="suspicious"):
        read.extend(len(data) for data in iter(lambda: stream.read(1 << 16), b""))
    assert sum(read) < 40 << 20
