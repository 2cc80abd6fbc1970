"""Templates, and what makes a stranger's string harmless in them.

Autoescape is on for every template. Besides, every string that a template prints goes through `visible`: control and
bidirectional characters become something to see. No template marks anything as safe.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup

from sparc_search.ngrams import parse_feature

HERE = Path(__file__).parent
STATIC = HERE / "static"

# Control characters but tab and line feed, bidirectional and invisible formatting, tags, lone surrogates. Joiners stay:
# some scripts and emoji cannot be written without them.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)

_BELOW_ZERO = re.compile(r"(?<=[ (])-(?=\d)")


def visible(text: str) -> str:
    """Text in which nothing hides and nothing turns around: ESC is ␛, others are ⟨U+202E⟩."""
    return _UNSAFE.sub(_picture, text.replace("\r\n", "\n"))


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def _finalized(value: object) -> object:
    """What a template prints: nothing for None, visible text for strings; markup is the templates' own."""
    if value is None:
        return ""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def clip(text: str, most: int = 60) -> str:
    """A text that fits a line."""
    return text if len(text) <= most else text[: most - 1] + "…"


def tail(text: str, most: int = 60) -> str:
    """The end of a text that fits a line: of a path it says more than the beginning."""
    return text if len(text) <= most else "…" + text[1 - most :]


def number(value: float | None, digits: int = 2) -> str:
    """A weight or a score; a minus sign is a minus sign, and nothing is `-0.00`."""
    if value is None:
        return ""
    text = f"{value:,.{digits}f}"
    if text.strip("-0.,") == "":
        text = text.lstrip("-")
    return text.replace("-", "−")  # noqa: RUF001


def signed(value: float, digits: int = 2) -> str:
    """A difference."""
    text = number(value, digits)
    return text if text.startswith("−") or not text.strip("0.") else f"+{text}"  # noqa: RUF001


def count(value: int | None) -> str:
    """A whole number with a space between thousands."""
    return "" if value is None else f"{value:,}".replace(",", "\u202f")


def size(value: float | None) -> str:
    """Bytes, in a unit people read."""
    if value is None:
        return ""
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TB"


def percent(value: float | None, digits: int = 0) -> str:
    """A share."""
    return "" if value is None else f"{value * 100:.{digits}f}\u202f%"


def shade(value: float, largest: float) -> int:
    """A weight as one of ten steps; 0 is none at all."""
    if value <= 0 or largest <= 0:
        return 0
    return max(1, min(9, round(9 * value / largest)))


def feature_path(name: str) -> str:
    """The page of a feature."""
    return "/features/" + quote(name, safe="", errors="replace")


def passage_path(passage_id: str, **query: object) -> str:
    """The page of a passage."""
    return with_query("/passages/" + quote(passage_id, safe="", errors="replace"), list(query.items()))


def with_query(path: str, pairs: list[tuple[str, object]]) -> str:
    """An address with its state in it; what is empty is left out."""
    said = [(key, str(value)) for key, value in pairs if value != "" and value is not None]  # token 0 is something
    return path + ("?" + urlencode(said, errors="replace") if said else "")


def readable(name: str) -> str:
    """A feature as people read it: `1882 %2E` is `1882 .`; the pieces of a word stay apart."""
    try:
        return " ".join(parse_feature(name))
    except ValueError:  # no name of ours: shown as it is
        return name


def minus(text: str) -> str:
    """A sentence whose numbers below zero have a minus sign in place of a hyphen."""
    return _BELOW_ZERO.sub("\N{MINUS SIGN}", text)


def pretty(value: object) -> str:
    """JSON for people."""
    return json.dumps(value, ensure_ascii=False, indent=2)


@cache
def static_version() -> str:
    """Changes with any static file. It is a folder of their addresses, so that what one imports has it, too."""
    files = sorted(path for path in STATIC.iterdir() if path.is_file())
    return hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()[:10]


def static_path(name: str) -> str:
    """The address of a static file, which browsers may keep."""
    return f"/static/{static_version()}/{name}"


@cache
def environment() -> jinja2.Environment:
    """The templates."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (clip, tail, number, signed, count, size, percent, pretty, readable, minus)
    made.filters |= {function.__name__: function for function in filters}
    made.globals |= {function.__name__: function for function in (feature_path, passage_path, shade, with_query)}
    made.globals["static"] = static_path
    return made


def render(template: str, **values: Any) -> str:
    """One page."""
    return environment().get_template(template).render(values)
