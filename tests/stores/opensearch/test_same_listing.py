"""What is typed into the box finds the same passages here and on a server; so does the query that a page shows."""

from __future__ import annotations

from dataclasses import replace

from engines import Engine, open_local
from small_corpus import encode_all

from sparc_search.encoder import Encoder
from sparc_search.inspection.grammar import listing_of, read
from sparc_search.inspection.server_query import listing_query
from sparc_search.records import Document
from sparc_search.stored import Listing

DOCUMENTS = [
    Document("alps", "The Eiger was first climbed in 1858.\n\nThe well-known Matterhorn can't be missed: 3.14 miles.",
             "Alps", "notes/alps/a.md", {"kind": "mountains", "lang": "en"}),
    Document("seas", "The Caspian Sea has no outlet; snake_case and U.S. ships, 1,000 of them.", "Baltic Seas",
             "notes/seas.md", {"kind": "salt Water", "lang": "en", "note": "a=b*c?"}),
    Document("ost", "山の上 Grüße aus Köln. Outlets climbed again: climbed climbed.", "", "andere/b.md",
             {"lang": "de", "kind": "draft"}),
    Document("end", "Nothing to see. The sea climbed.", "Draft of a title", "top.md"),
]  # fmt: skip
TYPED = (
    "", "eig", "iger", "outlet", "sea", "SEA", "climbed sea", "-climbed", "well-known", "well-kno", '"well known"',
    '"known well"', "can't", "3.14", "3", "14", "can", "1,000", "snake", "case", "U.S.", "山", "上 山", "grüße",
    "water", "ALT", "mountains", "draft", "-draft", "title:draft", "-title:draft", "text:draft", "lang:en", "-lang:en",
    'kind:"salt Water"', "kind:water", "b*c", "*", "folder:notes", "folder:notes/", "folder:note", "-folder:notes/alps",
    "document:seas", "start:climbed", "lex:climbed", "-lex:climbed", "lex:climbed>0.3", "lex:climbed<0.3",
    "lex:climbed>=0.2 lex:sea", "-lex:climbed>0.3", "lex:climbed>99", 'start:"first climbed"', "%", "_", "the -lang:de",
)  # fmt: skip


def test_the_same_passages(server_engine: Engine, toy_encoder: Encoder) -> None:
    encoded = encode_all(DOCUMENTS, toy_encoder)
    with open_local(server_engine.folder / "here", "toy-1", writable=True) as here, server_engine.open() as there:
        here.add(encoded)
        there.add(encoded)
        with there.view() as view:
            index = view.state.passages_index  # type: ignore[attr-defined]
        found_any = 0
        for typed in TYPED:
            listing = listing_of(read(typed, ("lang", "kind", "note")), Listing(size=50))
            local = here.list_passages(listing)
            expected = sorted(passage.id for passage in local.passages)
            found_any += bool(expected)
            remote = there.list_passages(listing)
            assert sorted(passage.id for passage in remote.passages) == expected, typed
            assert (remote.total, remote.more) == (local.total, False), typed
            pasted = server_engine.request("POST", f"/{index}/_search", listing_query(listing))
            assert sorted(hit["_source"]["id"] for hit in pasted["hits"]["hits"]) == expected, typed
            ours, theirs = here.facets(listing, 9), there.facets(listing, 9)
            assert (ours.metadata, ours.folders) == (theirs.metadata, theirs.folders), typed
            features = [("lex", "climbed"), ("start", "sea"), ("end", "first climbed"), ("lex", "nowhere")]
            assert here.count_features(listing, features) == there.count_features(listing, features), typed
            assert here.list_documents(listing).total == there.list_documents(listing).total, typed
            assert ours.weights == theirs.weights, typed
            for order in ("weight", "-weight", "source", "-words", "document"):
                ordered = [store.list_passages(replace(listing, order=order)) for store in (here, there)]
                if order.removeprefix("-") != "weight" or listing.weighed:
                    shown = [[p.id for p in one.passages] for one in ordered]
                    assert sorted(shown[0]) == sorted(shown[1]), (typed, order)
                    assert ordered[0].weights == ordered[1].weights, (typed, order)
        assert found_any > len(TYPED) * 2 / 3


def test_figures_of_features(server_engine: Engine, toy_encoder: Encoder) -> None:
    encoded = encode_all(DOCUMENTS, toy_encoder)
    with open_local(server_engine.folder / "here", "toy-1", writable=True) as here, server_engine.open() as there:
        here.add(encoded)
        there.add(encoded)
        ours, theirs = ({one.name: one for one in store.feature_figures()} for store in (here, there))
        assert theirs["climbed"].lex[0] == ours["climbed"].lex[0]
        assert theirs["climbed"].mean("lex") == ours["climbed"].mean("lex")
