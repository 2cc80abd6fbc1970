"""Logs on stderr, as text or as one JSON object a line."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Final

from .terminal import sanitise

# They log whole requests: addresses at INFO, bodies at DEBUG. Neither belongs in a log.
_TALKATIVE: Final = ("opensearch", "opensearchpy.trace", "urllib3", "httpcore", "httpx")


def configure(level: str, format: str) -> None:
    """Send the package's logs to stderr, from this level on, as `text` or `json`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


class TextFormatter(logging.Formatter):
    """`12:30:59 WARNING sparc_search.stores: message`, with nothing in it that drives a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as text; a traceback keeps its lines."""
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        line = sanitise(f"{clock} {record.levelname} {record.name}: {record.getMessage()}")
        return line + "".join("\n" + sanitise(row) for row in _traceback(self, record))


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message, and the traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as JSON."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        entry: dict[str, object] = {
            "time": f"{stamp}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if rows := _traceback(self, record):
            entry["traceback"] = rows
        return json.dumps(entry)


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    return formatter.formatException(record.exc_info).splitlines() if record.exc_info else []
