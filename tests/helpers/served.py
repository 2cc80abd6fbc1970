"""An application behind a real server, in a thread of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from sparc_search.web import serving
from sparc_search.web.limits import WebLimits


@contextmanager
def served(app: object) -> Iterator[str]:
    """Serve it on a free port; its address without the last slash."""
    with serving.bound("127.0.0.1", 0) as listening:
        server = uvicorn.Server(serving.configuration(app, WebLimits()))  # type: ignore[arg-type]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield serving.address_of(listening).rstrip("/")
        finally:
            server.should_exit = True
            thread.join()
