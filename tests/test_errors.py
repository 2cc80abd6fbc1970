"""The tree of errors is the one that is drawn, and each error says what to do."""

from __future__ import annotations

import pickle
import re

import pytest

from sparc_search import errors
from sparc_search.errors import Interrupted, MissingExtra, SparcSearchError


def all_errors(root: type[SparcSearchError] = SparcSearchError) -> list[type[SparcSearchError]]:
    inside = [e for e in root.__subclasses__() if e.__module__ == errors.__name__]
    return [root, *(error for child in inside for error in all_errors(child))]


def drawn_tree() -> dict[str, str]:
    """Name -> name of the parent, read from the drawing: every four characters of indentation are one level."""
    parents: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"    ([│├└─ ]*)([A-Z]\w+)  ", line):
            level = len(match[1]) // 4
            path = [*path[:level], match[2]]
            parents[match[2]] = path[-2] if level else ""
    return parents


def test_the_drawn_tree_is_the_real_one() -> None:
    real = {e.__name__: "" if e is SparcSearchError else e.__bases__[0].__name__ for e in all_errors()}
    assert drawn_tree() == real


def test_drawn_exit_codes_are_the_real_ones() -> None:
    drawn = dict(re.findall(r"(\w+) +exit code (\d+)", errors.__doc__ or ""))
    real = {e.__name__: str(e.exit_code) for e in all_errors() if "exit_code" in vars(e)}
    assert drawn == real


@pytest.mark.parametrize("error", all_errors())
def test_each_carries_message_and_remedy_through_a_process_boundary(error: type[SparcSearchError]) -> None:
    made = error("train", "torch") if error is MissingExtra else error("what", "do this")
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is error
    assert (again.message, again.remedy) == (made.message, made.remedy)
    assert made.message
    assert made.remedy


def test_a_missing_extra_says_what_to_type() -> None:
    assert MissingExtra("train", "torch").remedy == "pip install 'sparc-search[torch]'"


def test_as_text_it_is_message_and_remedy() -> None:
    assert str(SparcSearchError("no file x", "look at y")) == "no file x (look at y)"
    assert str(Interrupted()) == "Interrupted"
