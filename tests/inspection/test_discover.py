from __future__ import annotations

from dataclasses import replace

import pytest

from sparc_search.errors import UsageError
from sparc_search.index import Index
from sparc_search.inspection import discover_documents, discover_passages, listing_query, suggest
from sparc_search.stored import Listing


def ids(index: Index, listing: Listing) -> list[str]:
    return [passage.id for passage in discover_passages(index, listing).passages]


def test_everything_page_by_page(index: Index) -> None:
    first = discover_passages(index, Listing(size=2))
    assert [passage.id for passage in first.passages] == ["alps/0", "alps/1"]
    assert (first.total, first.more) == (3, True)
    second = discover_passages(index, Listing(size=2, offset=2))
    assert [passage.id for passage in second.passages] == ["seas/0"]
    assert (second.total, second.more) == (3, False)
    assert first.metadata["kind"] == (("mountains", 2), ("water", 1))


@pytest.mark.parametrize(
    ("listing", "found"),
    [
        (Listing(text="eiger"), ["alps/0"]),
        (Listing(text="clim FIRST"), ["alps/0", "alps/1"]),
        (Listing(text="alps"), ["alps/0", "alps/1"]),  # the title
        (Listing(text="water"), ["seas/0"]),  # metadata
        (Listing(text="100% sure"), []),
        (Listing(text="_"), []),
        (Listing(where=(("kind", "water"),)), ["seas/0"]),
        (Listing(without=(("kind", "water"),)), ["alps/0", "alps/1"]),
        (Listing(where=(("lang", "en"),), without=(("kind", "mountains"),)), ["seas/0"]),
        (Listing(features=(("start", "climbed"),)), ["alps/0", "alps/1"]),
        (Listing(features=(("start", "climbed"), ("lex", "eiger"))), ["alps/0"]),
        (Listing(without_features=(("start", "climbed"),)), ["seas/0"]),
        (Listing(features=(("start", "climbed"),), without_features=(("lex", "eiger"),)), ["alps/1"]),
        (Listing(features=(("start", "climbed"),), text="Matterhorn"), ["alps/1"]),
        (Listing(features=(("start", "nosuch"),)), []),
        (Listing(document_id="alps"), ["alps/0", "alps/1"]),
        (Listing(document_id="alps", text="Eiger"), ["alps/0"]),
    ],
)
def test_filters_for_and_out(index: Index, listing: Listing, found: list[str]) -> None:
    page = discover_passages(index, listing)
    assert [passage.id for passage in page.passages] == found
    assert page.total in (None, len(found))
    documents = [document.id for document in discover_documents(index, listing).documents]
    assert documents == list(dict.fromkeys(id.partition("/")[0] for id in found))
    for size in (1, 2):  # the pages of a listing are the listing
        pages = [discover_passages(index, replace(listing, offset=at, size=size)) for at in range(0, 4, size)]
        assert [passage.id for page in pages for passage in page.passages] == found
        assert [page.more for page in pages] == [len(found) > page.listing.offset + size for page in pages]


def test_documents_with_their_counts(index: Index) -> None:
    page = discover_documents(index, Listing())
    assert [(document.id, document.passages, document.title) for document in page.documents] == [
        ("alps", 2, "Alps"),
        ("seas", 1, "Seas"),
    ]
    assert page.total == 2


def test_a_page_has_a_sensible_size(index: Index) -> None:
    page = discover_passages(index, Listing(offset=-5, size=10**9))
    assert (page.listing.offset, page.listing.size) == (0, 500)
    assert len(page.passages) == 3


@pytest.mark.parametrize("text", ["\ud800", "a" * 100_000, "word " * 5_000, "\x00", "%" * 60_000, "' OR 1=1"])
def test_strange_words_find_nothing(index: Index, text: str) -> None:
    for listing in (Listing(text), Listing(where=((text, text),)), Listing(document_id=text)):
        assert ids(index, listing) == []
        assert discover_documents(index, listing).documents == ()
    assert ids(index, Listing(features=(("start", text),))) == []
    assert suggest(index, text).documents == ()


def test_a_page_beyond_the_last(index: Index) -> None:
    assert ids(index, Listing(offset=10**30)) == []


def test_what_to_offer_while_someone_types(index: Index) -> None:
    assert [found.text for found in suggest(index, "cl").features] == ["climbed"]
    assert [found.text for found in suggest(index, "First cl").features] == ["first climbed"]
    assert {found.text for found in suggest(index, "caspian ").features} >= {"caspian sea"}
    assert [found.text for found in suggest(index, "wat").metadata] == ["kind=water"]
    assert [found.id for found in suggest(index, "Alp").documents] == ["alps"]
    assert suggest(index, "  ").features == ()


def test_an_engine_that_cannot_be_listed_says_so(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    with index.engine.view() as view:
        monkeypatch.delattr(type(view), "list_passages")
    with pytest.raises(UsageError, match="cannot list"):
        discover_passages(index, Listing())


def test_a_listing_as_a_query_for_a_server() -> None:
    query = listing_query(
        Listing("eig", (("lang", "en"),), (("kind", "water"),), (("start", "climbed"),), (), "alps", 50, 25)
    )
    assert query["from"] == 50
    assert query["size"] == 25
    bools = query["query"]["bool"]
    assert {"term": {"tags": {"value": "lang=en"}}} in bools["filter"]
    assert {"term": {"document": {"value": "alps"}}} in bools["filter"]
    assert {"rank_feature": {"field": "start.climbed", "linear": {}, "boost": 1.0}} in bools["filter"]
    assert bools["must_not"] == [{"term": {"tags": {"value": "kind=water"}}}]
    assert listing_query(Listing())["query"] == {"match_all": {}}
