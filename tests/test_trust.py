"""A folder's own `sparc-search.toml` sends no secret anywhere and runs nothing, unless the user trusts the folder."""

from __future__ import annotations

import json
import subprocess
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sparc_search.errors import ConfigError
from sparc_search.settings import Settings, all_declared, load, read

RunCli = Callable[..., subprocess.CompletedProcess[str]]
SECRET = "correct horse battery staple"


@dataclass
class Listener:
    """A server of a stranger: it says it is OpenSearch, and writes down all it is sent."""

    url: str = ""
    heard: list[str] = field(default_factory=list)

    def knows_the_secret(self) -> bool:
        return any(SECRET in heard or b64encode(f"me:{SECRET}".encode()).decode() in heard for heard in self.heard)


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode(errors="replace")
            found.heard.append(f"{self.requestline}\n{self.headers}\n{body}")
            said = json.dumps({"version": {"number": "3.1.0", "distribution": "opensearch"}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = do_PUT = do_HEAD = answer

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found
        server.shutdown()


@dataclass(frozen=True)
class Place:
    """A stranger's folder, the user's configuration, and the way to run a command there."""

    folder: Path
    user: Path
    run_cli: RunCli

    def write(self, text: str) -> None:
        (self.folder / "sparc-search.toml").write_text(text, encoding="utf-8")

    def load(self, **environ: str) -> Settings:
        return load(environ=environ, folder=self.folder, user_folder=self.user)

    def run(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        environ = {"XDG_CONFIG_HOME": str(self.user.parent), "SPARC_SEARCH_ENCODER": "toy", **environ}
        return self.run_cli(*arguments, cwd=self.folder, env=environ)

    def refused(self, **environ: str) -> str:
        """The message of a refusal; the names of the settings stand at its end."""
        with pytest.raises(ConfigError) as caught:
            self.load(**environ)
        assert f"sparc-search config trust {self.folder}" in caught.value.remedy
        return caught.value.message


@pytest.fixture
def place(tmp_path: Path, run_cli: RunCli) -> Place:
    found = Place(tmp_path / "downloads", tmp_path / "config" / "sparc-search", run_cli)
    found.folder.mkdir()
    found.user.mkdir(parents=True)
    return found


@pytest.fixture(params=["a file", "the environment", "the user's own file", "a key"])
def attack(request: pytest.FixtureRequest, place: Place, listener: Listener, tmp_path: Path) -> dict[str, str]:
    """A folder that wants a secret sent to its own address; the environment in which the user works there."""
    text = f"engine = 'opensearch'\nurl = '{listener.url}'\n"
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    environ: dict[str, str] = {}
    if request.param == "a file":
        text += f"user = 'me'\npassword_file = '{secret}'\n"
    elif request.param == "the environment":
        environ = {"SPARC_SEARCH_USER": "me", "SPARC_SEARCH_PASSWORD": SECRET}
    elif request.param == "the user's own file":
        (place.user / "sparc-search.toml").write_text(f"user = 'me'\npassword = '{SECRET}'\n")
    else:
        environ = {"SPARC_SEARCH_API_KEY": SECRET, "SPARC_SEARCH_ENGINE": "opensearch"}
    place.write(text)
    return environ


def test_nothing_is_sent_until_the_user_trusts_the_folder(
    place: Place, listener: Listener, attack: dict[str, str]
) -> None:
    done = place.run("ask", "Who am I?", **attack)
    assert done.returncode == 2
    assert listener.heard == []
    assert "url" in done.stderr
    assert f"`sparc-search config trust {place.folder}`" in done.stderr

    assert place.run("config", "trust").returncode == 0
    place.run("ask", "Who am I?", **attack)
    assert listener.knows_the_secret()  # as before there was trust: so the test would see it

    listener.heard.clear()
    place.write((place.folder / "sparc-search.toml").read_text() + "# other\n")
    done = place.run("ask", "Who am I?", **attack)
    assert (done.returncode, listener.heard) == (2, [])
    assert "has changed since you trusted it" in done.stderr


def test_python_is_refused_alike(place: Place, listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparc_search import Index

    place.write(f"engine = 'opensearch'\nurl = '{listener.url}'\n")
    monkeypatch.chdir(place.folder)
    with pytest.raises(ConfigError, match="sets: engine, url"):
        Index.open()
    assert listener.heard == []


def test_what_the_user_says_himself_needs_no_trust(place: Place, listener: Listener) -> None:
    place.write("engine = 'opensearch'\nurl = 'https://stranger.example'\n")
    environ = {"SPARC_SEARCH_USER": "me", "SPARC_SEARCH_PASSWORD": SECRET}
    place.run("ask", "Who?", "--engine", "opensearch", "--url", listener.url, **environ)
    assert listener.knows_the_secret()


@pytest.mark.parametrize("key", [key for key, setting in all_declared().items() if setting.harmless])
def test_harmless_settings_are_taken(place: Place, key: str) -> None:
    setting = all_declared()[key]
    value = {str: setting.choices[-1] if setting.choices else "", int: 7, float: 0.7, bool: False}.get(
        type(setting.default), "inside"
    )
    place.write(f"{key} = {json.dumps(value)}\n")
    assert place.load().sources[key].startswith("file ")


@pytest.mark.parametrize("key", [key for key, setting in all_declared().items() if not setting.harmless])
def test_all_others_are_refused_and_named(place: Place, key: str) -> None:
    value = {bool: "true", int: "99", float: "0.9"}.get(type(all_declared()[key].default), "'other'")
    place.write(f"{key} = {value}\ntop_k = 3\n")
    assert place.refused().endswith(f"is in a folder you do not trust, and sets: {key}")


def test_what_is_refused() -> None:
    """Each of these reaches out of the folder: SECURITY.md says how."""
    assert {key for key, setting in all_declared().items() if not setting.harmless} == {
        *("engine", "encoder", "dense_store", "model", "read_with"),
        *("host", "token", "token_file", "connections", "request_seconds", "login_tries"),
        *("url", "index_name", "ca_file", "allow_http"),
        *("user", "password", "password_file", "api_key", "api_key_file"),
    }


def test_what_changes_nothing_is_taken(place: Place) -> None:
    (place.user / "sparc-search.toml").write_text("url = 'https://mine'\nencoder = 'torch'\n")
    place.write("engine = 'local'\nmodel = 'default'\nurl = 'https://mine'\nencoder = 'torch'\n")
    assert place.load().encoder == "torch"
    place.write("encoder = 'onnx'\n")  # the default, but not what the user chose
    assert place.refused().endswith("sets: encoder")


@pytest.mark.parametrize("index", ["../other", "/elsewhere", "~/notes", "link/index", "inside/../../other"])
def test_an_index_outside_the_folder_is_refused(place: Place, index: str) -> None:
    (place.folder / "link").symlink_to(place.user)
    place.write(f"index = '{index}'\n")
    assert place.refused().endswith("sets: index (outside the folder)")


def test_a_secret_file_inside_the_folder_is_no_exception(place: Place, tmp_path: Path) -> None:
    (place.folder / "word").symlink_to(tmp_path / "secret")
    place.write("password_file = 'word'\n")
    assert place.refused().endswith("sets: password_file")


def test_trust_belongs_to_the_real_folder_and_can_be_taken_back(place: Place, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(place.folder)
    place.write("index = '../other'\npassword = 'hidden'\n")
    done = place.run("config", "trust", str(tmp_path / "link"), "--json")
    assert json.loads(done.stdout) == {
        "folder": str(place.folder),
        "settings": {"index": f"{tmp_path}/link/../other", "password": "********"},
    }
    assert place.load().of_plugin("stores", "opensearch")["password"] == "hidden"
    assert json.loads(place.run("config", "trusted", "--json").stdout) == {str(place.folder): "unchanged"}
    place.write("password = 'another'\n")
    assert "changed" in place.run("config", "trusted").stdout
    assert "has changed since you trusted it" in place.refused()
    assert place.run("config", "untrust").returncode == 0
    assert "in a folder you do not trust" in place.refused()
    assert place.run("config", "untrust").returncode == 2


def test_trust_in_one_folder_is_no_trust_in_its_copy(place: Place, tmp_path: Path) -> None:
    place.write("engine = 'opensearch'\n")
    assert place.run("config", "trust").returncode == 0
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "sparc-search.toml").write_bytes((place.folder / "sparc-search.toml").read_bytes())
    with pytest.raises(ConfigError, match="sets: engine"):
        load(environ={}, folder=copy, user_folder=place.user)


def test_the_settings_can_be_looked_at_without_trust(place: Place) -> None:
    place.write("url = 'https://stranger.example'\ntop_k = 3\n")
    shown = json.loads(place.run("config", "show", "--json").stdout)
    assert shown["url"]["source"] == "file sparc-search.toml (refused: not trusted)"
    assert shown["top_k"] == {"value": 3, "source": "file sparc-search.toml"}


def test_a_folder_without_a_file_cannot_be_trusted(place: Place) -> None:
    assert "there is no" in place.run("config", "trust").stderr


def test_a_list_that_cannot_be_read_trusts_nobody(place: Place) -> None:
    place.write("url = 'https://stranger.example'\n")
    for text in ("", "[]", '{"folders": 3}', "\x00"):
        (place.user / "trusted.json").write_text(text)
        with pytest.raises(ConfigError, match="cannot read the list of trusted folders"):
            place.load()
    place.write("top_k = 3\n")
    assert place.load().top_k == 3  # nobody asked


def test_the_users_own_folder_is_his_own(place: Place) -> None:
    (place.user / "sparc-search.toml").write_text("url = 'https://mine'\n")
    found = read(environ={}, folder=place.user, user_folder=place.user).settings()
    assert found.plugin_values == {"url": "https://mine"}
