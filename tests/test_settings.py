"""Settings: which source wins, and what a mistake is answered with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path

import pytest

from sparc_search import settings
from sparc_search.errors import ConfigError
from sparc_search.setting import Setting
from sparc_search.settings import CORE, Settings, Value, load


@dataclass(frozen=True)
class Folders:
    """The two folders that may hold a file, instead of the machine's own."""

    project: Path
    user: Path

    def load(self, flags: Mapping[str, object] | None = None, **environ: str) -> Settings:
        return load(flags or {}, environ=environ, folder=self.project, user_folder=self.user)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    found = Folders(tmp_path / "project", tmp_path / "user")
    found.project.mkdir()
    found.user.mkdir()
    return found


def write(folder: Path, text: str) -> Path:
    path = folder / "sparc-search.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults(folders: Folders) -> None:
    found = folders.load()
    assert found == Settings()
    assert found.index == Path(".sparc-search/index")
    assert {value.source for value in found.values()} == {"default"}


def test_flag_over_environment_over_project_over_user_over_default(folders: Folders) -> None:
    user = write(folders.user, "top_k = 1\nlex_weight = 0.1\nthreads = 1\nstrategy = 'dense'\n")
    project = write(folders.project, "top_k = 2\nlex_weight = 0.2\nthreads = 2\n")
    environ = {"SPARC_SEARCH_TOP_K": "3", "SPARC_SEARCH_LEX_WEIGHT": "0.3"}
    found = folders.load({"top_k": 4, "threads": None}, **environ)
    assert (found.top_k, found.lex_weight, found.threads, found.strategy) == (4, 0.3, 2, "dense")
    assert found.sources["top_k"] == "flag --top-k"
    assert found.sources["lex_weight"] == "environment SPARC_SEARCH_LEX_WEIGHT"
    assert found.sources["threads"] == f"file {project}"
    assert found.sources["strategy"] == f"file {user}"
    assert next(value for value in found.values() if value.key == "engine").source == "default"


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().top_k = 7  # type: ignore[misc]


def test_paths_in_a_file_count_from_its_folder(folders: Folders) -> None:
    write(folders.project, "index = 'my/index'\n")
    write(folders.user, "model = 'my/model'\n")
    found = folders.load()
    assert found.index == folders.project / "my/index"
    assert found.model == str(folders.user / "my/model")


def test_the_default_model_is_no_path(folders: Folders) -> None:
    write(folders.project, "model = 'default'\n")
    assert folders.load().model == "default"


def test_paths_of_flags_and_environment_stay_as_typed_but_home_is_home(folders: Folders) -> None:
    found = folders.load({"index": Path("x/y")}, SPARC_SEARCH_MODEL="~/m")
    assert found.index == Path("x/y")
    assert found.model == str(Path("~/m").expanduser())


def test_a_variable_that_is_set_to_nothing_is_not_set(folders: Folders) -> None:
    assert folders.load(SPARC_SEARCH_TOP_K="").top_k == 5


def test_a_whole_number_is_a_number(folders: Folders) -> None:
    write(folders.project, "lex_weight = 1\n")
    assert folders.load().lex_weight == 1.0


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("topk = 3", "unknown setting topk", "did you mean top_k?"),
        ("zzzzz = 3", "unknown setting zzzzz", "known are: index, "),
        ("top_k = 'three'", "top_k is 'three'", "it must be a whole number"),
        ("top_k = true", "top_k is True", "it must be a whole number"),
        ("top_k = 0", "top_k is 0", "it must be from 1 to 1000000"),
        ("top_k = 1000000000", "top_k is 1000000000", "it must be from 1 to 1000000"),
        ("connections = 7", "connections is 7", "it must be 8 or more"),
        ("top_k = 2.5", "top_k is 2.5", "it must be a whole number"),
        ("lex_weight = nan", "lex_weight is nan", "it must be 0 or more"),
        ("lex_weight = 'x'", "lex_weight is 'x'", "it must be a number"),
        ("index = 7", "index is 7", "it must be text"),
        ("engine = 7", "engine is 7", "it must be text"),
        ("strategy = 'both'", "strategy is 'both'", "it must be one of hybrid, sparse, dense"),
        ("= 3", "is not valid TOML", "correct the file"),
        ("top_k = " + "[" * 100_000, "is not valid TOML", "correct the file"),
        ("top_k = 99999999999999999999", "top_k is too large a number", "take one of at most"),
        ("lex_weight = 1" + "0" * 400, "lex_weight is too large a number", "take one of at most"),
        ("index = 'a\\u0000b'".replace("'", '"'), "index is 'a\\x00b'", "it must be text without a zero character"),
    ],
)
def test_a_mistake_in_a_file(folders: Folders, text: str, message: str, remedy: str) -> None:
    path = write(folders.project, text)
    with pytest.raises(ConfigError) as caught:
        folders.load()
    assert message in caught.value.message
    assert str(path) in caught.value.message
    assert caught.value.remedy.startswith(remedy)
    assert caught.value.exit_code == 2


