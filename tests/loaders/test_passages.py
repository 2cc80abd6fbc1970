from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters import Letters

from sparc_search.encoder import Encoder
from sparc_search.loaders.builder import ARROW
from sparc_search.loaders.passages import cut, cut_and_count, passage_id
from sparc_search.records import BLOCK_KINDS, Document, Passage, Section

WORDS = st.text("aB1. \n\t\r!?\"')\u2029é", max_size=60)
TEXTS = st.lists(st.one_of(WORDS, st.just("\n\n"), st.just("x" * 70), st.text(max_size=20))).map("".join)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(TEXTS)
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    sections = []
    for place, following in pairwise([*places, len(text)]):
        skip = draw(st.integers(0, following - place))
        kind = draw(st.sampled_from([kind for kind in BLOCK_KINDS if kind != "furniture"]))
        sections.append(Section(place, draw(st.sampled_from(["", "Head"])), None, 0 if kind else skip, kind))
    return Document("d", text, draw(st.sampled_from(["", "Title"])), "s", {}, tuple(sections))


@given(documents(), st.integers(1, 40))
def test_every_character_is_in_one_passage_and_no_passage_is_too_long(document: Document, window: int) -> None:
    encoder = Letters(window)
    found = cut_and_count(document, encoder)
    places: list[int] = []
    for number, (passage, tokens) in enumerate(found):
        end = passage.start + len(passage.text)
        assert passage.text == document.text[passage.start : end]
        assert passage.text == passage.text.strip()
        assert passage.number == number
        assert len(encoder.token_offsets(passage.encoded_text or passage.text)) == tokens <= window
        places += [place for place in range(passage.start, end) if not document.text[place].isspace()]
    headings = {place for s in document.sections for place in range(s.start, s.start + s.skip)}
    wanted = [n for n, character in enumerate(document.text) if not character.isspace() and n not in headings]
    assert without_bars(places, document) == without_bars(wanted, document)


def without_bars(places: list[int], document: Document) -> list[int]:
    """A bar between two cells may be in no passage."""
    return [place for place in places if document.text[place] != "|"]


@given(documents(), st.integers(1, 40))
def test_the_alignment_leads_from_what_the_model_reads_to_what_is_shown(document: Document, window: int) -> None:
    for passage in cut(document, Letters(window)):
        if passage.encoded_text is None:
            assert passage.alignment == ()
            continue
        at = shown = 0
        for piece in passage.alignment:
            assert piece.encoded_start == at < (at := piece.encoded_end)
            assert piece.shown_start >= shown
            shown = piece.shown_end
            if piece.shown_start < shown:
                read = passage.encoded_text[piece.encoded_start : piece.encoded_end]
                assert read == passage.text[piece.shown_start : shown]
        assert at == len(passage.encoded_text)
        covered = {place for piece in passage.alignment for place in range(piece.shown_start, piece.shown_end)}
        left_out = {character for place, character in enumerate(passage.text) if place not in covered}
        assert all(character.isspace() or character == "|" for character in left_out)


@given(documents(), st.integers(1, 40))
def test_joints_are_where_blocks_begin(document: Document, window: int) -> None:
    marked = {section.start for section in document.sections if section.kind}
    for passage in cut(document, Letters(window)):
        for joint in passage.joints:
            before, after = passage.text[:joint], passage.text[joint:]
            assert after == after.lstrip()
            assert before != before.rstrip() or passage.start + joint in marked
        assert list(passage.joints) == sorted(set(passage.joints))


@given(documents(), st.integers(1, 40))
def test_cutting_twice_gives_the_same(document: Document, window: int) -> None:
    assert cut(document, Letters(window)) == cut(document, Letters(window))
    adding = cut_and_count(document, Letters(window, additive=True))
    assert adding == cut_and_count(document, Letters(window))  # counts that are added up are those of the whole


def of(text: str, window: int = 64, **more: object) -> list[Passage]:
    return cut(Document("d", text, **more), Letters(window))  # type: ignore[arg-type]


def test_paragraphs_are_passages_with_their_offsets() -> None:
    first, second = of("  One two three four five six seven eight.\n\nNine ten eleven twelve thirteen fourteen.\n")
    assert (first.start, second.start) == (2, 44)
    assert second.text == "Nine ten eleven twelve thirteen fourteen."
    assert first.id == passage_id("d", 0) != second.id == passage_id("d", 1)
    assert len(first.id) == 32


def test_a_long_paragraph_is_cut_at_sentence_ends_into_about_equal_parts() -> None:
    sentences = [f"Sentence number {word} is here." for word in ("one", "two", "tri", "for")]
    parts = of(" ".join(sentences), window=20)
    assert [part.text for part in parts] == [" ".join(sentences[:2]), " ".join(sentences[2:])]
    assert not any(part.joints for part in parts)


def test_without_sentences_it_is_cut_at_lines_then_words_then_pieces() -> None:
    assert [p.text for p in of("aaa bbb ccc\nddd eee fff", window=4)] == ["aaa bbb ccc", "ddd eee fff"]
    assert [p.text for p in of("aaa bbb ccc ddd eee fff", window=4)] == ["aaa bbb ccc", "ddd eee fff"]
    assert "".join(p.text for p in of("abcdefghijklmnopqrstuvwxyz", window=4)) == "abcdefghijklmnopqrstuvwxyz"


def test_short_paragraphs_are_joined_under_the_same_heading_only() -> None:
    text = "Short.\n\nAlso.\n\nThis paragraph has enough words to stand alone, it really has.\n\nHead\n\nLast."
    head = text.index("Head")
    joined, last = of(text, sections=(Section(head, "Head", skip=4),))
    assert joined.text == text[: head - 2]
    assert [joined.text[joint:].split()[0] for joint in joined.joints] == ["Also.", "This"]
    assert (last.text, last.joints) == ("Last.", ())


def test_a_short_last_paragraph_is_joined_to_the_one_before() -> None:
    (only,) = of("This paragraph has enough words to stand alone, it really has.\n\nEnd.")
    assert only.text.endswith("End.")
    assert only.joints == (only.text.index("End."),)


def test_nothing_is_joined_beyond_the_window() -> None:
    long = "word " * 64
    assert [len(p.joints) for p in of(f"Hi.\n\n{long}")] == [0, 0]


def test_title_path_page_metadata_and_source_come_along() -> None:
    text = "Intro text.\n\nHead\n\nBody text."
    sections = (Section(0, "", 1), Section(13, f"A{ARROW}Head", 2, 4))
    first, second = of(text, title="Book", source="s", metadata={"k": "v"}, sections=sections)
    assert (first.title, first.page) == ("Book", 1)
    assert (second.title, second.page, second.text) == (f"Book{ARROW}A{ARROW}Head", 2, "Body text.")
    assert (second.source, second.metadata) == ("s", {"k": "v"})


@pytest.mark.parametrize("text", ["", " \n\n ", "\n" * 1000])
def test_no_text_no_passages(text: str) -> None:
    assert of(text) == []


def test_long_runs_of_anything_are_cut_in_time() -> None:
    for text in ("." * 100_000, " \n" * 100_000 + "x", "a" * 100_000, "a. " * 50_000, "\n \n" * 50_000):
        assert all(passage.text for passage in of(text, window=128))


def test_the_toy_encoder_cuts_too(toy_encoder: Encoder) -> None:
    text = "The Eiger was climbed in 1858. " * 40
    found = cut(Document("d", text), toy_encoder)
    assert len(found) == 5
    assert all(passage.text.endswith("1858.") for passage in found)
