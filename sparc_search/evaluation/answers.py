"""Exact match and F1 of an answer, as SQuAD v1.1 defines them.

Both compare answers after *normalising*: lower case, no punctuation (ASCII), no articles (a, an, the), single spaces.
Exact match asks for equality; F1 is the harmonic mean of precision and recall over the bags of words. Of several
right answers the one that fits best counts.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)


def normalise(answer: str) -> str:
    """What two answers must share to be equal."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def exact_match(found: str, right: Iterable[str]) -> float:
    """1 if the answer equals one of the right ones, else 0."""
    return float(normalise(found) in map(normalise, right))


def f1(found: str, right: Iterable[str]) -> float:
    """Largest word overlap with one of the right answers."""
    words = normalise(found).split()
    return max((_overlap(words, normalise(answer).split()) for answer in right), default=0.0)


def _overlap(found: list[str], right: list[str]) -> float:
    common = (Counter(found) & Counter(right)).total()
    if not common:
        return 0.0
    precision, recall = common / len(found), common / len(right)
    return 2 * precision * recall / (precision + recall)
