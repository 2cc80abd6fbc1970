"""Numbers as something to see in a terminal: bars, bars to both sides, histograms, words shaded by weight."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.text import Text

from .terminal import styled

_EIGHTHS = " ▏▎▍▌▋▊▉"
_LEVELS = "▁▂▃▄▅▆▇█"

SHADES = ("dim", "", "{0}", "bold {0}", "bold black on {0}")
"""From no weight to the largest. Colours of the terminal's own palette: they fit a dark and a light one."""


def bar(share: float, width: int, style: str) -> Text:
    """A bar of this share of the width, in eighths of a character."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return Text(("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width), style)


def both_ways(share: float, width: int) -> Text:
    """A bar from the middle, in halves of a character: right and green above zero, left and red below."""
    half = width // 2
    full, rest = divmod(min(round(abs(share) * half * 2), half * 2), 2)
    if share < 0:
        drawn = ("▐" * rest + "█" * full or "▕").rjust(half)
        return Text.assemble((drawn, "red"), ("│", "dim"), " " * half)
    drawn = ("█" * full + "▌" * rest or ("▏" if share else "")).ljust(half)
    return Text.assemble(" " * half, ("│", "dim"), (drawn, "green"))


def columns(counts: Sequence[int], style: str) -> Text:
    """A histogram on one line; what is not empty shows."""
    top = max(counts, default=0)
    text = Text()
    for count in counts:
        level = -(-count * (len(_LEVELS) - 1) // top) if top else 0
        text.append(_LEVELS[level] if count else "·", style if count else "dim")
    return text


def shaded(pieces: Sequence[tuple[str, float, str]], colour: str) -> Text:
    """Words one after the other, each in the shade of its share (0 to 1); a style of its own goes before that."""
    text = Text()
    for style, group in groupby(pieces, key=lambda piece: piece[2] or shade(piece[1], colour)):
        text.append_text(styled("".join(piece[0] for piece in group), style, lines=True))
    return text


def shade(share: float, colour: str) -> str:
    """The style for a share of the largest weight."""
    level = 0 if share <= 0 else min(int(share * (len(SHADES) - 1)) + 1, len(SHADES) - 1)
    return SHADES[level].format(colour)


def legend(colour: str) -> Text:
    """The shades, from none to the largest."""
    text = Text()
    for number, style in enumerate(SHADES):
        text.append(" none " if not number else f" {number * 25}% ", style.format(colour))
    return text
