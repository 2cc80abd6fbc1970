from __future__ import annotations

import bz2
from collections.abc import Callable
from pathlib import Path

import pytest

from sparc_search.errors import RejectedDocument
from sparc_search.loaders.builder import ARROW
from sparc_search.loaders.resuming import Item
from sparc_search.loaders.walk import Passed
from sparc_search.records import Document

pytestmark = pytest.mark.extras  # mwparserfromhell

Items, One, Reject = Callable[..., list[Item]], Callable[..., Document], Callable[..., str]
ReadFiles = Callable[..., list[Document | Passed]]

WIKITEXT = """{{Infobox mountain|name=Eiger|elevation_m=3967}}
[[File:Eiger.jpg|thumb|The [[north face]] in winter]]
The '''Eiger''' is a [[mountain]] of the [[Bernese Alps|Alps]].&lt;ref&gt;A note.&lt;/ref&gt;
It is {{convert|3967|m|ft}} high{{efn|hidden}} and {{lang|de|{{nowrap|sehr steil}}}}.

Second paragraph.

== Climbing ==
First climbed in 1858 by [[Charles Barrington]].

=== North face ===
Climbed in 1938.
{| class="wikitable"
| hidden || table
|}
== References ==
{{reflist}} hidden
[[Category:Mountains]]
"""


def page(title: str, text: str, number: int = 1, ns: int = 0, more: str = "") -> str:
    return (
        f"<page><title>{title}</title><ns>{ns}</ns><id>{number}</id>{more}"
        f"<revision><id>9</id><text>{text}</text></revision></page>"
    )


def dump(*pages: str, prolog: str = "") -> bytes:
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/"><siteinfo><dbname>enwiki</dbname></siteinfo>'
    return f"{prolog}{head}{''.join(pages)}</mediawiki>".encode()


def test_an_article_becomes_text_with_sections(one: One) -> None:
    document = one("wikipedia", dump(page("Eiger", WIKITEXT, 42)), "dump.xml")
    assert (document.id, document.title, document.source) == ("enwiki:42", "Eiger", "dump.xml")
    assert document.text.startswith("The Eiger is a mountain of the Alps.\nIt is 3967 m high and sehr steil.\n\nSecond")
    assert "Second paragraph.\n\nClimbing\n\nFirst climbed in 1858 by Charles Barrington." in document.text
    for hidden in ("thumb", "north face", "A note", "hidden", "Infobox", "Category", "References", "[[", "'''"):
        assert hidden not in document.text
    assert [section.heading for section in document.sections] == ["Climbing", f"Climbing{ARROW}North face"]


def test_redirects_and_talk_pages_are_no_articles(one: One) -> None:
    redirect = page("Ogre", "#REDIRECT [[Eiger]]", 2, more='<redirect title="Eiger"/>')
    assert one("wikipedia", dump(redirect, page("Talk:Eiger", "chat", 3, ns=1), page("Eiger", "High."))).text == "High."


def test_many_pages_in_a_bz2_file_through_the_sandbox(read_files: ReadFiles, tmp_path: Path) -> None:
    pages = [page(f"Page {number}", f"Text {number}.", number) for number in range(300)]
    (tmp_path / "dump.xml.bz2").write_bytes(bz2.compress(dump(*pages)))
    found = read_files(tmp_path / "dump.xml.bz2")
    assert [item.id for item in found if isinstance(item, Document)] == [f"enwiki:{number}" for number in range(300)]


def test_a_truncated_dump_gives_what_it_has_and_one_reject(items: Items, read_files: ReadFiles, tmp_path: Path) -> None:
    data = dump(page("A", "One."), page("B", "Two.", 2))
    first, bad = items("wikipedia", data[:-80])
    assert isinstance(first, Document)
    assert isinstance(bad, RejectedDocument)
    assert "the rest is not read" in bad.message
    (tmp_path / "cut.xml.bz2").write_bytes(bz2.compress(data)[:-10])
    (cut,) = read_files(tmp_path / "cut.xml.bz2")
    assert isinstance(cut, Passed)
    assert "damaged compressed data" in cut.reason


def test_entities_are_refused_before_they_are_read(reject: Reject) -> None:
    prolog = '<?xml version="1.0"?><!DOCTYPE m [<!ENTITY a "AAAA"><!ENTITY b "&a;&a;">]>'
    assert "document type" in reject("wikipedia", dump(page("A", "&b;"), prolog=prolog))
    assert "document type" in reject("wikipedia", dump(page("A", "x"), prolog="<!-- x --><!DOCTYPE m>"))


def test_other_xml_is_rejected(reject: Reject) -> None:
    assert "not a MediaWiki dump" in reject("wikipedia", b"<rss/>")
    assert reject("wikipedia", b"")


def test_a_page_without_end_is_bounded(reject: Reject) -> None:
    data = dump(page("A", "x" * (42 << 20)))
    assert "a page of more than 40 MiB" in reject("wikipedia", data)


def test_a_page_of_nothing_but_open_braces_is_survived(items: Items) -> None:
    (found,) = items("wikipedia", dump(page("A", "{{" * 20_000 + "[[" * 20_000)))
    assert found
