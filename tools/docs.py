"""Keep the documentation true: write the parts that are made from the code, and check the rest.

python tools/docs.py --write   write docs/cli.md and the tables in docs/configuration.md and docs/architecture.md
python tools/docs.py           check that they are fresh, that links lead somewhere, that commands exist
"""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click

from sparc_search.cli.main import cli
from sparc_search.cli.options import SettingOption
from sparc_search.plugins import BUILT_IN_SETTINGS, GROUPS, settings_of
from sparc_search.setting import Setting
from sparc_search.settings import CORE

ROOT: Final = Path(__file__).resolve().parent.parent
CLI_PAGE: Final = "docs/cli.md"
SETTINGS_PAGE: Final = "docs/configuration.md"
ARCHITECTURE_PAGE: Final = "docs/architecture.md"
BEGIN, END = "<!-- made by tools/docs.py: begin -->", "<!-- made by tools/docs.py: end -->"
WIDTH: Final = 100
_FEW: Final = 2

CLI_HEAD: Final = """# The command line

This page is made from the help texts by `python tools/docs.py --write`; a test says whether it is fresh.

Results go to stdout, everything else (progress, notes, logs, errors) to stderr. `--json` stands wherever there is a
result. Progress bars appear on a terminal only, and `NO_COLOR` is honoured. Whatever comes from documents, file names
or servers is shown without control characters.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | an error: `Error: …`, and below it what to do about it |
| 2 | wrong usage, or a setting that is unknown or out of range |
| 3 | done, but not all of it: some documents were rejected, or answers may be missing |
| 130 | interrupted by Ctrl-C |
"""


def commands(command: click.Command, names: tuple[str, ...] = ("sparc-search",)) -> Iterator[tuple[str, str]]:
    """Every command with its help text, the groups before their members."""
    for name, found in walk(command, names):
        context = click.Context(found, info_name=name, max_content_width=WIDTH, terminal_width=WIDTH)
        context.help_option_names = ["-h", "--help"]
        yield name, found.get_help(context)


def walk(command: click.Command, names: tuple[str, ...] = ("sparc-search",)) -> Iterator[tuple[str, click.Command]]:
    """Every command by its full name, the groups before their members."""
    yield " ".join(names), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            if member is not None and not member.hidden:
                yield from walk(member, (*names, name))


def cli_page() -> str:
    """docs/cli.md as it should be."""
    return CLI_HEAD + "".join(f"\n## {name}\n\n```text\n{help}\n```\n" for name, help in commands(cli))


def settings_tables() -> str:
    """The settings of the core, then those of each built-in plugin that has some."""
    parts = [_table(CORE.values())]
    for group, name in BUILT_IN_SETTINGS:
        own = [setting for setting in settings_of(group, name) if setting.name not in CORE]
        parts.append(f"### {group}: {name}\n\n{_table(own)}")
    return "\n\n".join(parts)


def _table(settings: Iterable[Setting]) -> str:
    rows = ["| key | default | environment | flag | a folder's file | what it is |", "|---|---|---|---|---|---|"]
    for setting in settings:
        about = setting.help
        if setting.choices:
            about += " One of " + ", ".join(f"`{choice}`" for choice in setting.choices) + "."
        default = f"`{setting.default}`" if setting.default != "" else ""
        cells = (f"`{setting.name}`", default, f"`{setting.variable}`", _flag(setting), _without_trust(setting), about)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _flag(setting: Setting) -> str:
    """The flag of a setting, and whose it is if only a few commands have it."""
    having = [name for name, command in walk(cli) if _has(command, setting.name)]
    if not having:
        return ""
    few = ", ".join(f"`{name.removeprefix('sparc-search ')}`" for name in having)
    if having == ["sparc-search"]:
        few = "`sparc-search`, before the command"
    return f"`{setting.flag}`" + (f" of {few}" if len(having) <= _FEW else "")


def _has(command: click.Command, key: str) -> bool:
    return any(isinstance(option, SettingOption) and option.name == key for option in command.params)


def _without_trust(setting: Setting) -> str:
    if not setting.harmless:
        return "if trusted"
    return "yes, inside the folder" if setting.path else "yes"


def with_table(page: str) -> str:
    """docs/configuration.md with fresh tables between its marks."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{settings_tables()}\n{END}{tail}"


def made_pages() -> Iterator[tuple[Path, str]]:
    """Each page that is made from the code, as it should be."""
    yield ROOT / CLI_PAGE, cli_page()
    yield ROOT / SETTINGS_PAGE, with_table(_read(ROOT / SETTINGS_PAGE))
    with_tables = runpy.run_path(str(ROOT / "tools" / "architecture_tables.py"))["with_tables"]
    yield ROOT / ARCHITECTURE_PAGE, with_tables(_read(ROOT / ARCHITECTURE_PAGE))


def problems() -> list[str]:
    """Everything that is stale, missing or leads nowhere."""
    stale = [
        f"{_name(path)} is stale: python tools/docs.py --write" for path, page in made_pages() if _read(path) != page
    ]
    plugins_page = _read(ROOT / "docs/plugins.md")
    silent = [
        f"docs/plugins.md does not speak of sparc_search.{g}" for g in GROUPS if f"sparc_search.{g}" not in plugins_page
    ]
    return stale + silent + [problem for page in pages() for problem in (*_dead_links(page), *_unknown_commands(page))]


def pages() -> list[Path]:
    """The project's own Markdown pages."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def _dead_links(page: Path) -> Iterator[str]:
    text = re.sub(r"```.*?```", "", _read(page), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        place, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        path = (page.parent / place).resolve() if place else page
        if not path.exists():
            yield f"{_name(page)}: no file {target}"
        elif anchor and path.suffix == ".md" and anchor not in _anchors(_read(path)):
            yield f"{_name(page)}: no heading {target}"


def _anchors(text: str) -> set[str]:
    """The anchors that Markdown renderers make of headings."""
    headings = re.findall(r"^#+ +(.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def _unknown_commands(page: Path) -> Iterator[str]:
    """Commands and sub-commands in code that do not exist."""
    known = {name for name, _ in commands(cli)}
    groups = {name.rpartition(" ")[0] for name in known if " " in name}
    for call in re.findall(
        r"(?:^|[`$ (])sparc-search((?: [a-z][a-z-]*)+)", "\n".join(_code(_read(page))), re.MULTILINE
    ):
        name = "sparc-search"
        for word in call.split():
            if name not in groups:
                break
            name = f"{name} {word}"
            if name not in known:
                yield f"{_name(page)}: there is no `{name}`"


def _code(text: str) -> Iterator[str]:
    """What stands in code blocks and between back-ticks."""
    yield from re.findall(r"```\w*\n(.*?)```", text, flags=re.DOTALL)
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def main(arguments: list[str]) -> int:
    """Write or check."""
    if arguments == ["--write"]:
        for path, page in made_pages():
            path.parent.mkdir(exist_ok=True)
            path.write_text(page, encoding="utf-8")
        return 0
    found = problems()
    sys.stderr.write("".join(f"{problem}\n" for problem in found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
