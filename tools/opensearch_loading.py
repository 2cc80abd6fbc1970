"""How fast passages get to a server: by `writer.add`, by the bulk loader in it, and by bulk requests without any care.

All three send the same bodies in requests of the same size, as many at a time. They take turns, each time in another
order, so that whatever else the machine does meets all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from sparc_search.stored import EncodedDocument
from sparc_search.stores.opensearch import OpenSearchEngine
from sparc_search.stores.opensearch.bodies import passage_body
from sparc_search.stores.opensearch.bulk import Action, BulkLimits, Throttle, batches, lines, load
from sparc_search.stores.opensearch.names import key, writing
from sparc_search.stores.opensearch.server import Server
from tools.opensearch_place import Place

TURN: Final = 2048
"""Passages of a turn."""

COMMIT: Final = 512
"""Passages that `sparc-search ingest` commits at a time."""

PLAIN, LOADER, STORE = "plain bulk", "the bulk loader", "`writer.add`, all it takes"
_PATIENT: Final = {"request_timeout": 600}
Documents = Sequence[EncodedDocument]


@dataclass
class Loading:
    """What was measured: seconds of each turn, by who loaded."""

    passages: list[int] = field(default_factory=list)
    size: int = 0
    """Bytes of all bodies."""
    seconds: dict[str, list[float]] = field(default_factory=lambda: {PLAIN: [], LOADER: [], STORE: []})

    @property
    def count(self) -> int:
        """Passages so far, by each."""
        return sum(self.passages)

    def rate(self, who: str) -> float:
        """Passages a second."""
        return self.count / sum(self.seconds[who])

    def share(self, who: str) -> float:
        """Of the speed of plain bulk, in the middle turn."""
        return median(plain / own for plain, own in zip(self.seconds[PLAIN], self.seconds[who], strict=True))


def measure(
    place: Place, encoder: str, documents: Callable[[], Iterable[EncodedDocument]], passages: int, turn: int
) -> Loading:
    """Load about so many passages in turns, after a quarter of that to warm up; if there are fewer, several times."""
    warming, found = Loading(), Loading()
    while found.count < passages:
        with place.engine("load", encoder, writable=True) as engine:
            plain, loader = place.bare_index(), place.bare_index()
            for some in portions(documents(), turn):
                into = found if warming.count >= passages / 4 else warming
                _turn(into, place.server, engine, (plain, loader), some)
                if found.count >= passages:
                    break
        place.drop("load")
        place.drop("bare")
    return found


def _turn(into: Loading, server: Server, engine: OpenSearchEngine, indices: tuple[str, str], some: Documents) -> None:
    bodies = [
        (key(one.passage.id), passage_body(one, 1, readable=True)) for document in some for one in document.passages
    ]
    plain, loader = ([Action("create", writing(index), id, body) for id, body in bodies] for index in indices)
    requests = [lines(batch).encode() for batch in batches(plain, BulkLimits(), Throttle(BulkLimits().size))]
    commits = list(portions(some, COMMIT))
    ways: list[tuple[str, Callable[[], None]]] = [
        (PLAIN, lambda: send_plainly(server, requests)),
        (LOADER, lambda: _load(server, loader)),
        (STORE, lambda: _add(engine, commits)),
    ]
    first = len(into.passages)
    into.passages.append(len(bodies))
    into.size += sum(len(body.encode()) for _, body in bodies)
    for at in range(len(ways)):
        who, way = ways[(first + at) % len(ways)]
        began = time.perf_counter()
        way()
        into.seconds[who].append(time.perf_counter() - began)


def send_plainly(server: Server, requests: Iterable[bytes]) -> None:
    """Bulk requests, several at a time, with one look at whether all went well."""
    with ThreadPoolExecutor(BulkLimits().in_flight) as pool:
        for answer in pool.map(lambda data: server.send("POST", "/_bulk", data, _PATIENT), requests):
            assert not answer["errors"], "the server refused something"


def _load(server: Server, actions: Iterable[Action]) -> None:
    assert all(outcome.ok for outcome in load(server, actions)), "the server refused something"


def _add(engine: OpenSearchEngine, commits: Iterable[Documents]) -> None:
    for some in commits:
        assert not engine.writer().add(some), "the server refused something"


def portions(documents: Iterable[EncodedDocument], passages: int) -> Iterator[list[EncodedDocument]]:
    """Documents, about so many passages at a time."""
    portion, count = list[EncodedDocument](), 0
    for document in documents:
        portion.append(document)
        count += len(document.passages)
        if count >= passages:
            yield portion
            portion, count = [], 0
    if portion:
        yield portion
