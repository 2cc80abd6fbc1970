"""Discover as it comes from the server: the box, what rows have in common, weights, and files of just that."""

from __future__ import annotations

import csv
import io
import re
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pytest
from starlette.testclient import TestClient

from sparc_search.records import Document
from sparc_search.web.app import create_app

from .conftest import MakeIndex, client_of
from .test_pages import Page


def boxed(address: str) -> str:
    return parse_qs(urlsplit(address).query).get("q", [""])[0]


def test_a_box_of_many_kinds_of_terms(client: TestClient) -> None:
    page = Page(client, "/discover?q=" + quote("climbed start:climbed>0.1 lang:en -title:seas"))
    assert "<b>2</b> passages" in page.answer.text
    assert "371000" not in page.text
    pills = [href for href in page.hrefs("/discover?q=") if boxed(href) == "climbed lang:en -title:seas"]
    assert pills  # one of the pills leads away from its term


def test_the_sidebar_counts_what_is_found(client: TestClient) -> None:
    text = client.get("/discover?q=climbed", headers={"accept": "text/html"}).text
    side = text[text.index('id="side"') : text.index('id="found"')]
    counts = dict(re.findall(r'dir="auto">([^<]+)</a><span class="num">(\d+)</span>', side))
    assert counts["mountains"] == "2"
    assert "water" not in counts
    assert any("climbed start:" in boxed(href) for href in Page(client, "/discover?q=climbed").hrefs("/discover?q="))
    everything = Page(client, "/discover")
    assert any(boxed(href) == "kind:water" for href in everything.hrefs("/discover?q="))
    assert any(boxed(href) == "-kind:water" for href in everything.hrefs("/discover?q="))


def test_folders_are_counted(make_index: MakeIndex) -> None:
    from sparc_search.records import Document

    index = make_index([Document(str(n), "Snow.", "", f"notes/{'ab'[n % 2]}/{n}.md") for n in range(3)])
    client = client_of(create_app(index))
    assert client.get("/api/discover").json()["folders"] == [["notes/a", 2], ["notes/b", 1]]
    found = client.get("/api/discover?q=folder:notes/a").json()
    assert [passage["source"] for passage in found["passages"]] == ["notes/a/0.md", "notes/a/2.md"]


def test_what_cannot_be_read_is_told_beside_the_box_and_the_rest_is_listed(client: TestClient) -> None:
    answer = client.get("/discover?q=" + quote("climbed lnag:en"), headers={"accept": "text/html"})
    assert answer.status_code == 200  # it is asked for while someone types
    assert 'value="climbed lnag:en"' in answer.text
    assert "there is no field &#39;lnag&#39;" in answer.text
    assert "did you mean lang:?" in answer.text
    assert "<b>2</b> passages" in answer.text
    assert 'aria-invalid="true"' in answer.text
    problem = client.get("/api/discover?q=lnag:en").json()["error"]
    assert (problem["status"], problem["parameter"]) == (422, "q")


def test_weights_are_a_column_to_order_by_with_their_histogram(client: TestClient) -> None:
    page = Page(client, "/discover?q=lex:climbed&order=-weight")
    assert 'aria-sort="descending"' in page.answer.text
    assert page.answer.text.count("data-least=") == 24
    weights = [float(w) for w in re.findall(r'c-weight num" dir="auto">([\d.]+)<', page.answer.text)]
    assert weights == sorted(weights, reverse=True)
    assert len(weights) == 2
    turned = next(href for href in page.hrefs("/discover?") if "order=weight" in href)
    assert 'aria-sort="ascending"' in Page(client, turned).answer.text
    none_left = Page(client, "/discover?q=lex:climbed>99")
    assert "Nothing fits" in none_left.text
    assert none_left.answer.text.count("data-least=") == 24  # it shows what there is to choose from


def test_files_hold_just_what_is_shown(client: TestClient) -> None:
    address = "/discover?q=lex:climbed&order=-weight&column=metadata.kind&column=id"
    page = Page(client, address)
    as_csv, as_json = page.hrefs("/api/discover/download")
    rows = list(csv.DictReader(io.StringIO(client.get(as_csv).text)))
    shown = re.findall(r'<td data-name="id" class="c-id" dir="auto">([^<]+)</td>', page.answer.text)
    assert list(rows[0]) == ["metadata.kind", "id", "lex:climbed"]
    assert [row["id"] for row in rows] == shown
    loaded = client.get(as_json).json()
    assert [row["id"] for row in loaded] == shown
    assert loaded[0].keys() == {"metadata.kind", "id", "lex:climbed"}


