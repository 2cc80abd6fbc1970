from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_blocks import generators

from sparc_search.errors import IndexDamaged
from sparc_search.records import Features
from sparc_search.stores.array_writer import ArrayWriter
from sparc_search.stores.features import as_features, decode_features, encode_features
from sparc_search.stores.local import highest as pruning
from sparc_search.stores.local import merging, packed_postings
from sparc_search.stores.local import postings as module
from sparc_search.stores.local.highest import highest
from sparc_search.stores.local.layout import SEGMENTS
from sparc_search.stores.local.packed_postings import SPARE, PackedPostings, frame_of, pack
from sparc_search.stores.local.postings import Terms, hashed, packed
from sparc_search.stores.local.segment import Segment, Source, make_segment
from sparc_search.stores.local.segment_files import ListedSegment, open_segment, write_segment
from sparc_search.stores.packing import shorten

NAMES = st.sampled_from(["the", "of", "dome", "gold dome", "##ing", "rare"])
VALUES = st.sampled_from([0.25, 0.5, 1.0, 1.5, 3.0, 200.0])
FEATURES = st.fixed_dictionaries({field: st.dictionaries(NAMES, VALUES) for field in ("start", "end", "lex")})
CORPORA = st.lists(FEATURES, max_size=30)
QUERIES = st.fixed_dictionaries({field: st.dictionaries(NAMES, st.floats(0, 9)) for field in ("start", "end", "lex")})


def segment_of(corpus: list[Features], first: int = 1) -> Segment:
    passages = [
        Source(first + row, f"p{(first + row) * 7 % 101:03d}", decode_features(encode_features(features)),
               np.full(3, row % 100, np.int8), 1.0)
        for row, features in enumerate(corpus)
    ]  # fmt: skip
    return make_segment(first, first + len(corpus) - 1, passages)


def products(corpus: list[Features], query: Features) -> list[float]:
    return [
        sum(w * f[field].get(name, 0.0) for field in sorted(query) for name, w in sorted(query[field].items()))
        for f in corpus
    ]


@given(FEATURES)
def test_features_survive(features: Features) -> None:
    assert as_features(decode_features(encode_features(features))) == features


@pytest.mark.parametrize("bad", [{"start": {"a\nb": 1.0}}, {"start": {"": 1.0}}, {"title": {"a": 1.0}}])
def test_odd_features_are_refused(bad: Features) -> None:
    with pytest.raises(ValueError, match="feature"):
        encode_features(bad)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_odd_values_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="feature values"):
        encode_features({"start": {"a": value}})


def test_values_are_rounded_up_to_nine_bits() -> None:
    stored = as_features(decode_features(encode_features({"lex": {"a": 1.001, "b": 0.0}})))
    assert stored["lex"] == {"a": 1 + 2**-8}


@given(CORPORA, QUERIES)
def test_sums_are_dot_products(corpus: list[Features], query: Features) -> None:
    postings = segment_of(corpus).postings
    assert postings.sums(postings.find(hashed(query)), len(corpus)) == pytest.approx(products(corpus, query))


@pytest.mark.skipif(module.compiled is None, reason="no compiled code: install again where there is a C compiler")
@given(CORPORA, QUERIES)
def test_compiled_sums_are_those_of_numpy_to_the_last_bit(corpus: list[Features], query: Features) -> None:
    postings = segment_of(corpus).postings
    terms = postings.find(hashed(query))
    by_compiled_code = postings.sums(terms, len(corpus))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "compiled", None)
        assert np.array_equal(postings.sums(terms, len(corpus)), by_compiled_code)


@given(generators(), st.integers(1, 3_000), st.floats(0, 1), st.floats(0, 1))
def test_looking_up_some_rows_gives_the_sums_of_all(
    rng: np.random.Generator, count: int, density: float, share: float
) -> None:
    has = [np.flatnonzero(rng.random(count) < density * rng.random()) for _ in range(5)]
    has = [rows if len(rows) else np.zeros(1, np.int64) for rows in has]  # a feature that none has is not there
    ends = np.cumsum([len(rows) for rows in has])
    values = shorten(rng.random(int(ends[-1]), np.float32))
    keys = np.arange(5, dtype=np.uint64)
    postings = packed(keys, np.append(0, ends), np.concatenate(has), values, count)
    terms = Terms(np.append(0, ends[:-1]), ends, rng.random(5), np.zeros(5))
    rows = np.flatnonzero(rng.random(count) < share)
    wanted = postings.sums(terms, count)[rows]
    wide = packed(keys, np.append(0, ends), np.concatenate(has), values, 1 << 30)
    assert np.array_equal(wide.sums(terms, count), postings.sums(terms, count))
    assert np.array_equal(wide.sums_of(terms, rows), wanted)
    assert np.array_equal(postings.sums_of(terms, rows), wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "compiled", None)
        assert np.array_equal(postings.sums_of(terms, rows), wanted)


