"""How likely the best answer is right: a logistic function of its score, its lead, and the words that it shares.

    confidence = 1 / (1 + exp(-(bias + score·s + lead·min(s - r, widest) + words·w)))

`s` is the best score, `r` the best one of an answer that says something else. `w` says how much of the question's words
the passage has: the lexical part of the score divided by the sum of their weights. Without it a question whose subject
stands nowhere in the index looks like any other to which the passage answers. The numbers are fitted on held-out
questions and stand in the model's card; a model without them gives no confidence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelDamaged
from ..records import ScorePart
from .lexical import LexWeight

_WORD = re.compile(r"\w+")
_ROUNDS = 50
"""Steps of the fit at the most."""
_ARTICLES = frozenset(("a", "an", "the"))


@dataclass(frozen=True, slots=True)
class Calibration:
    """The fitted numbers."""

    bias: float
    score: float
    lead: float
    widest: float
    """A lead counts up to here; also what an answer without a rival has."""
    words: float = 0.0
    usual: float = 0.0
    """How much of a question's words a passage has on the average, for where that is not known."""

    def confidence(self, score: float, rival: float | None, shared: float | None = None) -> float:
        """Between 0 and 1, for the best score, that of its rival, and how much of the words the passage has."""
        lead = self.widest if rival is None else min(score - rival, self.widest)
        words = self.words * (self.usual if shared is None else shared)
        x = self.bias + self.score * score + self.lead * lead + words
        return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))

    def as_card(self) -> dict[str, float]:
        """What goes into the model's card under `confidence`."""
        return asdict(self)


def from_card(card: Mapping[str, object]) -> Calibration | None:
    """The calibration a model's card holds, if it holds one."""
    found = card.get("confidence")
    if found is None:
        return None
    try:
        assert isinstance(found, Mapping)
        numbers = {name: float(found[name]) for name in ("bias", "score", "lead", "widest")}
        numbers |= {name: float(found.get(name, 0.0)) for name in ("words", "usual")}  # which 0.1.0 had not
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        raise ModelDamaged(
            "the `confidence` part of the model's card is incomplete", "fit it again or remove it from the card"
        ) from error
    return Calibration(**numbers)


def words(text: str) -> tuple[str, ...]:
    """What an answer says: its words without case, marks and articles."""
    return tuple(word for word in _WORD.findall(text.casefold()) if word not in _ARTICLES)


def rival_score(answers: Iterable[tuple[str, float]]) -> float | None:
    """The score of the first (text, score) that says something else than the first of all."""
    first: tuple[str, ...] | None = None
    for text, score in answers:
        said = words(text)
        if first is None:
            first = said
        elif said != first:
            return score
    return None


def shared_words(parts: Iterable[ScorePart], weights: Sequence[LexWeight]) -> float | None:
    """How much of the question's words the passage of these parts has; None if they do not count in its score."""
    total = sum(term.weight for term in weights)
    return sum(part.value for part in parts if part.kind == "lex") / total if total > 0 else None


def fit(
    scores: Sequence[float],
    rivals: Sequence[float | None],
    right: Sequence[bool],
    shared: Sequence[float | None] | None = None,
) -> Calibration:
    """Fit to answered questions."""
    s = np.array(scores, np.float64)
    leads = np.array([np.inf if r is None else a - r for a, r in zip(scores, rivals, strict=True)])
    finite = leads[np.isfinite(leads)]
    widest = float(np.quantile(finite, 0.99)) if len(finite) else 0.0
    columns = [np.ones(len(s)), s, np.minimum(leads, widest)]
    known = [value for value in shared or () if value is not None]
    if not known:
        bias, score, lead = logistic(np.stack(columns, axis=1), np.array(right, np.float64))
        return Calibration(bias, score, lead, widest)
    usual = sum(known) / len(known)
    columns.append(np.array([usual if value is None else value for value in shared or ()]))
    bias, score, lead, words = logistic(np.stack(columns, axis=1), np.array(right, np.float64))
    return Calibration(bias, score, lead, widest, words, usual)


def logistic(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[float]:
    """The weights of a logistic regression; the first column of `x` is the constant.

    By Newton's method; a slight pull to zero keeps separable data finite.
    """
    pull = np.diag([1e-6, *[1e-3] * (x.shape[1] - 1)])
    weights = np.zeros(x.shape[1])
    for _ in range(_ROUNDS):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        gradient = x.T @ (p - y) + pull @ weights
        hessian = (x * (p * (1 - p))[:, None]).T @ x + pull
        step = np.linalg.solve(hessian, gradient)
        weights -= step
        if np.abs(step).max() < 1e-10:
            break
    found: list[float] = weights.tolist()
    return found
