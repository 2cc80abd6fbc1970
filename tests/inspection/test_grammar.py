from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparc_search.inspection.grammar import GrammarError, read, readable, text_of
from sparc_search.stored import Condition

KEYS = ("lang", "kind", "my key", "title")


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("", []),
        ("lighthouse", [Condition("", "lighthouse")]),
        ('-"gold dome"', [Condition("", "gold dome", negated=True, whole=True)]),
        ("title:alps -text:snow", [Condition("title", "alps"), Condition("text", "snow", negated=True)]),
        ("lang:en", [Condition("metadata.lang", "en")]),
        ('-"my key":"a b"', [Condition("metadata.my key", "a b", negated=True)]),
        ("metadata.title:draft", [Condition("metadata.title", "draft")]),
        ("start:lighthouse>=0.5", [Condition("start", "lighthouse", least=0.5)]),
        ('lex:"gold dome"<2', [Condition("lex", "gold dome", below=2.0)]),
        ("-end:fog", [Condition("end", "fog", negated=True)]),
        ("well-known a<b", [Condition("", "well-known"), Condition("", "a<b")]),
        ("folder:notes/alps document:a#1", [Condition("folder", "notes/alps"), Condition("document", "a#1")]),
    ],
)
def test_what_is_typed_is_read(text: str, conditions: list[Condition]) -> None:
    assert [term.condition for term in read(text, KEYS)] == conditions


def test_more_than_is_more_and_not_as_much() -> None:
    (above,), (least,) = read("start:fog>0.5", KEYS), read("start:fog>=0.5", KEYS)
    assert 0.5 < above.condition.least < 0.502
    assert least.condition.least == 0.5
    assert str(above) == "start:fog>0.5"


@pytest.mark.parametrize(
    ("text", "message", "where"),
    [
        ("sea lnag:en", "no field 'lnag'", "lnag"),
        ('sea "gold dome', "quotation mark", '"gold'),
        ("start:fog>much", "no limit", ">much"),
        ("start:", "nothing stands behind", "start:"),
        ("-", "nothing stands behind", "-"),
        ('title:"x">2', "only weights", 'title:"x">2'),
        ("http://example.org", "no field 'http'", "http"),
    ],
)
def test_what_cannot_be_read_says_where_and_what_to_do(text: str, message: str, where: str) -> None:
    with pytest.raises(GrammarError, match=message) as caught:
        read(text, KEYS)
    assert text[caught.value.at : caught.value.until] == where
    assert caught.value.remedy


def test_what_can_be_read_is_read_all_the_same() -> None:
    terms, error = readable('sea lnag:en "x y" -', KEYS)
    assert [str(term) for term in terms] == ["sea", '"x y"']
    assert error is not None
    assert error.message == "there is no field 'lnag'"


def test_a_field_that_is_nearly_one_is_named() -> None:
    with pytest.raises(GrammarError) as caught:
        read("lnag:en", KEYS)
    assert "did you mean lang:" in caught.value.remedy


@settings(max_examples=40)
@example("--")
@example("-- -a:b")
@given(st.text(max_size=40))
def test_whatever_is_typed_is_read_or_refused(text: str) -> None:
    refused: list[GrammarError] = []
    terms = ()
    try:
        terms = read(text, KEYS)
    except GrammarError as error:
        refused.append(error)
    assert all(0 <= error.at <= error.until <= len(text) for error in refused)
    again = read(text_of(terms), KEYS)
    assert [term.condition for term in again] == [term.condition for term in terms]
