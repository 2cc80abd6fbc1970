"""The few requests that starting and watching a server needs."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class Access:
    """How to get in: user and password, and the certificate that signed the server's."""

    user: str = ""
    password: str = ""
    ca: Path | None = None


def get_json(url: str, access: Access | None = None, timeout: float = 10.0) -> dict[str, Any] | None:
    """What the server answers; none while it does not, or not with success."""
    request = urllib.request.Request(url)
    context = None
    if access:
        token = base64.b64encode(f"{access.user}:{access.password}".encode()).decode()
        request.add_header("Authorization", f"Basic {token}")
        context = ssl.create_default_context(cafile=access.ca)
    # A proxy that the environment names is for the world outside, never for this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(request, timeout=timeout) as answer:
            return cast("dict[str, Any]", json.load(answer))
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError):
        return None
