"""Clients of `serve` that are hostile, slow, greedy, clumsy or many, beside some that mean well.

The oracle: whoever means well gets the very answers that were given in silence before, or is told when to come again;
each kind of trouble has its few statuses, none is 5xx, and 408 comes only when the time was up; the server is healthy
after every round, logs a line for a kind of trouble and no traceback, holds no more files at the end than at the
beginning, and ends well when told to stop.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from .served import REQUEST_SECONDS, Served, questions, served
from .tally import Tally
from .wire import HOST, Answer, exchange, request

AT_ONCE: Final = 20
"""Requests of one round, all at the same time."""
MOST_LINES: Final = 12
"""Lines of log a minute: one for each kind of trouble that is made here, and one at the end for what was kept back."""
SEVERAL: Final = 5
TRUE: Final = ("ask", "ask many", "one after the other")
"""The kinds that ask what was asked before."""

PATHS: Final = (
    "/",
    "/api/ask",
    "/api/question",
    "/api/index",
    "/api/discover",
    "/api/suggest",
    "/discover",
    "/features",
)
NAMES: Final = ("q", "k", "strategy", "where", "explain", "rank", "against", "text", "offset", "size", "of", "feature")
VALUES: Final = (
    "",
    "0",
    "-1",
    "1e9",
    "x",
    "\x00",
    "\ud800",
    "ü" * 300,
    "a=b",
    "=",
    "%",
    "true",
    "9" * 30,
    "../../etc/passwd",
)


@dataclass(frozen=True, slots=True)
class Scene:
    """The server, and what it said when nothing was wrong."""

    server: Served
    truth: Mapping[str, Any]

    @property
    def cookie(self) -> bytes:
        """The header of somebody who has logged in."""
        return f"Cookie: {self.server.cookie}\r\n".encode()

    def said(self, reply: Mapping[str, Any]) -> str:
        """What is wrong with an answer to one of our questions; nothing if it is right."""
        expected = self.truth.get(reply["question"])
        return "" if _facts(reply) == expected else f"{reply['question']!r}: {_facts(reply)} in place of {expected}"


Kind = Callable[[Scene, random.Random], tuple[list[Answer], set[int], int]]
"""Sends something; the answers, the statuses they may have, and how many there must be at least."""


def run(rounds: int, seed: int, seconds: float) -> Tally:
    """The campaign."""
    tally = Tally(f"http, seed {seed}", seconds=seconds)
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as server:
        began = time.monotonic()
        truth = {question: _calm(server, question) for question in questions(12)}
        scene, files = Scene(server, truth), _files(server)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for number in range(rounds):
                if tally.is_over():
                    break
                seeds = [f"{seed}/{number}/{place}" for place in range(AT_ONCE)]
                list(pool.map(lambda name: _one(scene, tally, name), seeds))
                tally.rounds += 1
                if not server.is_healthy():
                    tally.contradict(f"round {number}: /healthz does not answer")
        _afterwards(scene, tally, files, time.monotonic() - began)
    return tally


def _one(scene: Scene, tally: Tally, name: str) -> None:
    chance = random.Random(name)
    kind = chance.choice(list(KINDS))
    began = time.monotonic()
    try:
        found, allowed, least = KINDS[kind](scene, chance)
    except (OSError, ValueError) as error:  # a refused connection, a silence of a minute, an answer that is none
        tally.contradict(f"{name} {kind}: {type(error).__name__}: {error}")
        return
    tally.add(kind, ", ".join(str(answer.status) for answer in found) or "closed")
    # On a machine with much else to do any request may arrive too late; none may be called late that was not.
    late = time.monotonic() - began >= REQUEST_SECONDS
    allowed = allowed | {408} if late else allowed - {408}
    wrong = [answer for answer in found if answer.status not in allowed]
    busy = [answer for answer in found if answer.status == 503 and answer.headers.get("retry-after", "").isdigit()]
    if wrong and wrong != busy:
        tally.contradict(f"{name} {kind}: {wrong[0].status} {wrong[0].body[:200]!r}")
    if len(found) < least:
        tally.contradict(f"{name} {kind}: {len(found)} answers, not {least}")
    for answer in found if kind in TRUE else ():
        for reply in _replies(answer):
            if what := scene.said(reply):
                tally.contradict(f"{name} {kind}: {what}")


def _afterwards(scene: Scene, tally: Tally, files: int, seconds: float) -> None:
    server = scene.server
    time.sleep(3 * REQUEST_SECONDS + 1)  # until the last half-open connection is closed
    for question in scene.truth:
        if _calm(server, question) != scene.truth[question]:
            tally.contradict(f"after it all: {question!r} has another answer")
    if _files(server) > files + SEVERAL:
        tally.contradict(f"{_files(server)} files are open, {files} were")
    if (code := server.stop()) != 0:
        tally.contradict(f"told to stop, it ended with {code}")
    lines = server.log.read_text(encoding="utf-8", errors="replace").splitlines()
    if any("Traceback" in line for line in lines):
        tally.contradict("the log has a traceback")
    if len(lines) > MOST_LINES * (2 + seconds / 60):
        tally.contradict(f"the log has {len(lines)} lines")


def _calm(server: Served, question: str) -> Any:
    status, body = server.ask("/api/ask?" + urlencode({"q": question}))
    if status != 200:
        raise RuntimeError(f"asked in silence, the server answered {status}: {body!r}")
    return _facts(json.loads(body))


def _facts(reply: Mapping[str, Any]) -> Any:
    """What does not depend on time."""
    return [(answer["text"], answer["score"]) for answer in reply["answers"]]


def _replies(answer: Answer) -> list[Any]:
    if answer.status != 200 or not answer.body.startswith(b'{"'):
        return []
    found = json.loads(answer.body)
    replies = found.get("replies", [found])
    return [reply for reply in replies if "answers" in reply and "question" in reply]


def _files(server: Served) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


# --- those who mean well ----------------------------------------------------------------------------------------------


def _ask(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    target = "/api/ask?" + urlencode({"q": chance.choice(list(scene.truth))})
    return exchange(scene.server.port, [request("GET", target, scene.cookie)]), {200}, 1


def _ask_many(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    body = json.dumps({"questions": chance.sample(list(scene.truth), 3)}).encode()
    sent = request("POST", "/api/ask", scene.cookie, b"Content-Type: application/json\r\n", body=body)
    return exchange(scene.server.port, [sent[:-5], sent[-5:]], 0.05), {200}, 1


def _one_after_the_other(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    targets = ["/api/ask?" + urlencode({"q": chance.choice(list(scene.truth))}) for _ in range(SEVERAL)]
    sent = [request("GET", target, scene.cookie, last=target is targets[-1]) for target in targets]
    return exchange(scene.server.port, [b"".join(sent)]), {200}, SEVERAL


def _page(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    target = chance.choice(("/", "/discover", "/index", "/features", "/openapi.json", "/static/base.css"))
    return exchange(scene.server.port, [request("GET", target, scene.cookie, b"Accept: text/html\r\n")]), {200}, 1


# --- those who are clumsy ---------------------------------------------------------------------------------------------


def _odd_parameters(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    pairs = [(chance.choice(NAMES), chance.choice(VALUES)) for _ in range(chance.randrange(5))]
    query = "&".join(f"{name}={quote(value, errors='surrogatepass')}" for name, value in pairs)
    sent = request("GET", f"{chance.choice(PATHS)}?{query}", scene.cookie)
    return exchange(scene.server.port, [sent]), {200, 404, 409, 422}, 1


def _odd_body(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    values: list[Any] = [None, [], {}, 0, -1, 1.5, "x", ["x"] * 65, [1], "\u0000", ["x" * 2000], [[]]]
    body = json.dumps({name: chance.choice(values) for name in chance.sample(["questions", "k", "where", "huh"], 2)})
    body = chance.choice([body, body[:-1], "[" * 5000, ""])
    sent = request("POST", "/api/ask", scene.cookie, b"Content-Type: application/json\r\n", body=body.encode())
    return exchange(scene.server.port, [sent]), {200, 400, 422}, 1


def _odd_method(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    method = chance.choice(("PUT", "DELETE", "TRACE", "OPTIONS", "CONNECT", "BREW"))
    return exchange(scene.server.port, [request(method, chance.choice(PATHS), scene.cookie)]), {400, 405}, 1


# --- those who are slow or go away ------------------------------------------------------------------------------------


def _half_open(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    sent = request("GET", "/healthz", b"X-Long: " + b"x" * 200 + b"\r\n")
    return exchange(scene.server.port, [sent[: chance.randrange(len(sent) - 2)]]), {408}, 0


def _trickling(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    sent = request("POST", "/api/ask", scene.cookie, b"Content-Type: application/json\r\n", body=b" " * 500)
    begin = len(sent) - 100 if chance.random() < 0.5 else 20
    pieces = [sent[:begin], *(sent[n : n + 1] for n in range(begin, begin + 30))]
    return exchange(scene.server.port, pieces, REQUEST_SECONDS / 10), {408}, 0


def _gone(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    target = "/api/ask?" + urlencode({"q": chance.choice(list(scene.truth))})
    sent = request("GET", target, scene.cookie)
    cut = chance.choice((len(sent), len(sent) // 2))
    return exchange(scene.server.port, [sent[:cut]], read=False), set(), 0


# --- those who mean harm ----------------------------------------------------------------------------------------------


def _noise(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    return exchange(scene.server.port, [chance.randbytes(chance.randrange(1, 2000))]), {400, 408}, 0


def _mutated(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    """A good request with some of its bytes changed: anything but a failure of the server may come of it."""
    sent = bytearray(request("GET", "/api/ask?q=x", scene.cookie, b"Accept: */*\r\n"))
    for _ in range(chance.randrange(1, 6)):
        sent[chance.randrange(len(sent))] = chance.randrange(256)
    return exchange(scene.server.port, [bytes(sent)]), set(range(200, 500)), 0


def _large_head(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    """Refused as soon as it is large and not yet over; one that comes whole in a single read may pass."""
    line = b"X-%d: %b\r\n" % (chance.randrange(1000), b"x" * 1000)
    return exchange(scene.server.port, [request("GET", "/healthz", line * chance.randrange(100, 300))]), {200, 400}, 0


def _large_body(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    body = b" " * chance.randrange(300_000, 3_000_000)
    sent = request("POST", "/api/ask", scene.cookie, b"Content-Type: application/json\r\n", body=body)
    return exchange(scene.server.port, [sent]), {413}, 0


def _two_lengths(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    hidden = request("GET", "/healthz")
    both = [b"Content-Length: %d\r\n" % chance.choice((0, 5, len(hidden))), b"Transfer-Encoding: chunked\r\n"]
    chance.shuffle(both)
    first = b"POST /api/ask HTTP/1.1\r\n" + HOST + scene.cookie + b"".join(both) + b"\r\n0\r\n\r\n"
    found = exchange(scene.server.port, [first + hidden])
    return found, {400} if len(found) == 1 else set(), 1


def _other_name(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    host = chance.choice((b"evil.example", b"127.0.0.1.evil.example", b"2130706433", b""))
    sent = request("GET", "/api/index", scene.cookie).replace(HOST, b"Host: %b\r\n" % host)
    return exchange(scene.server.port, [sent]), {400, 421}, 1


def _other_site(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    header = chance.choice((b"Origin: http://evil.example\r\n", b"Sec-Fetch-Site: cross-site\r\n"))
    return exchange(scene.server.port, [request("GET", "/api/index", scene.cookie, header)]), {403}, 1


def _guess(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    token = b"Authorization: Bearer %d\r\n" % chance.randrange(10**20)
    return exchange(scene.server.port, [request("GET", "/api/index", token)]), {401, 429}, 1


def _without(scene: Scene, chance: random.Random) -> tuple[list[Answer], set[int], int]:
    return exchange(scene.server.port, [request("GET", chance.choice(PATHS))]), {401}, 1


KINDS: Final[Mapping[str, Kind]] = {
    function.__name__.strip("_").replace("_", " "): function
    for function in (
        *(_ask, _ask_many, _one_after_the_other, _page),
        *(_odd_parameters, _odd_body, _odd_method),
        *(_half_open, _trickling, _gone),
        *(_noise, _mutated, _large_head, _large_body, _two_lengths, _other_name, _other_site, _guess, _without),
    )
}
