"""Feature names are readable and reversible; feature values survive an engine that keeps 9 bits."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sparc_search.ngrams import feature_name, parse_feature, round_up_9bits

ANY_TEXT = st.text(st.characters(), min_size=1)  # surrogates included
PIECES = st.lists(ANY_TEXT, min_size=1, max_size=3).map(tuple)
SMALLEST = float(np.finfo(np.float32).tiny)


@pytest.mark.parametrize(
    ("pieces", "name"),
    [
        (("dome",), "dome"),
        (("gold", "dome"), "gold dome"),
        (("climb", "##ing"), "climb ##ing"),
        (("3", ".", "14"), "3 %2E 14"),
        (("100%",), "100%25"),
        (("a b",), "a%20b"),
        (("a\u202eb",), "a%E2%80%AEb"),
        (("ähre",), "ähre"),
        (("穹顶",), "穹顶"),
        (("😀",), "😀"),
    ],
)
def test_names_are_readable(pieces: tuple[str, ...], name: str) -> None:
    assert feature_name(pieces) == name
    assert parse_feature(name) == pieces


@given(PIECES)
@example(("%2E",))
@example(("\x00", "\x9b"))
@example(("\ud800",))
def test_names_can_be_turned_back(pieces: tuple[str, ...]) -> None:
    assert parse_feature(feature_name(pieces)) == pieces


@given(PIECES)
def test_names_hold_nothing_that_an_engine_or_a_terminal_minds(pieces: tuple[str, ...]) -> None:
    name = feature_name(pieces)
    assert "." not in name
    assert name.count(" ") == len(pieces) - 1
    assert all(ord(c) >= 0x20 and not 0x7F <= ord(c) <= 0x9F for c in name)
    name.encode("utf-8")


@given(PIECES, PIECES)
def test_different_ngrams_have_different_names(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert (feature_name(one) == feature_name(other)) == (one == other)


@pytest.mark.parametrize("name", ["", " ", "a ", "a  b", "a.b", "%", "%2", "%zz", "%2e", "%41", "%FF", "%C3", "a\nb"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of an n-gram"):
        parse_feature(name)


@pytest.mark.parametrize("pieces", [(), ("",), ("a", "")])
def test_an_ngram_has_pieces(pieces: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="at least one piece"):
        feature_name(pieces)


def truncated_to_9_bits(value: float) -> float:
    """What `rank_features` keeps of a float32: sign, exponent, 8 of 23 bits."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return float(struct.unpack("<f", struct.pack("<I", bits >> 15 << 15))[0])


@given(st.floats(SMALLEST, 3e38))
@example(1.0)
@example(1.0 + 2**-52)
@example(2.0 - 2**-52)
@example(SMALLEST)
def test_rounding_up_to_9_bits(value: float) -> None:
    (rounded,) = round_up_9bits([value])
    assert value <= float(rounded) < value * (1 + 2**-8)
    assert truncated_to_9_bits(float(rounded)) == rounded
    assert round_up_9bits(rounded) == rounded


@given(st.lists(st.floats(0, 1e6)), st.lists(st.floats(0, 1e6)))
def test_rounding_keeps_order_and_shape(one: list[float], other: list[float]) -> None:
    together = np.array(one + other)
    rounded = round_up_9bits(together)
    assert rounded.shape == together.shape
    assert rounded.dtype == np.float32
    order = np.argsort(together)
    assert np.all(np.diff(rounded[order]) >= 0)


def test_rounding_leaves_its_input_alone_and_zero_at_zero() -> None:
    values = np.array([0.0, 1.001])
    assert round_up_9bits(values).tolist() == [0.0, 1.00390625]
    assert values.tolist() == [0.0, 1.001]


def test_values_too_small_for_an_engine_are_raised_to_the_least_it_takes() -> None:
    assert round_up_9bits([1e-300]).tolist() == [SMALLEST]


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), 3.4e38])
def test_what_no_engine_takes_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        round_up_9bits([value])
