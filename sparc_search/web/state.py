"""What the handlers of one application share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from starlette.requests import Request

from sparc_search import inspection
from sparc_search.index import Index
from sparc_search.loaders import history

from .brake import Brake
from .limits import Gate, WebLimits
from .requests import ApiParameters

if TYPE_CHECKING:
    from .metrics import Metrics


@dataclass(slots=True)
class AppState:
    """An open index, the limits, and who is inside."""

    index: Index
    limits: WebLimits
    gate: Gate
    token: str
    brake: Brake
    metrics: Metrics | None = None
    parameters: ApiParameters = field(init=False)
    _overview: inspection.IndexView | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.parameters = ApiParameters(self.limits, self.index.encoder.ngrams)

    def overview(self) -> inspection.IndexView:
        """The index as a whole; looked at again when it has changed."""
        snapshot = self.index.engine.statistics().snapshot
        with self._lock:
            view = self._overview
            if view is None or view.snapshot != snapshot:
                view = self._overview = inspection.index_view(self.index)
        location = self.index.settings.index
        runs, rejected = tuple(history.ingests(location)), tuple(history.rejects(location))
        return replace(view, ingests=runs, rejects=rejected)  # a run that adds nothing leaves its line too


def state_of(request: Request) -> AppState:
    """The state of the application that got a request."""
    state = request.app.state.shared
    assert isinstance(state, AppState)
    return state
