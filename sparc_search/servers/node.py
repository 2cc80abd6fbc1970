"""One server process: its folder, its configuration, its birth and its end."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import ServerError
from .account import other_account, own
from .java import Java
from .ports import APART, LOOPBACK
from .products import Product

STOP_SECONDS = 60.0

# What a server's own jvm.options say about these, ours says better for a small machine.
_OURS = re.compile(
    r"Xm[sx]|ConcMarkSweep|CMSInit|Use\w+GC|G1|Tenuring|InitiatingHeap|GC|gc|HeapDump|ErrorFile|HeapOccupancy"
)
_SMALL = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData")
_TRACE = re.compile(r"\s+(at|\.\.\.) |For complete error details")
_REASON = re.compile(r"[Ee]rror|[Ee]xception|ERROR|FATAL|[Cc]annot|[Cc]ould not|denied")

LOGGING = """status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {path}
appender.file.filePattern = {path}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = [%d{{ISO8601}}][%-5p][%c{{1.}}] %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""


@dataclass(frozen=True, slots=True)
class Node:
    """A node as it is written down: enough to start it, find it again and stop it."""

    name: str
    folder: Path
    port: int

    @property
    def config(self) -> Path:
        """The folder of its settings."""
        return self.folder / "config"

    @property
    def pid_file(self) -> Path:
        """Written by the server; its path on the command line is also how the process is known again."""
        return self.folder / "pid"

    @property
    def log(self) -> Path:
        """What the server writes down."""
        return self.folder / "logs" / "server.log"

    @property
    def console(self) -> Path:
        """What Java says before the server's own log begins, and when it dies."""
        return self.folder / "logs" / "console.log"


@dataclass(frozen=True, slots=True)
class Launch:
    """What starting a node needs besides its name and place."""

    product: Product
    home: Path
    java: Java
    heap: str


def write_configuration(node: Node, launch: Launch, settings: Mapping[str, object]) -> None:
    """Everything in the node's folder that the server reads; its data stays as it is."""
    for folder in (node.folder, node.config, node.folder / "data", node.folder / "logs", node.folder / "tmp"):
        own(folder)
    places = {"path.data": node.folder / "data", "path.logs": node.folder / "logs"}
    ports = {"http.port": node.port, "transport.port": node.port + APART}
    everything = {"network.host": LOOPBACK, **ports, **settings}
    lines = [f"{key}: {json.dumps(value)}\n" for key, value in everything.items()]
    lines += [f"{key}: {json.dumps(str(value))}\n" for key, value in places.items()]
    (node.config / f"{launch.product.name}.yml").write_text("".join(lines))
    heap = (f"-Xms{launch.heap}", f"-Xmx{launch.heap}")
    (node.config / "jvm.options").write_text("\n".join([*_their_options(launch), *heap, *_SMALL]) + "\n")
    (node.config / "log4j2.properties").write_text(LOGGING.format(path=node.log))


def _their_options(launch: Launch) -> Iterator[str]:
    """The options of the server's own jvm.options, without those that are set here."""
    for line in (launch.home / "config" / "jvm.options").read_text().splitlines():
        if line.strip() and not line.startswith("#") and not _OURS.search(line):
            yield line


def spawn(node: Node, launch: Launch, through: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
    """Start the process, as a user other than root and deaf to this terminal's Ctrl-C.

    `through` is a command that the server's own is handed to, and that becomes it.
    """
    account = other_account()
    prefix = launch.product.prefix
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": str(node.folder),
        f"{prefix}_JAVA_HOME": str(launch.java.home),
        f"{prefix}_PATH_CONF": str(node.config),
        f"{prefix}_TMPDIR": str(node.folder / "tmp"),
    }
    shutil.rmtree(node.folder / "tmp", ignore_errors=True)
    own(node.folder / "tmp")
    node.log.unlink(missing_ok=True)
    with node.console.open("wb") as console:
        return subprocess.Popen(
            [*through, launch.home / "bin" / launch.product.name, "-p", node.pid_file],
            cwd=node.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=account.user if account else None,
            group=account.group if account else None,
            extra_groups=[] if account else None,
        )


def is_ours(pid: int, node: Node) -> bool:
    """Whether this process is still that node, and not another program that got its number."""
    question = ["ps", "-ww", "-o", "stat=,command=", "-p", str(pid)]
    shown = subprocess.run(question, capture_output=True, text=True, check=False)
    state, _, command = shown.stdout.strip().partition(" ")
    return not state.startswith("Z") and command.rstrip().endswith(str(node.pid_file))


def stop_process(pid: int, node: Node, patience: float = STOP_SECONDS) -> None:
    """Ask the node to end, and insist if it does not."""
    for number, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, 10.0)):
        if not is_ours(pid, node):
            return
        os.kill(pid, number)
        deadline = time.monotonic() + seconds
        while is_ours(pid, node) and time.monotonic() < deadline:
            time.sleep(0.2)
    if is_ours(pid, node):
        raise ServerError(f"{node.name} (process {pid}) does not end", f"look at {node.log}")


def last_words(node: Node, lines: int = 3) -> str:
    """The last lines of a node's logs that give a reason."""
    told = []
    for path in (node.log, node.console):
        if path.is_file():
            text = path.read_text(errors="replace").splitlines()
            told += [line.strip()[:300] for line in text if _REASON.search(line) and not _TRACE.match(line)]
    return " / ".join(told[-lines:]) or "it said nothing"
