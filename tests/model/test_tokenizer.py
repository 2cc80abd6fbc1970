"""Word pieces keep their characters: what an answer shows is what stands in the text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_pieces import tiny_pieces, tiny_tokenizer
from tokenizers import Tokenizer
from tokenizers.models import WordPiece

from sparc_search.errors import ModelDamaged
from sparc_search.model.files import default_folder
from sparc_search.model.plain_words import PlainWords
from sparc_search.model.tokenizer import WordPieces, flags_of
from sparc_search.records import CONTINUES, PUNCTUATION

PIECES = tiny_pieces()


def shown(text: str) -> list[str]:
    """The characters of each piece."""
    return [text[start:end] for start, end in PIECES([text])[0].offsets.tolist()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The golden Dome!", ["The", "golden", "Dome", "!"]),
        ("a\tcity\r\nof\u00a0kings", ["a", "city", "of", "king", "s"]),
        ("Cafe\u0301 naïve", ["Cafe\u0301", "naïve"]),
        ("cafe\u0301\u0302\u0301.", ["cafe\u0301\u0302\u0301", "."]),
        ("n\u0303a\u0303o", ["n\u0303", "a\u0303", "o"]),
        ("北京 city大学", ["北", "京", "city", "大", "学"]),
        ("dome 😀😀 lake", ["dome", "😀😀", "lake"]),
        ("👩\u200d👩\u200d👧 dome", ["👩\u200d👩\u200d👧", "dome"]),
        ("x" * 200 + " dome", ["x" * 200, "dome"]),
        ("climbing", ["climb", "ing"]),
        ("\u200bdome\ufeff", ["dome"]),
        ("lake\x0cdome\x85city", ["lake", "dome", "city"]),
        ("the [SEP] dome", ["the", "[SEP]", "dome"]),
        ("\ud800 dome\udfff city", ["dome", "city"]),
        ("", []),
        (" \n\t", []),
        ("\u0301", []),
    ],
)
def test_offsets_map_back_to_exact_characters(text: str, expected: list[str]) -> None:
    assert shown(text) == expected


ALPHABET = "ab1. \t\n'éñ\u0301\u0308ßİ北京한국😀👩\u200d\u200b\xad\u00a0ﬁ①हि\u094d\ud800"


@given(st.text(ALPHABET, max_size=40) | st.text(max_size=40))
def test_offsets_are_in_order_inside_the_text_and_lose_no_word(text: str) -> None:
    pieces = PIECES([text])[0]
    last = (0, 0)
    for start, end in pieces.offsets.tolist():
        assert 0 <= start < end <= len(text)
        assert start >= last[0]
        assert end >= last[1]
        assert start >= last[1] or (start, end) == last or text[start:end] in text[last[0] : last[1]]
        last = (start, end)
    covered = {at for start, end in pieces.offsets.tolist() for at in range(start, end)}
    assert all(at in covered for at, character in enumerate(text) if character.isascii() and character.isalnum())
    assert not any(text[at].isspace() for at in covered)


@given(st.lists(st.text(ALPHABET, max_size=20), max_size=5))
def test_a_text_is_cut_the_same_alone_and_among_others(texts: list[str]) -> None:
    for text, together in zip(texts, PIECES(texts), strict=True):
        alone = PIECES([text])[0]
        assert alone.ids.tolist() == together.ids.tolist()
        assert alone.offsets.tolist() == together.offsets.tolist()
        assert alone.flags.tolist() == together.flags.tolist()


@given(st.lists(st.text(), max_size=4), st.sampled_from([" ", "\n", "\n\n", "\t \n"]))
def test_counts_of_texts_with_white_space_between_them_add_up(texts: list[str], gap: str) -> None:
    texts = [text.strip() for text in texts]
    assert PIECES.count(gap.join(texts)) == sum(map(PIECES.count, texts))
    for text in texts:
        assert PIECES.offsets(text) == [tuple(place) for place in PIECES([text])[0].offsets.tolist()]
        assert PIECES.count(text) == len(PIECES.offsets(text))


@pytest.mark.parametrize(
    ("piece", "flags"),
    [
        ("dome", 0),
        ("##ing", CONTINUES),
        (".", PUNCTUATION),
        ("##.", CONTINUES | PUNCTUATION),
        ("##", PUNCTUATION),
        ("$", 0),  # a symbol can be an answer, or part of one
        ("北", 0),
        ("1882", 0),
    ],
)
def test_flags(piece: str, flags: int) -> None:
    assert flags_of(piece) == flags


LIBRARY = WordPieces(Tokenizer.from_file(str(default_folder() / "tokenizer.json")))


@pytest.fixture(scope="module")
def default_pieces() -> WordPieces:
    return WordPieces.load(default_folder())


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)) | st.text("aes12 .-'[#", max_size=120) | st.text())
def test_a_plain_text_is_cut_as_the_library_cuts_it(default_pieces: WordPieces, text: str) -> None:
    found, wanted = default_pieces([text])[0], LIBRARY([text])[0]
    assert found.ids.tolist() == wanted.ids.tolist()
    assert found.offsets.tolist() == wanted.offsets.tolist()
    assert found.flags.tolist() == wanted.flags.tolist()


@pytest.mark.parametrize("length", [99, 100, 101, 399, 400, 401])
def test_a_long_word_is_cut_as_the_library_cuts_it(default_pieces: WordPieces, length: int) -> None:
    for word in ("x" * length, "1" * length):
        assert default_pieces([word])[0].ids.tolist() == LIBRARY([word])[0].ids.tolist()


def test_the_vocabulary_is_that_of_the_library(default_pieces: WordPieces) -> None:
    assert len(default_pieces) == len(LIBRARY)
    assert all(default_pieces.piece(token) == LIBRARY.piece(token) for token in range(len(LIBRARY) + 5))
    assert (default_pieces.cls, default_pieces.sep, default_pieces.pad) == (LIBRARY.cls, LIBRARY.sep, LIBRARY.pad)


@pytest.mark.parametrize(
    "change",
    [
        {"version": "2.0"},
        {"normalizer": {"type": "BertNormalizer", "lowercase": False}},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"model": {"type": "BPE", "vocab": {}}},
        {"added_tokens": [{"id": 5, "content": "dome", "special": False}]},
        {"added_tokens": [{"content": "[UNK]"}]},
        {"added_tokens": None},
    ],
)
def test_a_tokenizer_of_other_rules_is_left_to_the_library(change: dict[str, object]) -> None:
    said = json.loads((default_folder() / "tokenizer.json").read_bytes())
    assert PlainWords.read(compact(said))
    assert PlainWords.read(compact({**said, **change})) is None
    assert PlainWords.read(json.dumps(said, indent=1).encode()) is None


def compact(said: object) -> bytes:
    """As the library writes it."""
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize("before", [0, 1000])
def test_pieces_are_found_in_the_file_and_in_the_table(before: int) -> None:
    content = (default_folder() / "tokenizer.json").read_bytes()
    plain = PlainWords.read(content)
    assert plain
    for _ in range(before):
        plain.vocabulary.get("the")
    assert ("whole" in plain.vocabulary.__dict__) == (before > 0)
    pieces = ["[PAD]", '"', '##"', "\\", "the", "##s", ",", ":", "}", "zzzz", "", "vocab", "un"]
    assert [plain.vocabulary.get(piece) for piece in pieces] == [plain.vocabulary.whole.get(piece) for piece in pieces]
    assert plain.piece(plain.vocabulary.whole["the"]) == "the"


def test_many_pieces_have_flags() -> None:
    many = {name: number for number, name in enumerate(["[UNK]", "[CLS]", "[SEP]", "[PAD]", *map(str, range(70_000))])}
    tokenizer = Tokenizer(WordPiece(many, unk_token="[UNK]"))
    pieces = WordPieces(tokenizer)
    assert pieces(["69999"])[0].flags.tolist() == [0]


def test_truncation_and_padding_are_switched_off(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    pieces = WordPieces.load(tmp_path)
    assert [len(text.ids) for text in pieces(["the dome", "a city " * 30])] == [2, 60]
    pieces.save(tmp_path)
    saved = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert (saved.truncation, saved.padding) == (None, None)


def test_pieces_by_id() -> None:
    ids = PIECES(["climbing"])[0].ids.tolist()
    assert [PIECES.piece(token) for token in ids] == ["climb", "##ing"]


def test_a_file_that_is_no_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text('{"model": 1}')
    with pytest.raises(ModelDamaged, match="not a tokenizer"):
        WordPieces.load(tmp_path)


def test_a_tokenizer_without_the_special_tokens() -> None:
    with pytest.raises(ModelDamaged, match=r"\[CLS\]"):
        WordPieces(Tokenizer(WordPiece({"[UNK]": 0}, unk_token="[UNK]")))
