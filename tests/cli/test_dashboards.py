"""The file of saved objects, and posting it to a server that answers as Dashboards does.

Dashboards itself is not run by the tests. The server below is a real one on a local port: it checks what Dashboards
checks of a request, reads the form, and answers in its shape.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sparc_search.cli.main import run
from sparc_search.mappings import index_bodies

Object = dict[str, Any]


def exported(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Object]:
    assert run(["dashboards", "export", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def specs(objects: list[Object]) -> dict[str, Object]:
    states = [json.loads(one["attributes"]["visState"]) for one in objects if one["type"] == "visualization"]
    assert all(state["type"] == "vega" for state in states)
    return {state["title"]: json.loads(state["params"]["spec"]) for state in states}


# --- the file --------------------------------------------------------------------------------------------------------


def test_every_reference_is_to_an_object_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    seen: set[tuple[str, str]] = set()
    for one in exported(capsys):
        assert {"type", "id", "attributes", "references", "migrationVersion"} == set(one)
        assert one["attributes"]["title"]
        for reference in one["references"]:
            assert (reference["type"], reference["id"]) in seen
        seen.add((one["type"], one["id"]))
    assert {kind for kind, _ in seen} == {"index-pattern", "search", "visualization", "dashboard"}


def test_names_in_the_texts_are_those_of_the_references(capsys: pytest.CaptureFixture[str]) -> None:
    objects = exported(capsys)
    search = next(one for one in objects if one["type"] == "search")
    source = json.loads(search["attributes"]["kibanaSavedObjectMeta"]["searchSourceJSON"])
    assert source["indexRefName"] == search["references"][0]["name"]
    dashboard = objects[-1]
    panels = json.loads(dashboard["attributes"]["panelsJSON"])
    assert [panel["panelRefName"] for panel in panels] == [own["name"] for own in dashboard["references"]]
    assert [panel["gridData"]["i"] for panel in panels] == [panel["panelIndex"] for panel in panels]


def test_no_two_panels_overlap(capsys: pytest.CaptureFixture[str]) -> None:
    panels = json.loads(exported(capsys)[-1]["attributes"]["panelsJSON"])
    taken: set[tuple[int, int]] = set()
    for place in (panel["gridData"] for panel in panels):
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken
        assert max(x for x, _ in cells) < 48
        taken |= cells


def test_the_views_ask_the_index_for_fields_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    fields = index_bodies("opensearch")["passages"]["mappings"]["properties"]
    objects = exported(capsys, "--index-name", "mine")
    assert objects[0]["attributes"]["title"] == "mine"
    assert set(objects[1]["attributes"]["columns"]) <= set(fields)
    for spec in specs(objects).values():
        assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
        url = spec["data"]["url"]
        assert url["index"] == "mine"
        assert url["%context%"] is True
        body = url["body"]
        assert set(body.get("_source", [])) <= set(fields)
        for script in (own["script"] for own in body.get("script_fields", {}).values()):
            assert all(fields[name]["type"] == "rank_features" for name in script["params"]["fields"])
            assert "params._source" in script["source"]
        for aggregation in body.get("aggs", {}).values():
            assert fields[aggregation["terms"]["field"]]["type"] == "keyword"


def test_the_charts_show_columns_that_their_rows_have(capsys: pytest.CaptureFixture[str]) -> None:
    for spec in specs(exported(capsys)).values():
        made = {"key", "doc_count"} if "aggs" in spec["data"]["url"]["body"] else set()
        for step in spec.get("transform", []):
            made |= {step["as"]} if isinstance(step.get("as"), str) else set()
        shown = {own["field"] for own in spec["encoding"].values() if "field" in own}
        assert shown <= made


def test_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "objects.ndjson"
    assert run(["dashboards", "export", "--out", str(path)]) == 0
    assert "7 objects written" in capsys.readouterr().err
    assert [json.loads(line) for line in path.read_text().splitlines()] == exported(capsys)
    assert run(["dashboards", "export", "--out", str(tmp_path / "no" / "such")]) == 1


# --- a server --------------------------------------------------------------------------------------------------------


@dataclass
class Dashboards:
    """A server on a local port: what it was sent, and what it is to answer."""

    url: str = ""
    requests: list[tuple[str, dict[str, str], list[Object]]] = field(default_factory=list)
    answer: tuple[int, object] = (200, None)
    known: set[tuple[str, str]] = field(default_factory=set)

    def import_(self, path: str, objects: list[Object]) -> Object:
        """Take objects as Dashboards does: what is there conflicts unless it may be overwritten."""
        conflicts = [] if "overwrite=true" in path else [o for o in objects if (o["type"], o["id"]) in self.known]
        self.known |= {(one["type"], one["id"]) for one in objects}
        errors = [
            {"id": o["id"], "type": o["type"], "title": o["attributes"]["title"], "error": {"type": "conflict"}}
            for o in conflicts
        ]
        done = {"success": not errors, "successCount": len(objects) - len(errors)}
        return {**done, "errors": errors} if errors else done


@pytest.fixture
def server() -> Iterator[Dashboards]:
    state = Dashboards()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            objects = form_objects(headers["content-type"], body)
            state.requests.append((self.path, headers, objects))
            status, answer = state.answer
            if "osd-xsrf" not in headers and "kbn-xsrf" not in headers:
                status, answer = 400, {"message": "Request must contain a osd-xsrf header."}
            elif not self.path.startswith("/api/saved_objects/_import"):
                status, answer = 404, {"message": "Not Found"}
            elif status == 200 and answer is None:
                answer = state.import_(self.path, objects)
            self.reply(status, answer)

        def reply(self, status: int, answer: object) -> None:
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/app/login")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    state.url = f"http://127.0.0.1:{http.server_port}"
    yield state
    http.shutdown()
    thread.join()
    http.server_close()


def form_objects(content_type: str, body: bytes) -> list[Object]:
    """The objects of the file in a form, read by somebody else's parser."""
    message = message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body, policy=HTTP)
    (part,) = message.iter_parts()  # type: ignore[attr-defined]
    assert part.get_filename().endswith(".ndjson")
    return [json.loads(line) for line in part.get_payload(decode=True).decode().splitlines()]


