"""Several segments become one, in bounded memory: hashes are spread evenly, so the work is cut by ranges of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..array_writer import ArrayWriter
from ..derived_files import Files, map_array, save_array
from ..vector_index import write_faiss
from . import figures
from .packed_postings import SPARE, Entries, Frame, frame_of, pack
from .postings import NO_TOPS, Postings, offset_type, with_tops
from .segment import Mask, Segment, ranks_of
from .segment_files import FAISS, POSTINGS, finished

AT_ONCE = 1 << 20
"""Postings in memory at a time."""

_HASHES = 1 << 64


@dataclass(frozen=True, slots=True)
class _Piece:
    """A segment and, for each of its rows, the row it gets (-1: none, it is dead)."""

    segment: Segment
    rows: NDArray[np.int64]


def merge_segments(
    segments: Sequence[Segment], alive: Sequence[Mask | None], folder: Path, names: Iterable[str] = ()
) -> tuple[int, Files]:
    """Write what is alive in adjacent segments, in their order, as one; its number of passages, and its files.

    `names` are the features whose figures may be worth keeping.
    """
    for segment in segments:  # damage must not go on into a file with sums that fit
        segment.postings.touch_all()
        segment.dense.touch_all()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pieces, count = _numbered(segments, alive)
    _write_rows(pieces, folder)
    _write_vectors(pieces, folder)
    _write_postings(pieces, count, folder)
    write_faiss(map_array(folder, "vectors"), map_array(folder, "scales"), folder / FAISS)
    _write_figures(names, folder, count)
    return count, finished(folder)


def _write_figures(names: Iterable[str], folder: Path, count: int) -> None:
    keys, offsets, frame, packed, common, tops = (map_array(folder, f"posting_{name}") for name in POSTINGS)
    postings = Postings(keys, offsets, frame, packed, common, tops)
    figures.write(figures.chosen(figures.of_postings(postings, names), count), folder)


def _numbered(segments: Sequence[Segment], alive: Sequence[Mask | None]) -> tuple[list[_Piece], int]:
    pieces, count = [], 0
    for segment, mask in zip(segments, alive, strict=True):
        living = np.ones(len(segment), bool) if mask is None else mask
        pieces.append(_Piece(segment, np.where(living, np.cumsum(living) - 1 + count, -1)))
        count += int(living.sum())
    return pieces, count


def _write_rows(pieces: Sequence[_Piece], folder: Path) -> None:
    ids = []
    with ArrayWriter(folder, "rows", np.int64) as rows:
        for piece in pieces:
            kept = np.flatnonzero(piece.rows >= 0)
            rows.append(piece.segment.rows[kept])
            ids += [piece.segment.id(number).encode("utf-8", "surrogatepass") for number in kept.tolist()]
    save_array(folder, "ids", np.frombuffer(b"".join(ids), np.uint8))
    save_array(folder, "id_offsets", np.append(0, np.cumsum([len(id) for id in ids])).astype(np.int64))
    save_array(folder, "ranks", ranks_of(ids))


def _write_vectors(pieces: Sequence[_Piece], folder: Path, step: int = 16_384) -> None:
    width = max((piece.segment.dense.vectors.shape[1] for piece in pieces), default=0)
    with ArrayWriter(folder, "vectors", np.int8, width) as vectors, ArrayWriter(folder, "scales", np.float32) as scales:
        for piece in pieces:
            kept = np.flatnonzero(piece.rows >= 0)
            for begin in range(0, len(kept), step):
                some = kept[begin : begin + step]
                vectors.append(piece.segment.dense.vectors[some])
                scales.append(piece.segment.dense.scales[some])


def _write_postings(pieces: Sequence[_Piece], count: int, folder: Path) -> None:
    total, frame = sum(len(piece.segment.postings) for piece in pieces), _frame(pieces, count)
    types: dict[str, DTypeLike] = {"keys": "u8", "offsets": offset_type(total), "packed": "u1"}
    with ExitStack() as stack:
        keys, offsets, packed = (
            stack.enter_context(ArrayWriter(folder, f"posting_{name}", dtype)) for name, dtype in types.items()
        )
        offsets.append(np.zeros(1, np.int64))
        written, rest = 0, Entries(np.zeros(0, np.int64), np.zeros(0, np.uint16))
        for part in _parts(pieces, -(-total // AT_ONCE)):
            offsets.append(written + np.cumsum(part.counts))
            keys.append(part.keys)
            written += len(part.rows)
            rows, values = np.concatenate([rest.rows, part.rows]), np.concatenate([rest.values, part.values])
            whole = len(rows) // 8 * 8  # eight postings end with a byte, whatever their width
            packed.append(pack(frame, rows[:whole], values[:whole]))
            rest = Entries(rows[whole:], values[whole:])
            for piece in pieces:
                piece.segment.postings.release()
        packed.append(pack(frame, *rest))
        packed.append(np.zeros(SPARE, np.uint8))
    of_keys, of_offsets, data = (map_array(folder, f"posting_{name}") for name in types)
    merged = with_tops(Postings(of_keys, of_offsets, np.array(frame), data, *NO_TOPS), count)
    for name in set(POSTINGS) - set(types):
        save_array(folder, f"posting_{name}", getattr(merged, name))


def _frame(pieces: Sequence[_Piece], count: int) -> Frame:
    """One that holds what stands in any of them."""
    frames = [piece.segment.postings.all.frame for piece in pieces if len(piece.segment.postings)]
    least = min((frame.least for frame in frames), default=0)
    return frame_of(count, least, max((frame.most for frame in frames), default=least))


@dataclass(frozen=True, slots=True)
class _Part:
    keys: NDArray[np.uint64]  # (features,)
    counts: NDArray[np.int64]  # (features,)
    rows: NDArray[np.int64]  # (postings,)
    values: NDArray[np.uint16]  # (postings,)


def _parts(pieces: Sequence[_Piece], parts: int) -> Iterator[_Part]:
    """The merged postings, range of hashes by range of hashes."""
    for number in range(parts):
        low, high = number * _HASHES // parts, (number + 1) * _HASHES // parts - 1
        yield _merged([_cut(piece, low, high) for piece in pieces])


def _cut(piece: _Piece, low: int, high: int) -> _Part:
    """The postings of one segment whose hash lies in a range, without those of dead rows."""
    postings = piece.segment.postings
    first = int(np.searchsorted(postings.keys, np.uint64(low)))
    last = int(np.searchsorted(postings.keys, np.uint64(high), "right"))
    offsets = postings.offsets[first : last + 1]
    numbers, values = postings.entries([slice(int(offsets[0]), int(offsets[-1]))])
    rows = piece.rows[numbers]
    feature = np.repeat(np.arange(last - first), np.diff(offsets))
    kept = rows >= 0
    counts = np.bincount(feature[kept], minlength=last - first)
    return _Part(postings.keys[first:last], counts, rows[kept], values[kept])


def _merged(parts: Sequence[_Part]) -> _Part:
    """One part of several; a feature that stands in more than one of them has its rows together."""
    counts = np.concatenate([part.counts for part in parts])
    keys, group = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    posting_group = np.repeat(group, counts)
    by_group = np.argsort(posting_group, kind="stable")  # rows of later segments are higher, so they stay ascending
    sizes = np.bincount(posting_group, minlength=len(keys))
    filled = sizes > 0
    rows = np.concatenate([part.rows for part in parts])[by_group]
    values = np.concatenate([part.values for part in parts])[by_group]
    return _Part(keys[filled], sizes[filled], rows, values)
