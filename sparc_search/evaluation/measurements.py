"""Which measurements the tables are made of, and a folder that keeps them: a run that was stopped goes on.

A measurement has a name such as `squad/shipped/hybrid` and a key of everything that decides its result. A kept one is
taken if its key is the same; otherwise it is made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..records import STRATEGIES
from .provenance import write_report

Report = Mapping[str, Any]
Part = str


@dataclass(frozen=True, slots=True)
class OpenRun:
    """One run over questions: by which model, which first stage, and what is switched off."""

    questions: str  # "squad" or "trec"
    model: str
    """shipped: the model of --model. pair: one with SPARC, trained like the next two. dense-only: trained without
    SPARC. trigram: trained with n-grams of three words too."""
    strategy: str = "hybrid"
    without: tuple[Part, ...] = ()

    @property
    def name(self) -> str:
        """The name of its measurement."""
        return "/".join((self.questions, self.model, self.strategy, *(f"without-{part}" for part in self.without)))


def open_runs(models: Sequence[str], questions: Sequence[str]) -> Iterator[OpenRun]:
    """All runs the tables need, the most telling first."""
    yield from (OpenRun(name, model) for name in questions for model in models)
    single = [strategy for strategy in STRATEGIES if strategy != "hybrid"]
    ablated = [model for model in models if model == "shipped"]
    parts: tuple[tuple[Part, ...], ...] = (("sparc",), ("lex",))
    for name in questions:
        yield from (OpenRun(name, model, without=part) for model in ablated for part in parts)
        yield from (OpenRun(name, model, strategy) for model in models if model != "trigram" for strategy in single)
        yield from (OpenRun(name, model, strategy, part) for model in ablated for strategy in single for part in parts)


class KeptMeasurements:
    """A folder of measurements."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, name: str, key: Mapping[str, Any], measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The kept measurement, or a new one, which is kept."""
        path = self.folder / f"{name.replace('/', '_')}.json"
        plain_key = json.loads(json.dumps(key))
        try:
            kept: dict[str, Any] = json.loads(path.read_text("utf-8"))
            if kept["key"] == plain_key:
                return kept
        except (OSError, ValueError, KeyError, TypeError):
            pass  # there is none, or it is of no use: measure
        made = json.loads(json.dumps({**measure(), "name": name, "key": plain_key}))
        write_report(path, made)
        return dict(made)