def test_posting_them(server: Dashboards, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dashboards", "import", "--url", server.url]) == 0
    assert "7 objects imported" in capsys.readouterr().out
    path, headers, objects = server.requests[0]
    assert path == "/api/saved_objects/_import?overwrite=true"
    assert (headers["osd-xsrf"], headers["kbn-xsrf"]) == ("true", "true")
    assert "authorization" not in headers
    assert objects == exported(capsys)


def test_each_object_that_failed_is_shown(server: Dashboards, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dashboards", "import", "--url", server.url]) == 0
    capsys.readouterr()
    assert run(["dashboards", "import", "--url", server.url, "--keep"]) == 1
    out = capsys.readouterr().out
    assert "not imported: search 'Passages': there is one already" in out
    assert "0 objects imported" in out
    assert run(["dashboards", "import", "--url", server.url, "--keep", "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["failed"]) == 7


def test_what_is_missing_is_named(server: Dashboards, capsys: pytest.CaptureFixture[str]) -> None:
    missing = {"type": "missing_references", "references": [{"type": "index-pattern", "id": "gone"}]}
    error = {"id": "x", "type": "search", "meta": {"title": "a\x1b[31mb"}, "error": missing}
    server.answer = (200, {"success": False, "successCount": 6, "errors": [error]})
    assert run(["dashboards", "import", "--url", server.url]) == 1
    out = capsys.readouterr().out
    assert "index-pattern gone" in out
    assert "\x1b[31m" not in out


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((401, {"message": "Unauthorized"}), "SPARC_SEARCH_USER"),
        ((302, b""), "asks for a login"),
        ((404, b"no handler"), "address of Dashboards"),
        ((413, {"message": "Payload too large"}), "maxImportPayloadBytes"),
        ((500, b"\xff\x00 oops"), "answered 500"),
        ((200, b"<html>hello</html>"), "does not answer as Dashboards"),
        ((200, []), "does not answer as Dashboards"),
    ],
)
def test_a_server_that_refuses(
    server: Dashboards, capsys: pytest.CaptureFixture[str], answer: tuple[int, object], said: str
) -> None:
    server.answer = answer
    assert run(["dashboards", "import", "--url", server.url]) == 1
    assert said in capsys.readouterr().err


def test_nobody_there(server: Dashboards, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dashboards", "import", "--url", "http://127.0.0.1:9"]) == 1
    assert "cannot reach Dashboards" in capsys.readouterr().err


def test_who_we_are(server: Dashboards, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARC_SEARCH_PASSWORD", "s3cret")
    assert run(["dashboards", "import", "--url", server.url, "--user", "me"]) == 0
    assert base64.b64decode(server.requests[0][1]["authorization"].removeprefix("Basic ")) == b"me:s3cret"
    assert "s3cret" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "url", ["http://dashboards.example:5601", "ftp://127.0.0.1", "http://me:secret@127.0.0.1:5601"]
)
def test_addresses_that_are_not_safe(capsys: pytest.CaptureFixture[str], url: str) -> None:
    assert run(["dashboards", "import", "--url", url]) == 2
    assert "secret" not in capsys.readouterr().err