@given(generators(), st.integers(0, 300), st.integers(1, 1 << 20), st.integers(0, 0xFFFF), st.integers(1, 40))
def test_packed_postings_are_what_was_packed(
    rng: np.random.Generator, number: int, passages: int, most: int, at_once: int
) -> None:
    rows, values = rng.integers(0, passages, number), rng.integers(0, most + 1, number).astype(np.uint16)
    frame = frame_of(passages, int(values.min(initial=most)), most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_postings, "_AT_ONCE", 8 * at_once)
        data = np.append(pack(frame, rows, values), np.zeros(SPARE, np.uint8))
    postings = PackedPostings(data, frame)
    assert postings.holds(number)
    cut = int(rng.integers(0, number + 1))
    for some in ([slice(0, number)], [slice(0, cut), slice(cut, number)], [slice(cut, cut)]):
        found, wanted = postings.entries(some), np.concatenate([np.arange(number)[one] for one in some])
        assert np.array_equal(found.rows, rows[wanted])
        assert np.array_equal(found.values, values[wanted])


def test_a_posting_takes_no_more_bits_than_its_segment_needs() -> None:
    assert frame_of(10_000, 31_609, 32_933) == (14, 11, 31_609)
    assert frame_of(1, 7, 7).width == 0
    postings = segment_of([{"start": {"dome": 1.0}, "end": {}, "lex": {"the": 1.0}}] * 100).postings
    assert len(postings.packed) == 200 * 7 // 8 + SPARE


def test_only_common_features_have_their_largest_value_beside_them() -> None:
    """Of the others it is known that none is above the largest of the segment."""
    rare: list[Features] = [{"lex": {"rare": 3.0}}] * 65
    corpus: list[Features] = [{"lex": {"the": 0.25}} for _ in range(235)] + rare
    postings = segment_of(corpus).postings
    bounds = postings.find(hashed({"lex": {"the": 1.0, "rare": 1.0}})).bounds
    assert (len(postings.tops), bounds.tolist()) == (1, [bounds.max(), 0.25])
    assert bounds.max() >= 3.0


@pytest.mark.skipif(module.compiled is None, reason="no compiled code: install again where there is a C compiler")
def test_a_row_that_is_not_there_is_a_clear_error() -> None:
    postings = segment_of([{"start": {"dome": 1.0}, "end": {}, "lex": {}}] * 3).postings
    terms = postings.find(hashed({"start": {"dome": 1.0}}))
    with pytest.raises(IndexDamaged, match="a row that is not there"):
        postings.sums(terms, 2)


@pytest.mark.skipif(module.compiled is None, reason="no compiled code: install again where there is a C compiler")
@given(st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 7.0]), max_size=300), st.integers(0, 70))
def test_the_kth_highest_above_zero(numbers: list[float], k: int) -> None:
    positive = sorted((number for number in numbers if number > 0), reverse=True)
    wanted = positive[k - 1] if 0 < k <= len(positive) else 0.0
    assert module.kth(np.array(numbers), k) == wanted
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "compiled", None)
        assert module.kth(np.array(numbers), k) == wanted


@settings(max_examples=200)
@given(CORPORA, QUERIES, st.integers(1, 6), st.data())
def test_leaving_work_out_changes_no_bit(corpus: list[Features], query: Features, k: int, data: st.DataObject) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(corpus), max_size=len(corpus))), bool)
    segment = segment_of(corpus)
    for allowed in (None, mask):
        plain = highest(segment.postings, hashed(query), k, len(corpus), allowed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pruning, "WORTHWHILE", 0)
            patch.setattr(pruning, "COMMON", data.draw(st.integers(1, 4)))
            patch.setattr(pruning, "_FEW", 1)
            quick = highest(segment.postings, hashed(query), k, len(corpus), allowed)
        assert segment.best(*quick, k) == segment.best(*plain, k)


