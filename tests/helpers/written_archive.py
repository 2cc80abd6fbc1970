"""A zip archive of texts, as many file formats are."""

from __future__ import annotations

import io
import zipfile


def archive(**members: str) -> bytes:
    """A zip archive; of a name, two underscores are a slash and one a full stop."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name, text in members.items():
            file.writestr(name.replace("__", "/").replace("_", "."), text)
    return data.getvalue()
