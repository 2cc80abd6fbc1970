"""Posting saved objects to a running Dashboards (or Kibana), and what it says of each of them."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Final
from uuid import uuid4

from ..errors import EngineError
from ..stores.opensearch.access import ServerAccess

# Both names of one header: OpenSearch Dashboards asks for the first, Kibana for the second.
_GUARD: Final = {"osd-xsrf": "true", "kbn-xsrf": "true"}
_SECONDS: Final = 60.0
_LARGEST: Final = 10_000_000
"""Bytes of an answer that are read."""


@dataclass(frozen=True, slots=True)
class NotImported:
    """An object that was not imported, and why."""

    kind: str
    id: str
    title: str
    reason: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the objects."""

    imported: int
    failed: tuple[NotImported, ...]


def import_objects(access: ServerAccess, ndjson: str, *, overwrite: bool = True) -> Imported:
    """Post the objects to the first address of `access`; `EngineError` if it takes none of them."""
    address = f"{access.urls[0]}/api/saved_objects/_import" + ("?overwrite=true" if overwrite else "")
    boundary = f"sparc-search-{uuid4().hex}"
    headers = {**_GUARD, **_who(access), "Content-Type": f"multipart/form-data; boundary={boundary}"}
    request = urllib.request.Request(address, _form(ndjson, boundary), headers, method="POST")
    return _outcome(_sent(request, access), access.shown)


def _form(ndjson: str, boundary: str) -> bytes:
    head = 'Content-Disposition: form-data; name="file"; filename="sparc-search.ndjson"'
    kind = "Content-Type: application/ndjson"
    return f"--{boundary}\r\n{head}\r\n{kind}\r\n\r\n{ndjson}\r\n--{boundary}--\r\n".encode()


def _who(access: ServerAccess) -> dict[str, str]:
    if access.api_key:
        return {"Authorization": f"ApiKey {access.api_key}"}
    if access.user:
        pair = base64.b64encode(f"{access.user}:{access.password}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}
    return {}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect leads to a page to log in: credentials and objects go nowhere else."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _sent(request: urllib.request.Request, access: ServerAccess) -> bytes:
    handlers: list[Any] = [_NoRedirect(), urllib.request.ProxyHandler({})]
    if access.ca_file:
        handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=access.ca_file)))
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=_SECONDS) as answer:
            body: bytes = answer.read(_LARGEST)
            return body
    except urllib.error.HTTPError as error:
        with error:
            raise _refused(error.code, error.read(_LARGEST), access.shown) from error
    except (OSError, HTTPException) as error:  # URLError is an OSError
        reason = getattr(error, "reason", None) or error
        raise EngineError(
            f"cannot reach Dashboards at {access.shown}: {reason}",
            "name its address with --url; it listens on port 5601 unless told otherwise",
        ) from error


def _refused(status: int, body: bytes, shown: str) -> EngineError:
    said = _object(body).get("message") or body[:200].decode("utf-8", "replace").strip()
    remedy = {
        401: "set SPARC_SEARCH_USER and SPARC_SEARCH_PASSWORD",
        403: "the user may not write saved objects: use another",
        404: "is this the address of Dashboards, and not that of the search server?",
        413: "raise savedObjects.maxImportPayloadBytes of the server",
    }.get(status, "look into the log of the server")
    if 300 <= status < 400:
        remedy, said = "it asks for a login: set SPARC_SEARCH_USER and SPARC_SEARCH_PASSWORD", "a redirect"
    return EngineError(f"Dashboards at {shown} answered {status}: {said}", remedy)


def _outcome(body: bytes, shown: str) -> Imported:
    answer = _object(body)
    if "success" not in answer:
        raise EngineError(f"{shown} does not answer as Dashboards does", "is this the address of Dashboards?")
    failed = tuple(_failed(error) for error in answer.get("errors") or () if isinstance(error, Mapping))
    return Imported(int(answer.get("successCount") or 0), failed)


def _failed(error: Mapping[str, Any]) -> NotImported:
    why = error.get("error")
    why = why if isinstance(why, Mapping) else {}
    meta = error.get("meta")
    title = error.get("title") or (meta.get("title") if isinstance(meta, Mapping) else "")
    return NotImported(str(error.get("type", "")), str(error.get("id", "")), str(title or ""), _reason(why))


def _reason(why: Mapping[str, Any]) -> str:
    kind = str(why.get("type", "unknown"))
    others = [other for other in why.get("references") or () if isinstance(other, Mapping)]
    missing = ", ".join(f"{other.get('type')} {other.get('id')}" for other in others)
    if kind == "conflict":
        return "there is one already (--overwrite replaces it)"
    if missing:
        return f"it refers to what is not there: {missing}"
    said = why.get("message") or why.get("reason")
    return f"{kind}: {said}" if said else kind.replace("_", " ")


def _object(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
