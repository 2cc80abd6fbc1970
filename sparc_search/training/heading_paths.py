"""Heading paths for passages that only have a title: `title › section › term`, as documents with sections give them.

They are made up: a section's name that many texts have, and sometimes a word of the passage itself that is no part of
an answer. The network learns to find the title in such a path, and that the rest may help or not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model.tokenizer import WordPieces
from ..records import ARROW
from .squad_data import TrainingPassage

SECTIONS = (
    "overview, history, background, early life, career, legacy, geography, climate, economy, culture, education, "
    "politics, reception, development, design, production, usage, installation, configuration, options, parameters, "
    "examples, notes, requirements, getting started, reference, frequently asked questions, definitions, results"
)


class HeadingPaths:
    """Draws what stands behind a title."""

    def __init__(self, pieces: WordPieces) -> None:
        self._arrow = pieces([ARROW])[0].ids
        self._sections = [found.ids for found in pieces(SECTIONS.split(", "))]
        words = [pieces.piece(number) for number in range(len(pieces))]
        self._telling = np.asarray([len(word) > 3 and word.isalpha() for word in words])
        self._continues = np.asarray([word.startswith("##") for word in words])

    def draw(self, passage: TrainingPassage, rng: np.random.Generator) -> NDArray[np.int32]:
        """Word pieces of ` › section`, or of ` › section › term`."""
        section = self._sections[int(rng.integers(len(self._sections)))]
        term = self._term(passage, rng) if rng.random() < 0.5 else section[:0]
        parts = [self._arrow, section, *([self._arrow, term] if len(term) else [])]
        return np.concatenate(parts).astype(np.int32)

    def _term(self, passage: TrainingPassage, rng: np.random.Generator) -> NDArray[np.int32]:
        """A whole word of the passage that no answer holds; none if there is none."""
        free = self._telling[passage.ids]
        free[:-1] &= ~self._continues[passage.ids[1:]]
        for question in passage.questions:
            free[question.start : question.end + 1] = False
        places = np.flatnonzero(free)
        return passage.ids[places[[int(rng.integers(len(places)))]]] if len(places) else passage.ids[:0]
