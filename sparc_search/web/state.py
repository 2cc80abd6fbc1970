"""What the handlers of one application share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import Request

from sparc_search import inspection
from sparc_search.errors import EngineError, UsageError
from sparc_search.index import Index
from sparc_search.loaders import history

from .brake import Brake
from .limits import Gate, WebLimits
from .requests import ApiParameters
from .watching import Watch

if TYPE_CHECKING:
    from .feedback import Feedback
    from .metrics import Metrics

Result = TypeVar("Result")


@dataclass(slots=True)
class AppState:
    """An open index, the limits, and who is inside."""

    index: Index
    limits: WebLimits
    gate: Gate
    token: str
    brake: Brake
    metrics: Metrics | None = None
    also: Mapping[str, Index] = field(default_factory=dict)
    """Further indexes by name, to put beside the first."""
    feedback: Feedback | None = None
    watch: Watch = field(init=False)
    _parameters: dict[tuple[int, ...], ApiParameters] = field(default_factory=dict)
    _kept: dict[str, tuple[tuple[str, int], Any]] = field(default_factory=dict)
    """What was counted of a state of the index, by name."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.watch = Watch(self.index)

    @property
    def parameters(self) -> ApiParameters:
        """What may be asked for. Which n-grams there are depends on the model."""
        ngrams = tuple(self.index.encoder.ngrams)
        if ngrams not in self._parameters:
            self._parameters[ngrams] = ApiParameters(self.limits, ngrams)
        return self._parameters[ngrams]

    async def run(self, work: Callable[[], Result]) -> Result:
        """Some work behind the gate, all of it with one model."""
        return await self.gate.run(lambda: self.index.following(work))

    def overview(self) -> inspection.IndexView:
        """The index as a whole; looked at again when it has changed."""
        view = self._once("overview", lambda: inspection.index_view(self.index))
        location = self.index.settings.index
        runs, rejected = tuple(history.ingests(location)), tuple(history.rejects(location))
        return replace(view, ingests=runs, rejects=rejected)  # a run that adds nothing leaves its line too

    def metadata(self) -> Mapping[str, Sequence[tuple[str, int]]]:
        """What one can filter by; nothing where the store cannot tell, or not now: answers matter more."""
        try:
            return self._once("metadata", lambda: _metadata(self.index))
        except (UsageError, EngineError):
            return {}

    def _once(self, name: str, count: Callable[[], Result]) -> Result:
        """What is counted once for each state of the index."""
        with self.index.engine.view() as now:
            seen = (now.identity, now.statistics([]).snapshot)
        with self._lock:
            if name not in self._kept or self._kept[name][0] != seen:
                self._kept[name] = (seen, count())
            found: Result = self._kept[name][1]
        return found


def _metadata(index: Index) -> Mapping[str, Sequence[tuple[str, int]]]:
    with index.engine.view() as view:
        return view.metadata_values(10)


def state_of(request: Request) -> AppState:
    """The state of the application that got a request."""
    state = request.app.state.shared
    assert isinstance(state, AppState)
    return state
