"""The pages as they come from the server: readable without a script, their state in the address, a JSON twin each."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from starlette.testclient import TestClient

from sparc_search.index import Index
from sparc_search.inspection import index_view
from sparc_search.web import index_page
from sparc_search.web.excerpt import NEAR, around
from sparc_search.web.rendering import render, tail

WHO = "Who climbed the Matterhorn?"
ASK = "/?q=Who+climbed+the+Matterhorn%3F"


class Page(HTMLParser):
    """Text, links and form controls of a page."""

    def __init__(self, client: TestClient, address: str) -> None:
        super().__init__()
        self.answer = client.get(address, headers={"accept": "text/html"})
        assert self.answer.status_code == 200, self.answer.text[:300]
        self.links: list[dict[str, str]] = []
        self.controls: list[dict[str, str]] = []
        self.ids: list[str] = []
        self.labels: list[str] = []
        self.feed(self.answer.text)
        self.text = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", self.answer.text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids += [found["id"]] if "id" in found else []
        if tag in ("a", "link"):
            self.links.append(found)
        if tag in ("input", "select"):
            self.controls.append(found)
        if tag == "label":
            self.labels.append(found.get("for", ""))

    def hrefs(self, start: str) -> list[str]:
        return [link["href"] for link in self.links if link.get("href", "").startswith(start)]


def test_the_front_page_asks(client: TestClient) -> None:
    page = Page(client, "/")
    assert "one of 3 passages" in page.text
    assert any(control.get("name") == "q" for control in page.controls)


def test_answers_with_their_explanation_are_there_without_a_script(client: TestClient, index: Index) -> None:
    page = Page(client, ASK)
    best, second = index.ask(WHO, k=2, explain=True).answers
    assert f"<mark>{best.text}</mark>" in page.answer.text
    assert f"{best.score:.2f}" in page.text
    assert f"Why this one and not {second.text}" in page.text.replace("  ", " ")
    for part in best.parts:
        if part.name and part.value >= 0.01:
            assert f"{part.question_weight:.2f} × {part.passage_weight:.2f}" in page.text
    widths = [float(w) for w in re.findall(r'<rect class="k-[a-z-]+" x="[\d.]+%" width="([\d.]+)%"', page.answer.text)]
    assert widths
    assert max(widths) <= 100
    assert "/features/matterhorn" in page.hrefs("/features/")
    assert page.hrefs("/passages/")[0].startswith("/passages/" + best.passage.id.replace("/", "%2F") + "?span=")


def test_strategy_filters_and_rank_are_read_from_the_address(client: TestClient) -> None:
    page = Page(client, ASK + "&strategy=sparse&where=kind%3Dmountains&k=3&rank=2&against=3")
    assert 'value="sparse" checked' in page.answer.text
    assert "kind" in page.text
    assert "found by sparse search" in page.text
    assert "found by sparse and dense" not in page.text
    assert re.findall(r'data-rank="(\d)" open', page.answer.text) == ["2"]
    assert page.answer.text.count('class="explanation"') == 1  # the others are drawn when they are opened
    assert re.search(r'aria-current="true" title="([^"]+)">3<span class="sr">, \1<', page.answer.text)


def test_the_unit_is_read_from_the_address(client: TestClient) -> None:
    page = Page(client, ASK + "&unit=document")
    assert '<option value="document" selected>' in page.answer.text
    assert '<h2 class="answer-text unit" dir="auto">Alps</h2>' in page.answer.text


def test_nothing_found_is_said(client: TestClient) -> None:
    assert "No answer found" in Page(client, ASK + "&where=kind%3Dnothing").text


def test_each_word_of_a_passage_is_a_link_to_its_weights(client: TestClient) -> None:
    page = Page(client, "/passages/alps/1")
    tokens = [link for link in page.links if "tok" in link.get("class", "").split()]
    words = [urlsplit(link["href"]) for link in tokens]
    assert [parse_qs(word.query)["token"] for word in words] == [[str(at)] for at in range(len(words))]
    assert "All phrases" in page.text
    chosen = Page(client, tokens[1]["href"])
    assert "start at word piece 1: stored in the index" in chosen.text
    assert "indexed" in chosen.text
    shades = [re.findall(r'class="tok (s\d e\d)', shown.answer.text) for shown in (page, chosen)]
    assert shades[0] != shades[1]


def test_a_word_that_was_filtered_out_is_encoded_on_the_spot_and_marked(client: TestClient) -> None:
    at = client.get("/api/passages/alps/1").json()["tokens"]
    stop = next(token["number"] for token in at if token["punctuation"])
    page = Page(client, f"/passages/alps/1?token={stop}")
    assert "not indexed" in page.text
    assert "filtered out; encoded just now" in page.text


def test_side_size_threshold_and_phrase(client: TestClient) -> None:
    page = Page(client, "/passages/alps/1?phrase=Edward+Whymper&side=start&n=1&min=0.5")
    assert "Edward Whymper" in page.text
    assert 'value="start" data-submit checked' in page.answer.text
    assert not re.search(r'class="tok s\d e[1-9]', page.answer.text)
    assert float(re.search(r'name="min"[^>]*value="([\d.]+)"', page.answer.text)[1]) == 0.5  # type: ignore[index]
    json_tab = Page(client, "/passages/alps/1?phrase=Edward+Whymper&tab=json")
    assert "&#34;boundaries&#34;" in json_tab.answer.text


def test_a_feature_page_leads_to_passages_and_filters(client: TestClient) -> None:
    page = Page(client, "/features/climbed")
    assert "2 passages" in page.text
    assert any(href.startswith("/passages/alps") for href in page.hrefs("/passages/"))
    only, without = page.hrefs("/discover?q=start%3Aclimbed")[0], page.hrefs("/discover?q=-start%3Aclimbed")[0]
    assert "371000" not in Page(client, only).text
    assert "371000" in Page(client, without).text
    assert "No passage of the index has it" in Page(client, "/features/zeppelin").text


def test_a_feature_page_marks_the_ngram_and_the_phrase_that_it_pays_for(client: TestClient) -> None:
    page = Page(client, "/features/climbed")
    assert '<mark class="ngram-mark">climbed</mark>' in page.answer.text
    assert re.search('<mark class="[a-z -]*phrase-mark">', page.answer.text)
    assert "pays for" in page.text


def test_a_phrase_of_more_pieces_than_an_ngram_has_says_so_and_offers_its_ngrams(client: TestClient) -> None:
    page = Page(client, "/features/was first climbed")
    assert "No passage of the index has it" not in page.text
    assert "The model weighs n-grams of at most 2" in page.text
    assert {"/features/was%20first", "/features/first%20climbed"} <= set(page.hrefs("/features/"))


def test_features_are_ranked_by_what_was_learned(client: TestClient) -> None:
    page = Page(client, "/features")
    for heading in ("Heaviest", "More than tf-idf says", "Less than tf-idf says", "The most frequent ones"):
        assert heading in page.text
    ranked = client.get("/api/index").json()["ranked"]
    scores = [row["score"] for row in ranked["heaviest"]]
    assert scores
    assert scores == sorted(scores, reverse=True)


def test_looking_up_a_feature_without_a_script(client: TestClient) -> None:
    sent = client.get("/features?name=gold dome", follow_redirects=False)
    assert (sent.status_code, sent.headers["location"]) == (303, "/features/gold%20dome")
    assert "climbed" in Page(client, "/features").text


@pytest.mark.parametrize(
    "path",
    ["/?q=Who%3F", "/why?q=Who%3F", "/passages/alps/1", "/features/eiger", "/index", "/discover?q=eiger", "/features"],
)
def test_words_of_this_program_are_explained_where_they_stand(client: TestClient, path: str) -> None:
    page = Page(client, path).text
    assert "What the words mean" in page
    assert "a piece that goes on with the word before it" in page
    assert ("do this start and this end belong together?" in page) == ("?q=Who" in path)
    assert ("saturated (BM25)" in page) == (path in ("/discover?q=eiger", "/features", "/index"))
    assert ("how rare an n-gram is" in page) == ("features" in path)


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        ("start:climbed", "/features/climbed#start"),
        ("lex:climbed>0.8", "/features/climbed#lex"),
        ('end:"gold dome"', "/features/gold%20dome#end"),
        ("start : climbed", "/features/start%20%3A%20climbed"),
        ("title:climbed", "/features/title%3Aclimbed"),
        ("start:", "/features/start%3A"),
    ],
)
def test_a_feature_of_a_field_is_found_as_discover_writes_it(client: TestClient, typed: str, path: str) -> None:
    sent = client.get("/features", params={"name": typed}, follow_redirects=False)
    assert (sent.status_code, sent.headers["location"]) == (303, path)
    there = client.get("/features/" + quote(typed, safe=""), follow_redirects=False)
    assert there.headers.get("location", path) == path
    assert (there.status_code == 303) == ("#" in path)


def test_a_field_of_a_feature_has_an_address(client: TestClient) -> None:
    page = Page(client, "/features/start:climbed")
    assert page.answer.url.path == "/features/climbed"
    assert {"start", "end", "lex"} <= set(page.ids)


def test_hashes_of_a_model_can_be_read_in_full(index: Index) -> None:
    whole = "0123456789abcdef" * 4
    view = replace(index_view(index), card={"weights": {"sha256": whole}})
    text = render("index.html", **index_page.drawn_view(view))
    assert f"<code>{whole}</code> <button" in text
    assert 'title="0123' not in text


def test_the_index_page(client: TestClient) -> None:
    page = Page(client, "/index")
    for text in ("3 passages", "2 documents", "Most frequent features", "Ingests", "Rejects", "kept as ends"):
        assert text in page.text
    assert page.answer.text.count("<figure") >= 8


def test_discover_filters_columns_rows_and_pages(client: TestClient) -> None:
    page = Page(client, "/discover?text=climbed")
    assert "Whymper" in page.text
    assert "371000" not in page.text
    assert "<mark>climbed</mark>" in page.answer.text
    shown = [href for href in page.hrefs("/discover?") if "column=metadata.kind" in href]
    wider = Page(client, shown[0])
    assert ">kind</th>" in wider.answer.text
    opened = Page(client, next(href for href in page.hrefs("/discover?") if "open=alps" in href))
    assert 'class="detail"' in opened.answer.text
    filtered = [href for href in opened.hrefs("/discover?") if "climbed+kind" in href or "climbed+-kind" in href][-2:]
    assert "Whymper" in Page(client, filtered[0]).text
    assert "Nothing fits" in Page(client, filtered[1]).text
    documents = Page(client, "/discover?of=documents")
    assert "Alps" in documents.text
    first = Page(client, "/discover?size=1")
    following = next(link["href"] for link in first.links if link.get("rel") == "next")
    assert "Whymper" in Page(client, following).text
    assert "rank_feature" in Page(client, "/discover?feature=start:whymper").text  # links of 0.1 say the same
    files = page.hrefs("/api/discover/download")
    assert [urlsplit(href).path.rpartition(".")[2] for href in files] == ["csv", "json"]
    assert "Whymper" in client.get(files[0]).text


ADDRESSES = (
    "/", ASK, ASK + "&strategy=dense&k=2&rank=2", "/passages/alps/1?token=1&side=end", "/features/climbed", "/features",
    "/index", "/discover?text=sea&of=documents&without=kind%3Dx&column=id",
)  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_page_has_a_twin_in_json(client: TestClient, address: str) -> None:
    page = Page(client, address)
    (twin,) = [link["href"] for link in page.links if link.get("rel") == "alternate"]
    answer = client.get(twin)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()


@pytest.mark.parametrize("address", ADDRESSES)
def test_pages_are_whole_labelled_and_fetch_nothing_from_elsewhere(client: TestClient, address: str) -> None:
    page = Page(client, address)
    assert len(page.ids) == len(set(page.ids))
    assert 'lang="en"' in page.answer.text
    assert re.search("<title>[^<]+</title>", page.answer.text)
    for control in page.controls:
        if control.get("type") != "hidden" and "id" in control:
            assert control["id"] in page.labels
    assert not re.search(r'(?:src|href|action)="(?:https?:)?//', page.answer.text)
    assert " style=" not in page.answer.text


def test_static_files_are_kept_only_under_a_versioned_address(client: TestClient) -> None:
    page = client.get("/").text
    versioned = re.search(r"/static/\w+/base\.css", page)
    assert versioned
    assert "immutable" in client.get(versioned[0]).headers["cache-control"]
    assert client.get("/static/swap.js").headers["cache-control"] == "no-cache"
    main = re.search(r"/static/\w+/main\.js", page)
    assert main
    imported = re.findall(r'"\./([a-z]+\.js)"', client.get(main[0]).text)
    assert "swap.js" in imported
    for name in imported:  # what a module imports is beside it, so it has the same version
        assert "immutable" in client.get(main[0].replace("main.js", name)).headers["cache-control"]


def test_what_is_left_out_around_a_mark_is_whole_words() -> None:
    text = "one two three " * 20 + "here " + "four five six " * 20
    at = text.index("here")
    (before, _), (word, kind), (rest, _), (after, _) = around(text, [(at, at + 4, "ngram")])
    assert (word, kind, after) == ("here", "ngram", " …")
    assert set(before.split()) == {"…", "one", "two", "three"}
    assert set(rest.split()) == {"four", "five", "six"}
    uncut = around("abc" * 100 + "here", [(300, 304, "ngram")])
    assert uncut[0] == (" … " + ("abc" * 100)[-NEAR:], "")  # where there is no space to cut at


def test_of_a_long_path_the_end_is_shown() -> None:
    assert tail("/home/somebody/notes", 8) == "…y/notes"
    assert tail("notes", 5) == "notes"