@pytest.mark.parametrize(
    "seventh", [{"the": 0.5, "rare": 3.0}, {"the": 1.0, "rare": 2.25}], ids=["plainly", "lifted by a common feature"]
)
def test_work_is_left_out_and_the_best_row_is_not(seventh: dict[str, float]) -> None:
    """Otherwise the property above says nothing."""
    corpus: list[Features] = [{"lex": {"the": 0.25}} for _ in range(100)]
    corpus[7] = {"lex": seventh}
    corpus[9] = {"lex": {"rare": 3.0}}
    postings = segment_of(corpus).postings
    terms = postings.find(hashed({"lex": {"the": 1.0, "rare": 1.0}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pruning, "WORTHWHILE", 0)
        near = pruning._near_the_top(postings, terms, 1, 100, None)
    assert near is not None
    assert near.tolist() == [7]


@settings(max_examples=30)
@given(st.lists(CORPORA, min_size=1, max_size=4), QUERIES, st.data())
def test_merging_is_building_from_what_is_alive(
    corpora: list[list[Features]], query: Features, data: st.DataObject
) -> None:
    segments, alive, left, first = [], [], [], 1
    for corpus in corpora:
        segments.append(segment_of(corpus, first))
        alive.append(np.array(data.draw(st.lists(st.booleans(), min_size=len(corpus), max_size=len(corpus))), bool))
        left += [features for features, lives in zip(corpus, alive[-1], strict=True) if lives]
        first += len(corpus)
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "AT_ONCE", 20)
        count, files = merging.merge_segments(segments, alive, Path(place) / SEGMENTS / "merged")
        merged = open_segment(Path(place), ListedSegment("merged", 1, first - 1, count, files))
        assert count == len(merged) == len(left)
        built = make_again(segments, alive, left)
        for name in ("keys", "offsets", "common", "tops"):
            assert np.array_equal(getattr(merged.postings, name), getattr(built.postings, name)), name
        every = [slice(0, len(built.postings))]
        assert all(map(np.array_equal, merged.postings.entries(every), built.postings.entries(every)))
        assert merged.postings.all.holds(len(built.postings))
        for name in ("rows", "ids", "id_offsets", "ranks"):
            assert np.array_equal(getattr(merged, name), getattr(built, name)), name
        if count:
            assert np.array_equal(merged.dense.vectors, built.dense.vectors)
        terms = merged.postings.find(hashed(query))
        assert merged.postings.sums(terms, count) == pytest.approx(products(left, query))


def make_again(segments: list[Segment], alive: list[np.ndarray], left: list[Features]) -> Segment:
    known = [
        (int(segment.rows[n]), segment.id(n), segment.dense.vectors[n])
        for segment, lives in zip(segments, alive, strict=True)
        for n in np.flatnonzero(lives)
    ]
    return make_segment(
        1,
        max(segment.last for segment in segments),
        [
            Source(row, id, decode_features(encode_features(features)), vector, 1.0)
            for (row, id, vector), features in zip(known, left, strict=True)
        ],
    )


def test_a_segment_comes_back_from_its_files(tmp_path: Path) -> None:
    segment = segment_of([{"start": {"dome": 1.0}, "end": {}, "lex": {"the": 0.5}}] * 3)
    files = write_segment(segment, tmp_path / SEGMENTS / "s")
    opened = open_segment(tmp_path, ListedSegment("s", 1, 3, 3, files))
    assert [opened.id(n) for n in range(3)] == ["p007", "p014", "p021"]
    assert np.array_equal(opened.postings.packed, segment.postings.packed)
    assert opened.holding(np.array([2, 3, 4, 77])).tolist() == [False, True, True]


@given(st.lists(st.lists(st.integers(0, 255), max_size=5), max_size=5))
def test_an_array_written_in_pieces(pieces: list[list[int]]) -> None:
    with TemporaryDirectory() as place:
        with ArrayWriter(Path(place), "numbers", np.uint8) as out:
            for piece in pieces:
                out.append(np.array(piece, np.uint8))
        assert np.load(Path(place) / "numbers.npy").tolist() == [number for piece in pieces for number in piece]
