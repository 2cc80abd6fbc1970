"""What each field of a passage weighs on a server's disk.

Servers of this kind do not tell (OpenSearch has no counterpart to Elasticsearch's `_disk_usage`), so the same passages
are loaded again and again, each time without one field, merged, and weighed. What `_source` takes is the difference to
an index without it; the fields are weighed in that one, so that the parts add up.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sparc_search.records import EncodedPassage
from sparc_search.stores.opensearch.bodies import passage_body
from sparc_search.stores.opensearch.bulk import Action, load
from sparc_search.stores.opensearch.names import key, writing
from sparc_search.stores.opensearch.server import LOADING, Server
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
_SETTLED_WITHIN: Final = 300.0


@dataclass(frozen=True, slots=True)
class Variant:
    """An index with the passages, and what is different in it."""

    packed: bool = False
    source: bool = True
    excluded: tuple[str, ...] = ()
    """Fields that are not in `_source`."""
    left_out: tuple[str, ...] = ()
    """Fields that are nowhere."""

    def change(self, body: dict[str, Any]) -> None:
        """Make the body of an index that of this variant."""
        body["mappings"]["_source"]["excludes"] += self.excluded
        if not self.source:
            body["mappings"]["_source"] = {"enabled": False}


def measure(place: Place, passages: Sequence[EncodedPassage]) -> dict[str, float]:
    """Bytes a passage: of everything, with the option, without `_source`, and of each part."""
    variants = {
        WHOLE: Variant(),
        OPTION: Variant(packed=True, excluded=FEATURES),
        NO_SOURCE: Variant(source=False),
        SOURCE_FEATURES: Variant(excluded=FEATURES),
        **{name: Variant(source=False, left_out=fields) for name, fields in PARTS.items()},
    }
    indices = {name: _load(place, passages, variant) for name, variant in variants.items()}
    for index in indices.values():
        _wait_until_settled(place.server, index)
    sizes = {name: _merged_size(place.server, index) / len(passages) for name, index in indices.items()}
    place.drop("bare")
    features = sizes[WHOLE] - sizes[SOURCE_FEATURES]
    return {
        **{name: sizes[name] for name in (WHOLE, OPTION, NO_SOURCE)},
        **{name: sizes[NO_SOURCE] - sizes[name] for name in PARTS},
        SOURCE_FEATURES: features,
        SOURCE_REST: sizes[WHOLE] - sizes[NO_SOURCE] - features,
    }


def _load(place: Place, passages: Sequence[EncodedPassage], variant: Variant) -> str:
    index = place.bare_index(variant.change)
    actions = (Action("index", writing(index), key(one.passage.id), _body(one, variant)) for one in passages)
    assert all(outcome.ok for outcome in load(place.server, actions)), "the server refused something"
    place.server.request("POST", f"/{index}/_flush", patience=LOADING)
    return index


def _body(passage: EncodedPassage, variant: Variant) -> str:
    return without(passage_body(passage, 1, readable=not variant.packed), variant.left_out)


def without(body: str, left_out: Sequence[str]) -> str:
    """The JSON of a passage without some fields."""
    if not left_out:
        return body
    kept = {name: value for name, value in json.loads(body).items() if name not in left_out}
    return json.dumps(kept, ensure_ascii=False)


def _wait_until_settled(server: Server, index: str) -> None:
    """A server keeps all that was sent until it knows that no copy will ask for it; it looks twice a minute."""
    deadline = time.monotonic() + _SETTLED_WITHIN
    while not _is_settled(server, index):
        assert time.monotonic() < deadline, "the server keeps what was sent"
        time.sleep(1)


def _is_settled(server: Server, index: str) -> bool:
    shards = server.request("GET", f"/{index}/_stats", params={"level": "shards"})["indices"][index]["shards"]
    copies = [copy for one in shards.values() for copy in one]
    return all(
        int(lease["retaining_seq_no"]) > int(copy["seq_no"]["max_seq_no"])
        for copy in copies
        for lease in copy["retention_leases"]["leases"]
    )


def _merged_size(server: Server, index: str) -> int:
    """Bytes of an index as it is in the long run: one segment, and nothing kept for copies."""
    # A document more, so that there is something to merge even if all were in one segment.
    server.request("PUT", f"/{writing(index)}/_doc/last", {}, {"refresh": "true"}, patience=LOADING)
    merged = {"max_num_segments": 1, "request_timeout": 3600}
    server.request("POST", f"/{index}/_forcemerge", params=merged, patience=LOADING)
    server.request("POST", f"/{index}/_refresh", patience=LOADING)
    found = server.request("GET", f"/{index}/_stats/store,segments")["indices"][index]["primaries"]
    assert found["segments"]["count"] == 1, "the server did not merge"
    return int(found["store"]["size_in_bytes"])
