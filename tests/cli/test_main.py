"""The front door: instant help, exit codes, errors as a sentence and a remedy."""

from __future__ import annotations

import configparser
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from sparc_search.cli.main import COMMANDS, cli, run

HEAVY = ("torch", "transformers", "onnxruntime", "tokenizers", "faiss", "opensearchpy", "starlette", "numpy", "rich")
AddCommand = Callable[[str], str]
RunCli = Callable[..., subprocess.CompletedProcess[str]]


def loaded_after(code: str) -> set[str]:
    """The heavy libraries that a fresh interpreter has loaded after running this."""
    script = f"import sys\n{code}\nsys.stderr.write(' '.join(m for m in {HEAVY!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def modules_after(*arguments: str | Path) -> set[str]:
    """Every module that a fresh interpreter has loaded after this command."""
    code = (
        "import sys; from sparc_search.cli.main import run; assert run(sys.argv[1:]) == 0;"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())


def foreign(modules: set[str]) -> set[str]:
    """The libraries among them that come neither with Python nor with us."""
    tops = {name.partition(".")[0] for name in modules}
    return {name for name in tops - sys.stdlib_module_names - {"sparc_search"} if not name.startswith("_")}


# Slow to import, and of no use to a question or to help.
UNUSED = {
    "importlib.metadata",
    "importlib.resources",
    "email",
    "difflib",
    "tomllib",
    "asyncio",
    "http",
    "ssl",
    "tempfile",
    "filecmp",
    "numpy.ma",
    "multiprocessing",
}


def test_help_imports_next_to_nothing() -> None:
    modules = modules_after("--help")
    assert foreign(modules) == {"click"}
    assert {name for name in modules if name.startswith("sparc_search.")} == {
        *("sparc_search.cli", "sparc_search.cli.main", "sparc_search.cli.options"),
        *("sparc_search.errors", "sparc_search.setting", "sparc_search.settings"),
    }
    assert not modules & (UNUSED | {"json", "logging", "hashlib"})


def test_a_question_imports_what_it_uses(run_cli: RunCli, tmp_path: Path) -> None:
    """The default model and the local engine: no plugin is looked up, and nothing that writes, checks or serves."""
    (tmp_path / "a.txt").write_text("The gold dome was built in 1923.")
    assert run_cli("ingest", "a.txt", "--index", "index").returncode == 0
    for more in ([], ["--json"]):
        modules = modules_after("ask", "When was the dome built?", "--index", tmp_path / "index", *more)
        assert foreign(modules) == {"click", "numpy", "onnxruntime"}
        rooms = {name.split(".")[1] for name in modules if name.startswith("sparc_search.")}
        assert not rooms & {"web", "loaders", "inspection", "evaluation", "training", "servers"}
        assert not {name for name in modules if name.startswith("sparc_search.stores.opensearch.")}
        assert not modules & {f"sparc_search.stores.local.{name}" for name in ("writer", "merging", "verify")}
        assert not modules & {*UNUSED, "shutil"}


def test_help_of_every_command_imports_nothing_heavy() -> None:
    code = f"from sparc_search.cli.main import run\nassert not any(run([c, '--help']) for c in {list(COMMANDS)!r})"
    assert loaded_after(code) <= {"numpy"}


def test_plugins_load_without_the_libraries_they_use() -> None:
    code = "from sparc_search.plugins import describe\ndescribe()"
    assert loaded_after(code) <= {"numpy", "tokenizers"}


def test_the_package_itself_is_light() -> None:
    assert loaded_after("import sparc_search, sparc_search.settings, sparc_search.errors") == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None, f"{name} is in the table, but its module is not there"
    assert (command.help or "").partition("\n")[0].strip() == COMMANDS[name].help
    assert command.name == name


def test_help_lists_every_command_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown and entry.help in shown for name, entry in COMMANDS.items())


def test_no_arguments_show_the_help_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Commands:" in captured.err


def test_an_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["docter"]) == 2
    assert "No such command 'docter'. Did you mean 'doctor'?" in capsys.readouterr().err
    assert run(["qqq"]) == 2
    assert "Known are: " in capsys.readouterr().err


def test_wrong_usage_is_exit_code_2_and_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "show", "--\x1b]0;x\x07"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Usage: sparc-search config show")
    assert "\x1b" not in captured.err


def _version() -> str:
    config = configparser.ConfigParser()
    config.read(Path(__file__).parents[2] / "setup.cfg", encoding="utf-8")
    return config["metadata"]["version"]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"sparc-search, version {_version()}\n"


def test_an_error_is_a_sentence_and_a_remedy(add_command: AddCommand, capsys: pytest.CaptureFixture[str]) -> None:
    name = add_command("raise IndexNotFound('no index at x\\x1b[2J', 'make one')")
    assert run([name]) == 1
    assert capsys.readouterr() == ("", "Error: no index at x␛[2J\n  make one\n")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("pass", 0),
        ("return 3", 3),
        ("click.get_current_context().exit(3)", 3),
        ("raise ConfigError('c', 'r')", 2),
        ("raise UsageError('c', 'r')", 2),
        ("raise click.UsageError('c')", 2),
        ("raise KeyboardInterrupt", 130),
        ("raise Interrupted('stopped', 'run it again to go on')", 130),
        ("raise click.Abort", 130),
    ],
)
def test_exit_codes(add_command: AddCommand, body: str, code: int) -> None:
    assert run([add_command(body)]) == code


def test_a_full_disk_is_said_so(add_command: AddCommand, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([add_command("raise OSError(28, 'No space left on device', '/data/x')")]) == 1
    assert capsys.readouterr().err == "Error: no space left on the disk: /data/x\n  free some, then run it again\n"


def test_an_unforeseen_error_is_a_sentence(add_command: AddCommand, capsys: pytest.CaptureFixture[str]) -> None:
    name = add_command("raise ValueError('odd')")
    assert run([name]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("Error: ValueError: odd\n")
    assert "Traceback" not in shown
    assert "--log-level debug" in shown
    assert run(["--log-level", "debug", name]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_wrong_setting_is_exit_code_2(run_cli: RunCli) -> None:
    done = run_cli("config", "show", env={"SPARC_SEARCH_TOPK": "3"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean SPARC_SEARCH_TOP_K?" in done.stderr


def probe(folder: Path, body: str) -> list[str]:
    """A command line whose command does this, for a process of its own."""
    lines = ["import click, sys, time", "@click.command()", "def probe():", '    "A probe."', f"    {body}"]
    (folder / "probe_command.py").write_text("\n".join(lines))
    start = (
        "from sparc_search.cli import main as m; import sys; sys.argv[1:] = ['probe'];"
        "m.COMMANDS['probe'] = m.Entry('probe_command:probe', 'A probe.'); m.main()"
    )
    return [sys.executable, "-c", start]


def test_control_c_is_quiet_and_130(tmp_path: Path) -> None:
    command = probe(tmp_path, "sys.stdout.write('ready\\n'); sys.stdout.flush(); time.sleep(60)")
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGINT)
        _, shown = child.communicate(timeout=30)
    assert (child.returncode, shown.strip()) == (130, "Error: Interrupted")


@pytest.mark.parametrize("body", ["sys.stdout.write('x' * 10)", "sys.stdout.write('x' * 1_000_000)"])
def test_a_broken_pipe_is_quiet(tmp_path: Path, body: str) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(probe(tmp_path, body), cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_character_that_stdout_cannot_write_is_escaped(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        probe(tmp_path, "sys.stdout.write('Zürich')"), cwd=tmp_path, capture_output=True, env=environment, check=True
    )
    assert done.stdout == b"Z\\xfcrich"
