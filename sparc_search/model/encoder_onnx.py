"""The `onnx` encoder: the default on a CPU. Light to install, and several times faster than torch for one question."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelDamaged
from .encoding import PASSAGE_OUTPUTS, QUESTION_OUTPUTS, BatchTokens, NetworkEncoder, Outputs, sparse_names
from .files import ONNX, PRECISION, QUESTIONS, STATIC, open_model

if TYPE_CHECKING:
    import onnxruntime

_MOST = 2048
"""Tokens of a batch."""
_IN_INTEGERS = ("mixed", "int8", "static8")
"""Precisions in which questions are computed in integers."""


class OnnxNetwork:
    """An `encoding.Network` over an onnxruntime session: the wanted outputs of its one graph."""

    def __init__(self, session: onnxruntime.InferenceSession | Session, outputs: list[str]) -> None:
        self._session, self._outputs = session, outputs

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Outputs:
        """Run the graph on a padded batch."""
        values = self._session.run(self._outputs, {"ids": ids, "mask": mask})
        return dict(zip(self._outputs, values, strict=True))


class Session:
    """A session on so many threads, opened at its first use: an ingest that finds nothing new has none for it."""

    def __init__(self, path: Path, threads: int, *, fused: bool = False) -> None:
        self._path, self._threads, self._fused, self._lock = path, threads, fused, threading.Lock()
        self._session: onnxruntime.InferenceSession | None = None
        self.once = False
        """Whether it is run once: then weights are not packed beforehand, which takes as long as three runs."""

    def run(self, outputs: list[str], inputs: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        """Run the graph; several may at a time."""
        values: list[NDArray[np.float32]] = self.opened().run(outputs, inputs)
        return values

    def opened(self) -> onnxruntime.InferenceSession:
        """The session itself."""
        with self._lock:
            if self._session is None:
                self._session = open_session(self._path, self._threads, fused=self._fused, packed=not self.once)
        return self._session


class OnnxEncoder(NetworkEncoder):
    """An encoder by ONNX Runtime; for one question alone it opens less."""

    question_session: Session
    exact: bool
    """Whether the products of questions are sums of integers, so that it is all one how weights lie in memory."""
    _once = False

    def prepare(self) -> None:
        """Load the network; unless it is for one question, run it too."""
        if self._once:
            self.question_session.opened()
        else:
            super().prepare()

    def expect_one_question(self) -> None:
        """Open the network without what pays only with the next question."""
        self._once = True
        self.question_session.once = self.exact and sums_are_exact()


def open_encoder(model: str = "default", *, threads: int = 0) -> OnnxEncoder:
    """The model on the processor, by ONNX Runtime.

    int8 takes the scale of its activations over a batch, so its batches are one text each. Many small ones are done
    fastest side by side, each on one thread (1.3 times as fast as one after the other on two). With scales that were
    learned (static8) texts could share a batch as they do in fp32; side by side is 1.5 times as fast.
    """
    folder, threads = open_model(model), threads or processors()
    with ThreadPoolExecutor(1) as aside:  # a thread that takes the sum of a file lets others work
        checking = aside.submit(folder.file, ONNX)
        pieces, config = folder.pieces, folder.config
    path = checking.result()
    precision, own = folder.card.get(PRECISION), QUESTIONS in folder.card["sha256"]
    int8 = precision in ("int8", STATIC)
    for_questions = Session(folder.file(QUESTIONS) if own else path, threads, fused=own)
    for_passages = Session(path, 1 if int8 else threads) if int8 or own else for_questions
    names = sparse_names(config)
    question_outputs = [*QUESTION_OUTPUTS, *(f"question_{name}" for name in names)]
    encoder = OnnxEncoder(
        config,
        pieces,
        OnnxNetwork(for_passages, [*PASSAGE_OUTPUTS, *names]),
        OnnxNetwork(for_questions, question_outputs),
        folder.fingerprint,
        BatchTokens(1 if int8 else _MOST, 1 if int8 or own else _MOST),
        folder.card,
        threads if int8 else 1,
    )
    encoder.question_session = for_questions
    encoder.exact = own and folder.card.get(PRECISION) in _IN_INTEGERS and config.body["model_type"] == "bert"
    if folder.tuned:
        encoder.tuned = folder.tuned
        encoder.untuned_questions = OnnxNetwork(for_passages, question_outputs)
    encoder.arithmetic = f"onnx {precision if int8 else 'fp32'}"
    return encoder


def open_session(path: Path, threads: int, *, fused: bool = False, packed: bool = True) -> onnxruntime.InferenceSession:
    """Load a graph; one that was exported `fused` is run as it is, without a search for what could be put together.

    Unless `packed`, weights stay where the file is mapped, and are put in the order of the processor's products in each
    run.

    onnxruntime 1.31 and later would write a device id and send what it does to its makers.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if fused:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if not packed:
        options.add_session_config_entry("session.disable_prepacking", "1")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has many of its own; the hash was right, so the file was made wrong
        raise ModelDamaged(f"{path} cannot be loaded: {error}", "sparc-search model export DIR") from error


def sums_are_exact() -> bool:
    """Whether this processor adds up products of bytes without a bound on the way, as all with VNNI do.

    Others may cut off large sums, or choose another arithmetic for packed weights. numpy has looked already; if it does
    not say, the answer is no.
    """
    try:
        features = import_module("numpy._core._multiarray_umath").__cpu_features__
    except (ImportError, AttributeError):
        return False
    return bool(features.get("AVX512VNNI"))


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
