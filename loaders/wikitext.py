"""The markup of Wikipedia becomes paragraphs and headings: one walk through its nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from .builder import TextBuilder

_HIDDEN_TAGS: Final = frozenset(
    ("ref", "references", "table", "gallery", "math", "timeline", "score", "syntaxhighlight", "imagemap", "style")
)
_HIDDEN_LINKS: Final = ("file:", "image:", "category:", "media:")
_END_MATTER: Final = frozenset(("references", "external links", "see also", "further reading", "notes", "bibliography"))
_BREAK: Final = re.compile(r"\n\s*\n")


def add_wikitext(builder: TextBuilder, markup: str) -> None:
    """Add what a reader of the page reads as its text; sections of references and links are left out."""
    import mwparserfromhell
    from mwparserfromhell.nodes import Heading

    section: list[Any] = []
    wanted, closing = True, 0
    for node in mwparserfromhell.parse(markup).nodes:
        if isinstance(node, Heading):
            _add_section(builder, section if wanted else [])
            section = []
            title = _text(node.title.nodes).strip()
            if wanted or node.level <= closing:  # what stands below an unwanted heading is unwanted too
                wanted, closing = title.lower() not in _END_MATTER, node.level
            if wanted:
                builder.heading(node.level, title)
        else:
            section.append(node)
    _add_section(builder, section if wanted else [])


def _add_section(builder: TextBuilder, nodes: list[Any]) -> None:
    for paragraph in _BREAK.split(_text(nodes)):
        lines = (" ".join(line.split()) for line in paragraph.splitlines())
        builder.block("\n".join(line for line in lines if line))


def _text(nodes: list[Any]) -> str:
    """The words of the nodes; the parser bounds how deep they nest."""
    return "".join(_RENDERED[kind](node) for node in nodes if (kind := type(node).__name__) in _RENDERED)


def _link(node: Any) -> str:
    if str(node.title).lower().lstrip(": ").startswith(_HIDDEN_LINKS):
        return ""
    return _text((node.text or node.title).nodes)


def _tag(node: Any) -> str:
    name = str(node.tag).strip().lower()
    if name in ("br", "li", "dt", "dd", "hr"):
        return "\n" + _contents(node)
    return "" if name in _HIDDEN_TAGS else _contents(node)


def _contents(node: Any) -> str:
    return _text(node.contents.nodes) if node.contents else ""


def _template(node: Any) -> str:
    """Most templates are furniture; the few that stand for words of a sentence are spelled out."""
    spell = _SPELLED.get(str(node.name).strip().lower())
    return spell(node) if spell else ""


def _argument(number: int) -> Callable[[Any], str]:
    def spell(template: Any) -> str:
        return _text(template.get(number).value.nodes).strip() if template.has(number) else ""

    return spell


def _quantity(template: Any) -> str:
    return f"{_argument(1)(template)} {_argument(2)(template)}".strip()


def _about(template: Any) -> str:
    return f"c. {_argument(1)(template)}".strip()


_RENDERED: Final[Mapping[str, Callable[[Any], str]]] = {
    "Text": lambda node: str(node.value),
    "Wikilink": _link,
    "ExternalLink": lambda node: _text(node.title.nodes) if node.title else "",
    "HTMLEntity": lambda node: str(node.normalize()),
    "Tag": _tag,
    "Template": _template,
}
_SPELLED: Final[Mapping[str, Callable[[Any], str]]] = {
    "convert": _quantity,
    "cvt": _quantity,
    "lang": _argument(2),
    "nowrap": _argument(1),
    "small": _argument(1),
    "abbr": _argument(1),
    "val": _argument(1),
    "circa": _about,
    "c.": _about,
}
