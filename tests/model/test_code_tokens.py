from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparc_search.model.code_tokens import boundary_rows, code_tokens
from sparc_search.records import CONTINUES, PUNCTUATION


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in code_tokens(text)]


@pytest.mark.parametrize(
    "token",
    [
        "--include-untracked", "-f", "--depth=5", "journal_mode=WAL", "/etc/fstab", "~/.config/git", "./run.sh",
        "SQLITE_MAX_EXPR_DEPTH", "__init__", "$HOME", "https://example.org/a?b=c", "ada@example.org", "os.path.join",
        "docs/ingest.md", "main()", "std::vector", "3.11.2", "*.html", "C++", "C:\\Users\\ada",
    ],
)  # fmt: skip
def test_words_of_code(token: str) -> None:
    assert words(f"Set it ({token}), or `{token}`. The last is {token}.") == [token] * 3


@pytest.mark.parametrize(
    "prose",
    ["1998–2000", "1998-2000", "and/or", "well-known", "e.g. this", "the U.S. Army", "10:30", "2.5 km/h", "the end.The",
     "a - b", "-", "--", "$5 million", "#1", "3,000", "AC/DC", "1/2", "50%", "A. Smith", "… and"],
)  # fmt: skip
def test_prose_is_not_code(prose: str) -> None:
    assert words(f"It is {prose} here.") == []


def test_alternatives_are_several_words() -> None:
    assert words("[-f|--force], <path>/x") == ["-f", "--force", "/x"]


@given(st.text("-_=/.a1B:@ ()\n", max_size=200))
def test_tokens_are_in_order_and_hold_no_space(text: str) -> None:
    places = list(code_tokens(text))
    assert places == sorted(places)
    assert all(text[start:end] == "".join(text[start:end].split()) for start, end in places)


def test_long_runs_take_no_time() -> None:
    for run in ("a.", "a_", "-a", "/a", "a@", "a:", "a="):
        list(code_tokens(run * 50_000))


def test_what_the_network_says_of_the_word_counts_for_the_marks_around_it() -> None:
    # see | - | - | force | ( | ) | now
    flags = np.array(
        [0, PUNCTUATION, PUNCTUATION | CONTINUES, CONTINUES, PUNCTUATION | CONTINUES, PUNCTUATION | CONTINUES, 0]
    )
    flags = flags.astype(np.uint8)
    assert boundary_rows("start", flags).tolist() == [0, 3, 2, 3, 4, 5, 6]
    assert boundary_rows("end", flags).tolist() == [0, 1, 2, 3, 4, 3, 6]


@given(st.lists(st.sampled_from([0, CONTINUES, PUNCTUATION, PUNCTUATION | CONTINUES]), max_size=12))
def test_numbers_come_from_the_same_word(flags: list[int]) -> None:
    array = np.array(flags, np.uint8)
    for rows in (boundary_rows("start", array), boundary_rows("end", array)):
        for at, row in enumerate(rows.tolist()):
            low, high = sorted((at, row))
            assert all(flag & CONTINUES for flag in flags[low + 1 : high + 1])
