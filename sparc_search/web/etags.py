"""ETags by the state of the index: whoever has an answer of this state need not be sent it again.

They are weak: two answers of one state differ in the time they took. A server with another version, model or settings
has other tags.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from typing import Final

from sparc_search.index import Index
from sparc_search.settings import CORE, Settings

HEADERS: Final = {"Cache-Control": "private, no-cache"}
"""An answer may be kept by whoever asked, and must be asked for again each time."""
_TAG: Final = re.compile(r'(?:W/)?("[^"]*")')


def tag_of(index: Index) -> str:
    """The tag of everything that an index answers in its present state."""
    with index.engine.view() as view:
        identity, snapshot = view.identity, view.statistics([]).snapshot
    encoder = index.encoder.tuned or index.encoder.fingerprint
    return f'W/"{snapshot}-{_digest(identity, encoder, _answering(index.settings))}"'


def is_known(tag: str, if_none_match: str) -> bool:
    """Whether a client says that it has the answer of this tag (RFC 9110, 13.1.2)."""
    return if_none_match.strip() == "*" or tag.removeprefix("W/") in _TAG.findall(if_none_match)


def _answering(settings: Settings) -> str:
    """What answers may depend on, as text; no secret is in it."""
    return repr([(name, getattr(settings, name)) for name, setting in CORE.items() if not setting.secret])


@cache
def _digest(*parts: str) -> str:
    return blake2b("\0".join((version("sparc-search"), *parts)).encode(), digest_size=6).hexdigest()
