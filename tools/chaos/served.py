"""A real `sparc-search serve` process on an index of its own, with few file handles and a log that is kept."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
CORPUS: Final = ROOT / "examples" / "corpus" / "geography"
TOKEN: Final = "a-token-for-this-campaign-only"
HANDLES: Final = 128
REQUEST_SECONDS: Final = 1.0


@dataclass(slots=True)
class Served:
    """A server that runs. `cookie` is what a person gets who has logged in."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    cookie: str = ""

    def login(self) -> None:
        """Get the cookie."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/login", f"token={TOKEN}", form)
        self.cookie = str(connection.getresponse().getheader("set-cookie")).partition(";")[0]
        connection.close()

    def ask(self, path: str) -> tuple[int, bytes]:
        """One request of somebody who means well."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path, headers={"Cookie": self.cookie})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def is_healthy(self) -> bool:
        """Whether it answers."""
        try:
            status, body = self.ask("/healthz")
            return status == 200 and json.loads(body)["status"] == "ok"
        except (OSError, ValueError, http.client.HTTPException):
            return False

    def stop(self) -> int:
        """Tell it to stop; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """Read a small corpus, and serve it until the end."""
    index = folder / "index"
    program = [sys.executable, "-m", "sparc_search.cli.main"]
    subprocess.run([*program, "ingest", CORPUS, "--index", index], check=True, capture_output=True, cwd=folder)
    limits = ["--request-seconds", str(REQUEST_SECONDS), "--waiting", "20", "--workers", "2"]
    log = folder / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [
                "sh",
                "-c",
                f'ulimit -n {HANDLES}; exec "$@"',
                "sh",
                *program,
                "serve",
                "--index",
                index,
                "--port",
                "0",
                *limits,
            ],
            stderr=file,
            cwd=folder,
            env={**os.environ, "SPARC_SEARCH_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"},
        )
    try:
        server = Served(process, _port(process, log), log)
        server.login()
        yield server
    finally:
        process.kill()
        process.wait()


def _port(process: subprocess.Popen[bytes], log: Path, patience: float = 120) -> int:
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r" at http://127\.0\.0\.1:(\d+)/", log.read_text())
        if found:
            return int(found[1])
        time.sleep(0.05)
    raise RuntimeError(f"the server did not start: {log.read_text()}")


def questions(most: int) -> list[str]:
    """Questions about the corpus."""
    lines = (ROOT / "examples" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [str(row["question"]) for row in rows if row["source"].startswith(CORPUS.name)][:most]
