"""Some formats must be read back and forth; a stream that only goes forward is taken into memory first."""

from __future__ import annotations

import io
from typing import BinaryIO

from .decode import whole
from .limits import JSON_BYTES


def seekable(stream: BinaryIO) -> BinaryIO:
    """The stream itself if it can seek, else its contents."""
    return stream if stream.seekable() else io.BytesIO(whole(stream, JSON_BYTES))
