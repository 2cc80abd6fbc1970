"""A model of other n-gram sizes is shown whole: by the views, the command line and the web."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engines import open_local
from small_corpus import encode_all, plain
from starlette.testclient import TestClient
from tiny_model import tiny_model

from sparc_search.cli.inspect_passage import show_passage
from sparc_search.errors import UsageError
from sparc_search.index import Index
from sparc_search.inspection import feature_view, passage_view, question_view
from sparc_search.model.encoder_torch import open_encoder
from sparc_search.model.encoding import NetworkEncoder
from sparc_search.settings import Settings
from sparc_search.web.app import create_app

TEXT = "the golden dome of the museum was built in rome"


@pytest.fixture(scope="module")
def trigrams(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index of a model that weighs single pieces and runs of three."""
    folder = tmp_path_factory.mktemp("trigrams")
    tiny_model(ngrams=(1, 3), prune=0.0).save_pretrained(folder / "model", {"name": "tiny", "licence": "none"})
    encoder: NetworkEncoder = open_encoder(str(folder / "model"), device="cpu")
    with open_local(folder / "index", encoder.fingerprint, writable=True) as store:
        store.add(encode_all([plain("d", TEXT)], encoder))
    with Index.open(folder / "index", settings=Settings(), encoder=encoder) as index:
        yield index


def test_the_views_show_every_size(trigrams: Index) -> None:
    assert trigrams.encoder.ngrams == (1, 3)
    view = passage_view(trigrams, "d/0", phrase="museum")
    assert view.sizes == (1, 3)
    assert view.selection is not None
    assert {row.n for row in view.ngrams} == {row.n for row in view.selection.ngrams} == {1, 3}
    assert {"start_1", "start_3", "end_1", "end_3"} == set(view.largest)
    assert {row.n for row in passage_view(trigrams, "d/0", sizes=(3,)).ngrams} == {3}
    assert {row.n for row in question_view(trigrams, "what is the golden dome").ngrams} == {1, 3}
    with pytest.raises(UsageError, match="no n-grams of size 2") as refused:
        passage_view(trigrams, "d/0", sizes=(2,))
    assert "1, 3" in refused.value.remedy


def test_a_trigram_is_a_feature_and_a_longer_phrase_leads_to_it(trigrams: Index) -> None:
    view = feature_view(trigrams, "the golden dome")
    assert view.known
    assert view.fields[0].top[0].passage.id == "d/0"
    longer = feature_view(trigrams, "the golden dome of")
    assert not longer.known
    assert longer.related[:2] == ("the golden dome", "golden dome of")
    assert "the golden dome" in feature_view(trigrams, "the golden").related  # by how it begins


def test_the_terminal_shows_it(trigrams: Index, capsys: pytest.CaptureFixture[str]) -> None:
    show_passage(passage_view(trigrams, "d/0"), 1000, listed=False)
    assert "the golden dome" in capsys.readouterr().out
    show_passage(passage_view(trigrams, "d/0"), 1000, listed=True)
    assert "start 3" in capsys.readouterr().out


def test_the_web_shows_it(trigrams: Index) -> None:
    client = TestClient(create_app(trigrams), base_url="http://127.0.0.1:8000")
    page = client.get("/passages/d/0").text
    assert "Trigrams" in page
    assert "Bigrams" not in page
    assert {row["n"] for row in client.get("/api/passages/d/0?n=3").json()["ngrams"]} == {3}
    assert client.get("/api/passages/d/0?n=2").json()["error"]["remedy"] == "choose one of: both, 1, 3"
    told = client.get("/openapi.json").json()["paths"]["/api/v1/passages/{id}"]["get"]["parameters"]
    assert next(one["schema"] for one in told if one["name"] == "n") == {"enum": ["both", "1", "3"]}
    assert client.get("/?q=what is the golden dome").status_code == 200
