"""TLS and users, against a server that insists on both."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from engines import Store
from loads import long_documents
from servers import SecuredOpenSearch

from sparc_search.encoder import Encoder
from sparc_search.errors import EngineError, SparcSearchError
from sparc_search.opening import open_engine
from sparc_search.settings import Settings

NAME = f"sparc-search-{uuid4().hex[:8]}"


@pytest.fixture
def settings(secured_opensearch: SecuredOpenSearch, tmp_path: Path) -> Settings:
    return Settings().changed(
        index=tmp_path / "index",
        engine="opensearch",
        url=secured_opensearch.url,
        index_name=NAME,
        user="sparc-ingest",
        password=secured_opensearch.passwords["sparc-ingest"],
        ca_file=str(secured_opensearch.ca),
    )


@pytest.fixture
def reader(settings: Settings, secured_opensearch: SecuredOpenSearch, toy_encoder: Encoder) -> Settings:
    """Settings of a user who may only ask, after another has loaded something."""
    with opened(settings, writable=True) as store:
        store.add(long_documents(10, toy_encoder))
    return settings.changed(user="sparc-ask", password=secured_opensearch.passwords["sparc-ask"])


def opened(settings: Settings, *, writable: bool) -> Any:
    return Store(open_engine(settings, "toy-1", writable=writable), settings)


def test_a_certificate_of_an_unknown_authority_is_refused(settings: Settings) -> None:
    with pytest.raises(EngineError, match="no trusted connection") as caught:
        opened(settings.changed(ca_file=""), writable=False)
    assert "ca_file" in caught.value.remedy


def test_a_name_that_the_certificate_does_not_hold_is_refused(settings: Settings) -> None:
    with pytest.raises(EngineError, match="no trusted connection"):
        opened(settings.changed(url=settings.plugin_values["url"].replace("localhost", "127.1")), writable=False)


def test_plain_http_is_answered_with_what_to_do(settings: Settings) -> None:
    with pytest.raises(EngineError):
        opened(settings.changed(url=settings.plugin_values["url"].replace("https", "http"), ca_file=""), writable=False)


@pytest.mark.parametrize("user", ["sparc-ingest", "nobody-at-all"])
def test_a_wrong_password_is_401_and_is_not_shown(settings: Settings, user: str) -> None:
    with pytest.raises(EngineError, match="401") as caught:
        opened(settings.changed(user=user, password="s3cret-and-wrong"), writable=False)
    assert "s3cret" not in str(caught.value)
    assert "SPARC_SEARCH_PASSWORD" in caught.value.remedy


def test_a_reader_reads(reader: Settings, toy_encoder: Encoder) -> None:
    with opened(reader, writable=False) as store:
        (question,) = toy_encoder.encode_questions(["Which sea1?"])
        assert store.statistics([]).passages == 20
        assert len(list(store.documents())) == 10
        assert store.dense_search(question.passage_vector[None], 3, {})[0]
        assert store.sparse_search({"lex": {"sea1": 1.0, "sea2": 1.0, "sea3": 1.0}}, 3, {})
        assert not store.verify().problems


def test_a_reader_may_not_write(reader: Settings) -> None:
    with pytest.raises(SparcSearchError, match="403") as caught:
        opened(reader, writable=True)
    assert "role" in getattr(caught.value, "remedy", "")


def test_an_index_that_the_role_does_not_cover_is_403(settings: Settings) -> None:
    with pytest.raises(SparcSearchError, match="403"):
        opened(settings.changed(index_name="others"), writable=True)