def test_a_file_that_is_not_utf8(folders: Folders) -> None:
    (folders.project / "sparc-search.toml").write_bytes(b"index = '\xff'")
    with pytest.raises(ConfigError, match="not valid TOML"):
        folders.load()


def test_a_file_that_is_a_folder(folders: Folders) -> None:
    (folders.project / "sparc-search.toml").mkdir()
    with pytest.raises(ConfigError, match="is no file"):
        folders.load()


def test_a_file_that_is_a_pipe(folders: Folders) -> None:
    os.mkfifo(folders.project / "sparc-search.toml")
    with pytest.raises(ConfigError, match="is no file"):
        folders.load()


def test_a_mistake_in_the_environment_is_answered_in_its_spelling(folders: Folders) -> None:
    with pytest.raises(ConfigError) as caught:
        folders.load(SPARC_SEARCH_TOPK="3")
    assert caught.value.remedy == "did you mean SPARC_SEARCH_TOP_K?"
    with pytest.raises(ConfigError, match=r"top_k is 'many' \(environment SPARC_SEARCH_TOP_K\)"):
        folders.load(SPARC_SEARCH_TOP_K="many")


def test_the_user_folder_is_the_platforms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import platformdirs

    for base in ("", str(tmp_path)):
        monkeypatch.setenv("XDG_CONFIG_HOME", base)
        assert str(settings.user_config_folder()) == platformdirs.user_config_dir("sparc-search", appauthor=False)
    monkeypatch.chdir(tmp_path)
    folder = settings.user_config_folder()
    folder.mkdir(parents=True)
    write(folder, "top_k = 9\n")
    assert load().top_k == 9


def test_secrets_are_masked() -> None:
    password = Setting("password", "", "Its password.", secret=True)
    assert Value(password, "hunter2", "default").shown == "********"
    assert Value(password, "", "default").shown == ""
    with pytest.raises(ConfigError) as caught:
        password.checked(12345, "file x", Path())
    assert "12345" not in str(caught.value)


@pytest.mark.parametrize("key", CORE)
def test_every_setting_has_help_and_a_default_it_accepts(key: str, folders: Folders) -> None:
    assert CORE[key].help.endswith(".")
    assert getattr(folders.load({key: CORE[key].default}), key) == CORE[key].default


def test_settings_of_a_plugin_come_from_the_same_places(folders: Folders) -> None:
    write(folders.user, "index_name = 'mine'\npassword_file = 'secrets/word'\nshards = 2\n")
    write(folders.project, "shards = 3\n")
    found = folders.load({"url": "https://here"}, SPARC_SEARCH_ALLOW_HTTP="yes")
    values = found.of_plugin("stores", "opensearch")
    assert (values["index_name"], values["shards"], values["url"]) == ("mine", 3, "https://here")
    assert (values["allow_http"], values["user"]) == (True, "")
    assert values["password_file"] == str(folders.user / "secrets/word")
    assert found.sources["url"] == "flag --url"
    assert found.of_plugin("stores", "local") == {}


def test_changed_settings_are_checked(folders: Folders) -> None:
    found = folders.load().changed(top_k=3, url="https://there")
    assert (found.top_k, found.of_plugin("stores", "opensearch")["url"]) == (3, "https://there")
    with pytest.raises(ConfigError, match="it must be 1 or more"):
        found.changed(shards=0)
    with pytest.raises(ConfigError, match="unknown setting shard "):
        found.changed(shard=1)


@pytest.mark.parametrize(
    "wrong", [("Url", ""), ("a-b", ""), ("", ""), ("größe", ""), ("fine", None), ("fine", ["list"])]
)
def test_a_declaration_that_cannot_be(wrong: tuple[str, object]) -> None:
    with pytest.raises(ConfigError):
        Setting(*wrong, help="A setting.")
