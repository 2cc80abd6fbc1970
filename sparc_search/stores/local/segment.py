"""A segment: what is derived from a range of passages to search them. In memory, or mapped from files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..features import FieldValues
from ..vector_index import VectorIndex
from .figures import Figures, of_passages
from .postings import Postings, numbered, postings_of

Mask = NDArray[np.bool_]


class Source(NamedTuple):
    """What a segment needs to know of one passage."""

    row: int
    id: str
    features: Sequence[FieldValues]
    vector: NDArray[np.int8]
    scale: float


@dataclass(frozen=True, slots=True)
class Segment:
    """Passages `first` to `last` (rows of the database, both included; some may be missing) as arrays."""

    first: int
    last: int
    rows: NDArray[np.int64]  # (passages,) ascending
    ids: NDArray[np.uint8]  # UTF-8, end to end
    id_offsets: NDArray[np.int64]  # (passages + 1,)
    ranks: NDArray[np.uint32]  # (passages,) place of the id among the sorted ids of the segment
    postings: Postings
    dense: VectorIndex
    figures: Callable[[], Figures | None]
    """Those of the features that lead a ranking; None in a segment that was written without."""

    def __len__(self) -> int:
        return len(self.rows)

    def id(self, number: int) -> str:
        """The passage id of the number-th row."""
        return bytes(self.ids[self.id_offsets[number] : self.id_offsets[number + 1]]).decode("utf-8", "surrogatepass")

    def best(
        self, numbers: NDArray[np.int64], scores: NDArray[np.float64], k: int, least: float = -np.inf
    ) -> list[tuple[float, str]]:
        """Of these rows and their scores the k highest (score, id) of at least `least`, best first, ties by id."""
        if len(numbers) > k:
            least = max(least, float(np.partition(scores, -k)[-k]))
        if least > -np.inf:
            high = (scores >= least).nonzero()[0]
            numbers, scores = numbers[high], scores[high]
        order = np.lexsort((self.ranks[numbers], -scores))[:k]
        return list(zip(scores[order].tolist(), self._ids(numbers[order]), strict=True))

    def _ids(self, numbers: NDArray[np.int64]) -> list[str]:
        """The passage ids of these rows."""
        bounds = zip(self.id_offsets[numbers].tolist(), self.id_offsets[numbers + 1].tolist(), strict=True)
        return [self.ids[begin:end].tobytes().decode("utf-8", "surrogatepass") for begin, end in bounds]

    def has(self, id: str, alive: Mask | None) -> bool:
        """Whether a passage of this id is there, and alive."""
        data, ids, at = id.encode("utf-8", "surrogatepass"), self.ids.tobytes(), -1
        while (at := ids.find(data, at + 1)) >= 0:
            number = int(np.searchsorted(self.id_offsets, at))
            if number < len(self) and self.id(number) == id:
                return alive is None or bool(alive[number])
        return False

    def holding(self, rows: NDArray[np.int64]) -> Mask:
        """Which of its passages are among these rows (ascending)."""
        mask = np.zeros(len(self), bool)
        near = rows[np.searchsorted(rows, self.first) : np.searchsorted(rows, self.last, "right")]
        places = np.searchsorted(self.rows, near)
        inside = places < len(self)
        inside[inside] = self.rows[places[inside]] == near[inside]
        mask[places[inside]] = True
        return mask


def make_segment(first: int, last: int, passages: Iterable[Source]) -> Segment:
    """The segment of these passages, in memory. They come in the order of their rows."""
    rows, ids, vectors, scales = [], [], [], []

    def features() -> Iterable[Sequence[FieldValues]]:
        for passage in passages:
            rows.append(passage.row)
            ids.append(passage.id.encode("utf-8", "surrogatepass"))
            vectors.append(passage.vector)
            scales.append(passage.scale)
            yield passage.features

    fields = numbered(features())
    return Segment(
        first,
        last,
        np.array(rows, np.int64),
        np.frombuffer(b"".join(ids), np.uint8),
        np.append(0, np.cumsum([len(id) for id in ids])).astype(np.int64),
        ranks_of(ids),
        postings_of(fields),
        VectorIndex(np.stack(vectors) if vectors else np.zeros((0, 0), np.int8), np.array(scales, np.float32), None),
        cache(lambda: of_passages(fields, len(rows))),
    )


def ranks_of(ids: Sequence[bytes]) -> NDArray[np.uint32]:
    """Where each id stands when they are sorted. UTF-8 sorts as the text does."""
    ranks = np.empty(len(ids), np.uint32)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids), dtype=np.uint32)
    return ranks
