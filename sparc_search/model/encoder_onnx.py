"""The `onnx` encoder: the default on a CPU. Light to install, and several times faster than torch for one question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelDamaged
from .encoding import PASSAGE_OUTPUTS, QUESTION_OUTPUTS, NetworkEncoder, Outputs, sparse_names
from .files import ONNX, open_model

if TYPE_CHECKING:
    import onnxruntime


class OnnxNetwork:
    """An `encoding.Network` over an onnxruntime session: the wanted outputs of its one graph."""

    def __init__(self, session: onnxruntime.InferenceSession, outputs: list[str]) -> None:
        self._session, self._outputs = session, outputs

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Outputs:
        """Run the graph on a padded batch."""
        values = self._session.run(self._outputs, {"ids": ids, "mask": mask})
        return dict(zip(self._outputs, values, strict=True))


def open_encoder(model: str = "default", *, threads: int = 0, batch_tokens: int = 2048) -> NetworkEncoder:
    """Entry point `onnx`: encodes on the CPU."""
    import onnxruntime

    folder = open_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    path = folder.file(ONNX)
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has many of its own; the hash was right, so the file was made wrong
        raise ModelDamaged(f"{path} cannot be loaded: {error}", "sparc-search model export DIR") from error
    names = sparse_names(folder.config)
    return NetworkEncoder(
        folder.config,
        folder.pieces,
        OnnxNetwork(session, [*PASSAGE_OUTPUTS, *names]),
        OnnxNetwork(session, [*QUESTION_OUTPUTS, *(f"question_{name}" for name in names)]),
        folder.fingerprint,
        batch_tokens,
        folder.card,
    )
