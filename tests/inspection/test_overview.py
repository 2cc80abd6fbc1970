from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from engines import open_local
from small_corpus import DOCUMENTS, encode_all, plain

from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.inspection import index_view, to_csv, to_json
from sparc_search.inspection.histogram import histogram
from sparc_search.settings import Settings
from sparc_search.stored import FeatureCount


def test_an_index_as_a_whole(index: Index, toy_encoder: Encoder) -> None:
    view = index_view(index)
    assert (view.documents, view.passages, view.model) == (2, 3, "toy-1")
    assert view.bytes
    assert view.bytes > 1000
    assert view.sample.passages == 3
    encoded = [passage for document in encode_all(DOCUMENTS, toy_encoder) for passage in document.passages]
    for field in ("start", "end", "lex"):
        assert view.sample.weights[field].values == sum(len(passage.features[field]) for passage in encoded)
        assert view.sample.features[field].largest == max(len(passage.features[field]) for passage in encoded)
    tokens = sum(len(passage.block.token_ids) for passage in encoded)
    assert view.sample.tokens.mean * 3 == pytest.approx(tokens)
    assert view.sample.kept["start"] == sum(len(passage.block.start.positions) for passage in encoded) / tokens
    assert view.frequent["lex"][0] == FeatureCount("%2E", 3)
    twin = to_json(view)
    assert json.loads(json.dumps(twin, allow_nan=False)) == twin


def test_an_empty_index(tmp_path: Path, toy_encoder: Encoder) -> None:
    open_local(tmp_path / "empty", toy_encoder.fingerprint, writable=True).close()
    with Index.open(tmp_path / "empty", settings=Settings(), encoder=toy_encoder) as index:
        view = index_view(index)
    assert (view.passages, view.sample.passages, view.sample.kept) == (0, 0, {"start": 0.0, "end": 0.0})
    assert view.frequent["start"] == ()


def test_a_sample_is_spread_evenly(make, toy_encoder: Encoder) -> None:  # type: ignore[no-untyped-def]
    index = make(*encode_all([plain(f"d{number:02}", f"word{number}") for number in range(50)], toy_encoder))
    with index.engine.view() as view:
        assert view.sample(5) == [f"d{number:02}/0" for number in (0, 10, 20, 30, 40)]
        assert len(view.sample(500)) == 50
    assert index_view(index, sample=10).sample.passages == 10


def test_histograms() -> None:
    whole = histogram(np.array([0, 1, 1, 7]), bins=4)
    assert whole.edges == (0, 2, 4, 6, 8)
    assert whole.counts == (3, 0, 0, 1)
    assert (whole.values, whole.smallest, whole.largest, whole.median) == (4, 0, 7, 1)
    broken = histogram([0.5, 1.0], bins=2)
    assert broken.edges == (0, 0.5, 1.0)
    assert broken.counts == (0, 2)
    assert histogram([]).counts == ()
    assert sum(histogram([0.0, 0.0]).counts) == 2


def test_rows_as_csv() -> None:
    rows = [{"name": "=1+1", "weight": -0.5, "positions": (1, 2), "tags": {"a": "b"}, "none": None}]
    assert to_csv(rows) == "name,weight,positions,tags,none\n'=1+1,-0.5,1 2,a=b,\n"
    assert to_csv([FeatureCount('gold, "dome"', 3)]) == 'name,passages\n"gold, ""dome""",3\n'
    assert to_csv([]) == ""
