"""Is the process alive, and can it answer?"""

from __future__ import annotations

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from .replies import StrictJSON
from .state import state_of


async def healthz(request: Request) -> Response:
    """`GET /healthz`: the process is alive, and which state of the index it serves."""
    return StrictJSON({"status": "ok", **(await state_of(request).watch.seen()).as_json()})


async def readyz(request: Request) -> Response:
    """`GET /readyz`: the index can be read. Not behind the gate: a busy server is still ready."""
    engine = state_of(request).index.engine
    try:
        statistics = await to_thread.run_sync(engine.statistics)
    except Exception:  # whatever it is, the answer is "not now"; the request that needs the index tells more
        return StrictJSON({"status": "unavailable"}, 503, {"Retry-After": "5"})
    return StrictJSON({"status": "ready", "passages": statistics.passages, "snapshot": statistics.snapshot})
