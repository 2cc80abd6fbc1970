"""Nearest passage vectors by inner product: FAISS proposes, the stored int8 vectors decide.

Few vectors are compared one by one with numpy. More are scanned by FAISS in a coarse form, two dimensions in four bits,
that it compares by the register (ten times as fast as 8 bits). From `FLAT_BELOW` on only the lists around the question
are scanned (IVF), as many as a measurement at building time says are needed. What FAISS proposes, many times as many as
are wanted, is scored again from the int8 vectors: its rounding decides nothing but who is looked at. GPUs know no such
form, so where there are some the lists hold 8 bits.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import IndexDamaged
from .page_sums import Pages

PLAIN_BELOW: Final = 1_024
"""Up to here numpy alone is fast enough, and FAISS need not be loaded."""

FLAT_BELOW: Final = 100_000
"""Up to here every vector is compared."""

RECALL: Final = 0.99
"""Share of the true neighbours that IVF must find among its first `_DEPTH`, measured on vectors of the index."""

_DEPTH: Final = 50
_SAMPLE: Final = 200
_TRAINING: Final = 40
"""Vectors for each list when the lists are found; with fewer FAISS complains."""
_CODE_TRAINING: Final = 4_096
"""Vectors the coarse form is fitted to."""

Vectors = NDArray[np.float32]
Mask = NDArray[np.bool_]
Found = tuple[NDArray[np.int64], NDArray[np.float64]]


class VectorIndex:
    """int8 vectors with a scale each, and the FAISS file over them if there are enough to need one."""

    def __init__(
        self,
        vectors: NDArray[np.int8],
        scales: NDArray[np.float32],
        faiss_file: Path | None,
        pages: Sequence[Pages] = (),
    ) -> None:
        self._pages = pages
        """Files to be checked when something is searched."""
        self.vectors = vectors
        self.scales = scales
        self._file = faiss_file
        self._lock = threading.Lock()
        self._opened: Any = None
        self._copied: Any = None

    def __len__(self) -> int:
        return len(self.vectors)

    def touch_all(self) -> None:
        """Check the files it is mapped from, if nobody has."""
        for file in self._pages:
            file.touch_all()

    def search(self, queries: Vectors, k: int, mask: Mask | None) -> list[Found]:
        """For each query the vectors that may be among the first k, by number, and their inner products."""
        self.touch_all()  # a search goes through most of it
        allowed = len(self) if mask is None else int(mask.sum())
        # A narrow filter leaves few to compare, and lists might hold none of them.
        if allowed <= max(PLAIN_BELOW, 2 * k) or self._on_cpu() is None:
            candidates = [np.arange(len(self)) if mask is None else np.flatnonzero(mask)] * len(queries)
        else:
            candidates = self._propose(queries, k, mask)
        return [self._score(query, some) for query, some in zip(queries, candidates, strict=True)]

    def _score(self, query: Vectors, candidates: NDArray[np.int64]) -> Found:
        stored = self.vectors if len(candidates) == len(self) else self.vectors[candidates]
        # No BLAS: its result for one row may depend on how many rows there are.
        products = np.einsum("ij,j->i", stored.astype(np.float32), query).astype(np.float64)
        return candidates, products * self.scales[candidates]

    def _propose(self, queries: Vectors, k: int, mask: Mask | None) -> list[NDArray[np.int64]]:
        import faiss

        index = self._open() if mask is None else self._on_cpu()
        queries = np.ascontiguousarray(queries, np.float32)
        if _holds_8_bits(faiss, self._on_cpu()):
            with _threads(faiss, len(queries)):
                _, found = index.search(queries, min(2 * k + 16, len(self)), params=_parameters(faiss, index, mask))
            return [np.sort(row[row >= 0]) for row in found]  # FAISS fills up with -1
        with _threads(faiss, 1):
            # One query at a time: FAISS rounds several together in another way, and a question is to have one answer.
            if isinstance(index, faiss.IndexIVF):
                return [_scan_lists(faiss, index, query, 8 * k + 128, mask) for query in queries]
            return [_scan(index, query, 8 * k + 64 + len(self) // 500, mask) for query in queries]

    def _open(self) -> Any:
        """The index, on GPUs where there are some and it has lists of 8 bits; they do not filter."""
        import faiss

        index = self._on_cpu()
        if not faiss.get_num_gpus() or not _holds_8_bits(faiss, index):
            return index
        with self._lock:
            if self._copied is None:
                self._copied = faiss.index_cpu_to_all_gpus(faiss.read_index(str(self._file)))
        return self._copied

    def _on_cpu(self) -> Any:
        """The index; None if there is none, or none any more: who replaces a segment removes its files.

        The vectors themselves are mapped, and serve to the end whoever still reads the old one.
        """
        with self._lock:
            if self._opened is None and self._file is not None and self._file.exists():
                self._opened = _read(self._file)
        return self._opened


@contextmanager
def _threads(faiss: Any, most: int) -> Iterator[None]:
    """No more threads than queries: one query gains nothing by two, and on a busy machine waits for the second."""
    usual = faiss.omp_get_max_threads()  # of this thread; others are not touched
    faiss.omp_set_num_threads(max(1, min(usual, most)))
    try:
        yield
    finally:
        faiss.omp_set_num_threads(usual)


def _scan(index: Any, query: Vectors, wanted: int, mask: Mask | None) -> NDArray[np.int64]:
    """About as many of the nearest as are wanted. The coarse form knows no filters, so more are asked for with one."""
    count = wanted if mask is None else wanted * len(mask) // max(int(mask.sum()), 1) + 1
    while True:
        found: NDArray[np.int64] = index.search(query[None], min(count, index.ntotal))[1][0]
        found = found[found >= 0]
        found = found if mask is None else found[mask[found]]
        if len(found) >= wanted or count >= index.ntotal:
            return np.sort(found)
        count *= 2


def _scan_lists(faiss: Any, index: Any, query: Vectors, wanted: int, mask: Mask | None) -> NDArray[np.int64]:
    """At most as many of the nearest as are wanted, from the lists around the question."""
    parameters = _parameters(faiss, index, mask)
    found: NDArray[np.int64] = index.search(query[None], min(wanted, index.ntotal), params=parameters)[1][0]
    return np.sort(found[found >= 0])


def _holds_8_bits(faiss: Any, index: Any) -> bool:
    return isinstance(index, faiss.IndexIVFScalarQuantizer)


def _parameters(faiss: Any, index: Any, mask: Mask | None) -> Any:
    if mask is None:
        return None
    selector = faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
    return faiss.SearchParametersIVF(sel=selector, nprobe=index.nprobe)


def _read(path: Path | None) -> Any:
    import faiss

    try:
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:
        raise IndexDamaged(
            f"{path} cannot be read: {error}", "`sparc-search index verify --repair` makes it again"
        ) from error


def write_faiss(vectors: NDArray[np.int8], scales: NDArray[np.float32], path: Path) -> bool:
    """Write the FAISS file over these vectors; nothing, and False, if they are too few to need one."""
    if len(vectors) <= PLAIN_BELOW or not vectors.shape[1]:
        return False
    import faiss

    index = _flat(faiss, vectors, scales) if len(vectors) < FLAT_BELOW else _ivf(faiss, vectors, scales)
    try:
        faiss.write_index(index, str(path))
    except RuntimeError as error:  # a disk that refuses it
        number = errno.ENOSPC if os.strerror(errno.ENOSPC) in str(error) else errno.EIO
        raise OSError(number, os.strerror(number), str(path)) from error
    return True


def _codes(dimensions: int) -> int:
    """Of how many times four bits the coarse form is."""
    return dimensions // 2 if dimensions % 2 == 0 else dimensions


def _flat(faiss: Any, vectors: NDArray[np.int8], scales: NDArray[np.float32]) -> Any:
    dimensions = vectors.shape[1]
    index = faiss.IndexPQFastScan(dimensions, _codes(dimensions), 4, faiss.METRIC_INNER_PRODUCT)
    index.pq.cp.seed, index.pq.cp.niter, index.pq.cp.min_points_per_centroid = 45, 4, 1
    with _threads(faiss, 1):  # work for a second, in steps so short that threads wait for each other most of the time
        index.train(_some(vectors, scales, _CODE_TRAINING))
        _fill(index, vectors, scales)
    return index


def _ivf(faiss: Any, vectors: NDArray[np.int8], scales: NDArray[np.float32]) -> Any:
    size, dimensions = vectors.shape
    lists = 1 << round(np.log2(2 * np.sqrt(size)))
    centres, metric = faiss.IndexFlatIP(dimensions), faiss.METRIC_INNER_PRODUCT
    if faiss.get_num_gpus():
        kind = faiss.ScalarQuantizer.QT_8bit
        index = faiss.IndexIVFScalarQuantizer(centres, dimensions, lists, kind, metric, False)
    else:
        index = faiss.IndexIVFPQFastScan(centres, dimensions, lists, _codes(dimensions), 4, metric)
        index.by_residual = False
        index.pq.cp.seed, index.pq.cp.niter, index.pq.cp.min_points_per_centroid = 45, 4, 1
    index.cp.seed, index.cp.niter, index.cp.spherical = 45, 8, True
    index.train(_some(vectors, scales, lists * _TRAINING))
    _fill(index, vectors, scales)
    index.nprobe = _probes(index, vectors, scales, lists)
    return index


def _probes(index: Any, vectors: NDArray[np.int8], scales: NDArray[np.float32], lists: int) -> int:
    """How many lists must be looked into, by trying: questions are stored vectors, blurred."""
    rng = np.random.default_rng(45)
    queries = _some(vectors, scales, _SAMPLE)
    noise = rng.normal(size=queries.shape) * (np.linalg.norm(queries, axis=1, keepdims=True) / queries.shape[1] ** 0.5)
    queries = (queries + 0.5 * noise).astype(np.float32)
    index.nprobe = lists
    _, wanted = index.search(queries, _DEPTH)
    index.nprobe = 1
    while index.nprobe < lists:
        _, found = index.search(queries, _DEPTH)
        recall = np.mean([len(np.intersect1d(a, b)) / len(a) for a, b in zip(wanted, found, strict=True)])
        if recall >= RECALL:
            break
        index.nprobe = min(index.nprobe * 2, lists)
    return int(index.nprobe)


def _some(vectors: NDArray[np.int8], scales: NDArray[np.float32], count: int) -> Vectors:
    """At most so many of the vectors, evenly spread, as floats."""
    numbers = np.linspace(0, len(vectors) - 1, min(count, len(vectors))).astype(np.int64)
    return vectors[numbers].astype(np.float32) * scales[numbers, None]


def _fill(index: Any, vectors: NDArray[np.int8], scales: NDArray[np.float32], step: int = 16_384) -> None:
    for begin in range(0, len(vectors), step):
        part = slice(begin, begin + step)
        index.add(vectors[part].astype(np.float32) * scales[part, None])


def quantised(
    vectors: Sequence[Vectors] | Vectors, scales: NDArray[np.float32] | None = None
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Vectors as int8 with a scale each; those that once were int8, by these scales, come back as they were."""
    exact = np.asarray(vectors, np.float32)
    if scales is None:
        scales = np.abs(exact).max(axis=1, initial=0.0) / 127
    safe = np.where(scales > 0, scales, 1)
    return np.rint(exact / safe[:, None]).astype(np.int8), scales.astype(np.float32)
