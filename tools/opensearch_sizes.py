"""What each field of a passage weighs on a server's disk.

Servers of this kind do not tell (OpenSearch has no counterpart to Elasticsearch's `_disk_usage`), so the same passages
are loaded again and again, each time without one field, merged, and weighed. What `_source` takes is the difference to
an index without it; the fields are weighed in that one, so that the parts add up.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sparc_search.records import EncodedPassage
from sparc_search.stores.opensearch.bodies import passage_body
from sparc_search.stores.opensearch.names import key, writing
from sparc_search.stores.opensearch.server import LOADING, Server
from tools.opensearch_loading import send_plainly
from tools.opensearch_place import Place

PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "`start`": ("start",),
    "`end`": ("end",),
    "`lex`": ("lex",),
    "`text`": ("text",),
    "`title`": ("title",),
    "`block`": ("block",),
    "`facts`": ("facts",),
    "`vector`": ("vector",),
    "`metadata`, `tags`": ("metadata", "tags"),
    "`id`, `document`": ("id", "document"),
    "`source`": ("source",),
    "`number`, `page`, `words`, `generation`": ("number", "page", "words", "generation"),
}
FEATURES: Final = ("start", "end", "lex")
WHOLE, NO_SOURCE, OPTION = "everything", "without `_source`", "`features_in_source = false`"
SOURCE_FEATURES, SOURCE_REST = "`_source`: `start`, `end`, `lex`", "`_source`: the rest"
_AT_ONCE: Final = 250
_SYNCED_WITHIN: Final = 120.0


def measure(place: Place, passages: Sequence[EncodedPassage]) -> dict[str, float]:
    """Bytes a passage: of everything, without `_source`, with the option, with features out of `_source`, of parts."""
    bodies = [(key(one.passage.id), passage_body(one, 1, readable=True)) for one in passages]
    packed = [(key(one.passage.id), passage_body(one, 1, readable=False)) for one in passages]
    found = {
        WHOLE: _weigh(place, bodies),
        OPTION: _weigh(place, packed, excluded=FEATURES),
        NO_SOURCE: _weigh(place, bodies, source=False),
    }
    for name, fields in PARTS.items():
        found[name] = found[NO_SOURCE] - _weigh(place, bodies, source=False, left_out=fields)
    features = found[WHOLE] - _weigh(place, bodies, excluded=FEATURES)
    found[SOURCE_FEATURES] = features
    found[SOURCE_REST] = found[WHOLE] - found[NO_SOURCE] - features
    return found


def _weigh(
    place: Place,
    bodies: Sequence[tuple[str, str]],
    *,
    source: bool = True,
    excluded: Sequence[str] = (),
    left_out: Sequence[str] = (),
) -> float:
    def change(body: dict[str, Any]) -> None:
        # A server keeps what was sent until it knows that no copy will ask for it, and asks itself twice a minute.
        body["settings"]["index"]["soft_deletes.retention_lease.sync_interval"] = "200ms"
        body["mappings"]["_source"]["excludes"] += excluded
        if not source:
            body["mappings"]["_source"] = {"enabled": False}

    index = place.bare_index(change)
    send_plainly(place.server, requests(writing(index), bodies, left_out))
    size = _merged_size(place.server, index)
    place.server.request("DELETE", f"/{index}")
    return size / len(bodies)


def requests(index: str, bodies: Sequence[tuple[str, str]], left_out: Sequence[str]) -> Iterable[bytes]:
    """Bulk requests for passages without some of their fields."""
    for begin in range(0, len(bodies), _AT_ONCE):
        parts = []
        for id, body in bodies[begin : begin + _AT_ONCE]:
            parts += [json.dumps({"create": {"_index": index, "_id": id}}), _without(body, left_out)]
        yield ("\n".join(parts) + "\n").encode()


def _without(body: str, left_out: Sequence[str]) -> str:
    if not left_out:
        return body
    kept = {name: value for name, value in json.loads(body).items() if name not in left_out}
    return json.dumps(kept, ensure_ascii=False)


def _merged_size(server: Server, index: str) -> int:
    """Bytes of an index as it is in the long run: one segment, and nothing kept for copies."""
    server.request("POST", f"/{index}/_flush", patience=LOADING)
    deadline = time.monotonic() + _SYNCED_WITHIN
    while not _is_synced(server, index):
        assert time.monotonic() < deadline, "the server keeps what was sent"
        time.sleep(0.2)
    # A document more, so that there is something to merge even if all were in one segment.
    server.request("PUT", f"/{writing(index)}/_doc/last", {}, {"refresh": "true"})
    merged = {"max_num_segments": 1, "request_timeout": 3600}
    server.request("POST", f"/{index}/_forcemerge", params=merged, patience=LOADING)
    server.request("POST", f"/{index}/_refresh", patience=LOADING)
    found = server.request("GET", f"/{index}/_stats/store,segments")["indices"][index]["primaries"]
    assert found["segments"]["count"] == 1, "the server did not merge"
    return int(found["store"]["size_in_bytes"])


def _is_synced(server: Server, index: str) -> bool:
    (copies,) = server.request("GET", f"/{index}/_stats", params={"level": "shards"})["indices"][index][
        "shards"
    ].values()
    last = int(copies[0]["seq_no"]["max_seq_no"])
    leases = copies[0]["retention_leases"]["leases"]
    return all(int(lease["retaining_seq_no"]) > last for lease in leases)
