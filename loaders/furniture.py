"""What a document holds besides its text: menus, "Prev … Next", cookie lines, dotted tables of contents, footers.

Some of it is told by its words, some by being repeated in many documents of one corpus. It stays in the text of its
document, marked as furniture, and is not indexed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from typing import Final

from sparc_search.records import Document, Section

from .blocks import Block, blocks_of

SAMPLE: Final = 24
"""Documents that are looked at before a run, to see what is repeated in them."""

_FEWEST: Final = 4  # documents that must share a block
_SHARE: Final = 0.25  # of the sample
_LONGEST: Final = 400  # characters of a block that can be furniture
_EDGE: Final = (
    300  # characters of text of its own, besides repeated ones, that a document may have before its menu ends
)

_WORDS: Final = re.compile(
    r"""(?ix) (?: \W* (?: prev(?:ious)?(?:\ (?:page|topic|chapter|section))? | next(?:\ (?:page|topic|chapter|section))?
        | up | home | top | back\ to\ top | (?:table\ of\ )?contents | skip\ to\ (?:main\ )?content | search | menu
        | login | log\ in | sign\ in | share | print | print\ this\ page ) \W* )+ """
)
_COOKIES: Final = re.compile(r"(?i)\b(?:we|site|website|page)\b.{0,40}\buses? cookies\b|\baccept (?:all )?cookies\b")
_DOTTED: Final = re.compile(r"(?:\.\s?){4,}\s*(?:\d+|[ivxlc]+)\s*$")
_NUMBER: Final = re.compile(r"\d+")


class Furniture:
    """Knows furniture by its words, and by what it was told is repeated."""

    def __init__(self, repeated: frozenset[bytes] = frozenset()) -> None:
        self._repeated = repeated

    @classmethod
    def of_sample(cls, documents: Iterable[Document]) -> Furniture:
        """What is repeated in at least a quarter of these documents, and in four of them."""
        counts: Counter[bytes] = Counter()
        number = 0
        for document in documents:
            counts.update({_hash(document.text, block) for _, block in _candidates(document)})
            number += 1
        least = max(_FEWEST, _SHARE * number)
        return cls(frozenset(hashed for hashed, count in counts.items() if count >= least))

    def blocks(self, document: Document) -> list[Block]:
        """The blocks of a document that are furniture."""
        candidates = _candidates(document)
        by_words = [block for _, block in candidates if is_furniture(document.text[block.start : block.end])]
        if not self._repeated:
            return by_words
        blocks = [block for _, block in candidates]
        edge = {
            *_at_edge(document.text, blocks, self._repeated),
            *_at_edge(document.text, blocks[::-1], self._repeated),
        }
        return sorted({*by_words, *edge}, key=lambda block: block.start)

    def marked(self, document: Document) -> tuple[Document, list[str]]:
        """The document with its furniture marked, and the texts of that; one that is nothing else is left as it is."""
        marked_already = list(furniture_of(document))
        furniture = self.blocks(document)
        all_blocks = [block for _, blocks in blocks_of(document) for block in blocks]
        if not furniture or len(furniture) == len(all_blocks):
            return document, marked_already
        left_out = {block.start for block in furniture}
        marks: dict[int, Section] = {section.start: section for section in document.sections if section.kind}
        before: Block | None = None
        for block in all_blocks:
            if block.start in left_out:
                marks[block.start] = Section(block.start, kind="furniture")
            elif before and before.start in left_out and block.start not in marks:
                marks[block.start] = Section(block.start, kind="paragraph")
            before = block
        sections = [section for section in document.sections if not section.kind]
        ordered = sorted([*sections, *marks.values()], key=lambda section: (section.start, bool(section.kind)))
        texts = [document.text[block.start : block.end] for block in furniture]
        return replace(document, sections=tuple(ordered)), [*marked_already, *texts]


def furniture_of(document: Document) -> Iterator[str]:
    """The texts that are marked as furniture in a document."""
    for section, following in pairwise([*document.sections, Section(len(document.text))]):
        if section.kind == "furniture":
            yield document.text[section.start : following.start].strip()


def is_furniture(text: str) -> bool:
    """Whether a block is furniture by its words alone."""
    if _DOTTED.search(text):
        lines = text.splitlines()
        return 2 * sum(1 for line in lines if _DOTTED.search(line)) >= len(lines)
    if len(text) > _LONGEST:
        return False
    return bool(_WORDS.fullmatch(text) or _COOKIES.search(text))


def _candidates(document: Document) -> list[tuple[Section, Block]]:
    """Paragraphs and items; a term, its definition, a row or code that many documents have is text of each of them."""
    return [
        (section, block)
        for section, blocks in blocks_of(document)
        for block in blocks
        if block.kind in ("paragraph", "item") and not block.under
    ]


def _at_edge(text: str, blocks: Sequence[Block], repeated: frozenset[bytes]) -> list[Block]:
    """Repeated blocks from one end of a document on, until there was text that is its own."""
    furniture, own = [], 0
    for block in blocks:
        if block.end - block.start <= _LONGEST and _hash(text, block) in repeated:
            furniture.append(block)
        else:
            own += block.end - block.start
            if own > _EDGE:
                break
    return furniture


def _hash(text: str, block: Block) -> bytes:
    words = " ".join(_NUMBER.sub("0", text[block.start : block.end]).split())
    return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=12).digest()
