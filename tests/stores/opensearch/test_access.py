"""Who may be talked to, and how: nothing here needs a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sparc_search.errors import ConfigError, EngineError, UsageError
from sparc_search.settings import Settings, load
from sparc_search.stores.opensearch.access import ServerAccess, access_of
from sparc_search.stores.opensearch.dialects import ELASTICSEARCH, OPENSEARCH, recognise
from sparc_search.stores.opensearch.names import key, names_of
from sparc_search.stores.opensearch.server import Server


def access(**settings: Any) -> ServerAccess:
    return access_of(Settings().changed(**settings).of_plugin("stores", "opensearch"))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9200",
        "http://localhost:9200/",
        "http://[::1]:9200",
        "https://search.example.org",
        "https://10.0.0.1:9200,https://10.0.0.2:9200",
    ],
)
def test_addresses_that_are_safe(url: str) -> None:
    assert access(url=url).urls == tuple(part.rstrip("/") for part in url.split(","))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://search.example.org:9200", "not encrypted"),
        ("http://127.0.0.1.example.org:9200", "not encrypted"),
        ("https://a:9200,http://b:9200", "not encrypted"),
        ("https://me:secret@search.example.org", "holds a user or a password"),
        ("search.example.org:9200", "http:// or https://"),
        ("ftp://127.0.0.1", "http:// or https://"),
        ("https://", "http:// or https://"),
        ("https://host:port", "cannot be read"),
        ("https://host/?x=1", "leave out"),
        (" , ", "names no server"),
    ],
)
def test_addresses_that_are_not(url: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        access(url=url)
    assert "secret" not in str(error.value)


def test_http_may_be_allowed() -> None:
    assert access(url="http://search.example.org:9200", allow_http=True).urls == ("http://search.example.org:9200",)
    environ = {"SPARC_SEARCH_URL": "http://search.example.org", "SPARC_SEARCH_ALLOW_HTTP": "true"}
    settings = load(environ=environ, folder=Path("nowhere"), user_folder=Path("nowhere"))
    assert settings.of_plugin("stores", "opensearch")["allow_http"] is True


def test_secrets_come_from_settings_or_files_and_are_never_shown(tmp_path: Path) -> None:
    (tmp_path / "word").write_text("open sesame\n")
    found = access(user="me", password_file=str(tmp_path / "word"))
    assert (found.user, found.password) == ("me", "open sesame")
    assert "sesame" not in repr(found)
    assert access(api_key="abc").api_key == "abc"
    shown = {value.key: value.shown for value in Settings().changed(password="x", api_key="y").values()}
    assert (shown["password"], shown["api_key"]) == ("********", "********")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"user": "me"}, "go together"),
        ({"password": "x"}, "go together"),
        ({"user": "me", "password": "x", "api_key": "y"}, "exclude each other"),
        ({"user": "me", "password": "x", "password_file": "y"}, "exclude each other"),
        ({"user": "me", "password_file": "/nowhere/at/all"}, "cannot read"),
    ],
)
def test_half_a_credential(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        access(**settings)


def test_nobody_is_there() -> None:
    with pytest.raises(EngineError, match=r"cannot reach http://127\.0\.0\.1:9: .*refused"):
        Server(access(url="http://127.0.0.1:9"))


@pytest.mark.parametrize("name", ["", "Upper", "a/b", "a b", "_x", "-x", "x" * 101, "a*", "..", "x-documents"])
def test_names_a_server_would_not_take(name: str) -> None:
    with pytest.raises(UsageError, match="index_name"):
        names_of(name)


def test_ids_never_change() -> None:
    assert key("a", "b") == key("a", "b") != key("ab") != key("b", "a")
    assert key("\ud800") != key("\ud801")
    assert key("alps/0") == "7e0c3c94f836d1ea5251c953f40ae217"


def test_servers_are_recognised_by_what_they_say_of_themselves() -> None:
    assert recognise({"version": {"number": "3.6.0", "distribution": "opensearch"}}, "x") == (OPENSEARCH, "3.6.0")
    assert recognise({"version": {"number": "8.19.0-SNAPSHOT"}}, "x") == (ELASTICSEARCH, "8.19.0-SNAPSHOT")
    for number, distribution in (("1.3.0", "opensearch"), ("6.8.0", "")):
        with pytest.raises(EngineError, match="or later"):
            recognise({"version": {"number": number, "distribution": distribution}}, "x")
    with pytest.raises(EngineError, match="neither"):
        recognise({"hello": "world"}, "x")