@pytest.mark.parametrize(
    ("typed", "term"),
    [("cli", "start:climbed"), ("la", "lang:"), ("lang:e", "lang:en"), ("sea -kind:wa", "-kind:water"),
     ("lex:whym", "lex:whymper"), ("mountain", "kind:mountains")],
)  # fmt: skip
def test_completion(client: TestClient, typed: str, term: str) -> None:
    found = client.get("/api/v1/complete", params={"q": typed}).json()["completions"]
    assert term in [one["term"] for one in found]
    for one in found:
        assert one["typed"] == typed.rpartition(" ")[0] + " " * (" " in typed) + one["term"]


def test_n_grams_are_counted_in_all_that_fits_and_not_on_the_page_that_is_shown(make_index: MakeIndex) -> None:
    documents = [Document(f"d{n}", f"Red snow number {n}. Red.", metadata={"odd": str(n % 2)}) for n in range(9)]
    client = client_of(create_app(make_index(documents)))
    for listing, expected in (({}, 9), ({"q": "odd:1"}, 4), ({"q": "lex:number", "offset": "6"}, 9)):
        told = client.get("/api/v1/discover", params={"size": "2", **listing}).json()
        counts = {one["text"]: one["passages"] for one in told["ngrams"]["lex"]}
        assert (told["total"], counts["number"]) == (expected, expected)
        shown = client.get("/discover", params={"size": "2", **listing}, headers={"accept": "text/html"}).text
        assert re.search(rf'>number</a><span class="num">{expected}</span>', shown)


def test_an_empty_index_says_what_to_do(make_index: MakeIndex) -> None:
    client = client_of(create_app(make_index([])))
    for path in ("/", "/discover", "/features", "/features/the", "/index", "/?q=Who%3F", "/why", "/why?q=Who%3F"):
        page = Page(client, path)
        assert "sparc-search ingest" in page.text, path
        assert "one of 0 passages" not in page.text
        assert "Take" not in page.text
        assert "There are 0 answers" not in page.text
        assert "More than tf-idf says" not in page.text


def tried(client: TestClient, **form: str) -> str:
    answer = client.post("/try", data=form, headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    return answer.text


def test_any_text_can_be_tried_and_is_not_kept(client: TestClient) -> None:
    page = tried(client, text="The Eiger was first climbed in 1858.", token="1")
    assert '<h2 class="chosen" dir="auto">Eiger</h2>' in page
    assert "Nothing" not in page[page.index("chosen") :]
    view = client.post("/api/v1/try", json={"text": "The Eiger was first climbed in 1858.", "token": 1}).json()
    assert view["selection"]["text"] == "Eiger"
    assert view["ngrams"]
    assert client.get("/api/v1/try", params={"text": "Eiger"}).status_code == 405  # an address is kept in logs
    assert client.get("/api/discover").json()["total"] == 3
    too_long = tried(client, text="a" * 1001)
    assert "at most 1,000 are taken" in too_long
    assert 'aria-invalid="true"' in too_long
    assert client.post("/try", content=b"text=" + b"a" * 40_000).status_code == 413
    for wrong in ({"text": "a" * 1001}, {"text": " "}, {}, {"text": "a", "token": "1"}, {"txt": "a"}):
        assert client.post("/api/v1/try", json=wrong).status_code == 422


def test_a_text_that_is_tried_stands_in_no_address(client: TestClient) -> None:
    page = tried(client, text="The Eiger was first climbed in 1858.", phrase="Eiger", rows="all")
    main = page[page.index("<main") :]
    addresses = re.findall(r'(?:href|action|data-copy-curl)="([^"]*)"', page)
    assert not [address for address in addresses if "1858" in address and "text=" in address]
    assert 'action="/try" method="post"' in main
    assert 'action="/try" method="get"' not in main
    assert 'rel="alternate"' not in page
    asked = client.get("/try?text=Eiger&token=1", headers={"accept": "text/html"})  # an address says nothing here
    assert "Eiger</textarea>" not in asked.text
    assert "chosen" not in asked.text


def test_what_is_invisible_in_a_text_comes_back_as_it_was(client: TestClient) -> None:
    """The page shows it as something else, so what its forms send back is quoted."""
    text = "Das \u200bMatter\u00adhorn,\n100 % \u05d0"
    page = tried(client, text=text.replace("\n", "\r\n"))
    for form in re.findall(r'name="same" value="([^"]*)"', page):
        assert unquote(form) == text
    again = tried(client, same=quote(text), token="1")
    assert unquote(re.findall(r'name="same" value="([^"]*)"', again)[0]) == text


def test_another_site_can_try_nothing(client: TestClient) -> None:
    sent = client.post("/try", data={"text": "Eiger"}, headers={"sec-fetch-site": "cross-site"})
    assert sent.status_code == 403
