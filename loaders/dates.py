"""Dates in a text, as people write them: not what they mean, only that they are some."""

from __future__ import annotations

import re
from typing import Final

_MONTH: Final = (
    "jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?|"
    "sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?"
)
_DATE: Final = re.compile(
    rf"""\b(?:
        \d{{4}}-\d\d?(?:-\d\d?)?            # 2024-03-12
      | \d\d?[./]\d\d?[./]\d{{2,4}}         # 12.03.2024
      | \d\d?(?:st|nd|rd|th|\.)?\ (?:{_MONTH})\b\.?(?:,?\ \d{{4}})?   # 12 March 2024
      | (?:{_MONTH})\.?\ \d\d?(?:st|nd|rd|th)?\b(?:,?\ \d{{4}})?      # March 12, 2024
      | (?:{_MONTH})\.?\ \d{{4}}            # March 2024
      | (?:1[5-9]|20)\d\d                   # 1998
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)


def first_date(text: str) -> str:
    """The first date in a text; empty if there is none."""
    found = _DATE.search(text)
    return found[0] if found else ""
