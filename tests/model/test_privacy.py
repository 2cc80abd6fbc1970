"""What a question leaves behind, and where it goes: nothing, and nowhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ASK = """
import os
from sparc_search.model.encoder_onnx import open_encoder
open_encoder("default").encode_questions(["Who signed the lease?"])
files = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
print([os.readlink(file) for file in files if os.path.lexists(file)])
"""


def test_the_runtime_writes_and_sends_nothing(tmp_path: Path) -> None:
    home = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    home.pop("ORT_DISABLE_TELEMETRY", None)
    done = subprocess.run([sys.executable, "-c", ASK], env=home, capture_output=True, text=True, check=True)
    assert list(tmp_path.rglob("*")) == []
    assert "socket:" not in done.stdout
    assert "onnxruntime.db" not in done.stdout
