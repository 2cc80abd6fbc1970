"""Examples in the description of the API: what to send, and what an error looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

PARAMETERS: Final[Mapping[str, Any]] = {
    "q": "When was the Suez Canal opened?",
    "k": 3,
    "strategy": "hybrid",
    "where": ["year=2024"],
    "without": ["draft=true"],
    "feature": ["start:canal"],
    "text": "canal",
    "span": "12-17",
    "start": 0,
    "end": 16,
    "passage": "history/suez-canal.md#1",
    "offset": 0,
    "size": 25,
    "id": "history/suez-canal.md",
    "name": "canal",
}
"""By the name of the parameter, wherever it stands."""

BATCH: Final[Mapping[str, Any]] = {
    "questions": ["When was the Suez Canal opened?", "Who built the Eddystone lighthouse?"],
    "k": 1,
    "where": {"year": "2024"},
}

TEXT: Final[Mapping[str, Any]] = {
    "text": "The Eiger was first climbed in 1858 by Charles Barrington.",
    "phrase": "1858",
}

ERROR: Final[Mapping[str, Any]] = {
    "error": {
        "status": 422,
        "type": "invalid_parameter",
        "message": "'k' is '0'",
        "remedy": "give a whole number from 1 to 50",
        "parameter": "k",
    }
}
