"""Array files that are written piece by piece, when how long they get is known only at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class ArrayWriter:
    """A `.npy` file to append to. numpy leaves room in its header, so the length can be put in last."""

    def __init__(self, folder: Path, name: str, dtype: DTypeLike, *more: int) -> None:
        self._stream = (folder / f"{name}.npy").open("wb")
        self._dtype = np.dtype(dtype)
        self._more = more
        self.length = 0
        self._write_header()

    def append(self, array: NDArray[Any]) -> None:
        """Add to the end."""
        self._stream.write(np.ascontiguousarray(array, self._dtype).data)
        self.length += len(array)

    def close(self) -> None:
        """Put the length in and let go of the file."""
        if not self._stream.closed:
            end = self._stream.tell()
            self._stream.seek(0)
            self._write_header()
            self._stream.seek(end)
            self._stream.close()

    def _write_header(self) -> None:
        shape = (self.length, *self._more)
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._stream, header)

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self.close()
        else:
            self._stream.close()
