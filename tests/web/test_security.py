"""Who may ask: hosts, tokens, other sites, paths; and what every answer carries."""

from __future__ import annotations

import http.client
from typing import Any

import pytest
from starlette.testclient import TestClient

from sparc_search.index import Index
from sparc_search.web.app import create_app
from sparc_search.web.security import COOKIE, is_loopback, known_hosts, session_of

from .conftest import client_of, served

TOKEN = "correct-horse-battery-staple"
PAGES = (
    "/",
    "/?q=Who+climbed+the+Eiger%3F",
    "/discover",
    "/index",
    "/features/eiger",
    "/passages/alps/0",
    "/openapi.json",
)


@pytest.mark.parametrize("address", [*PAGES, "/healthz", "/static/base.css", "/nope", "/passages/nope"])
def test_every_answer_has_the_headers_and_none_invites_other_origins(client: TestClient, address: str) -> None:
    headers = client.get(address, headers={"origin": "http://127.0.0.1:8000"}).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert not [name for name in headers if name.startswith("access-control-")]
    assert "server" not in headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8000",
        "evil.example@127.0.0.1",
        "127.0.0.1:8000:8000",
        "127.0.0.1 ",
        "127.0.0.1/",
        "2130706433",
        "[::ffff:127.0.0.1]",
        "",
    ],
)
def test_a_host_that_is_not_ours_is_refused_whatever_it_resolves_to(client: TestClient, host: str) -> None:
    for address in ("/", "/api/index", "/healthz", "/static/base.css"):
        answer = client.get(address, headers={"host": host})
        assert answer.status_code == 421
        assert answer.json()["error"]["type"] == "unknown_host"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:99", "LOCALHOST", "[::1]:8000"])
def test_the_loopback_names_are_ours(client: TestClient, host: str) -> None:
    assert client.get("/healthz", headers={"host": host}).status_code == 200


def test_further_hosts_may_be_allowed(index: Index) -> None:
    client = client_of(create_app(index, host="0.0.0.0", allowed_hosts=["answers.example"]))
    assert client.get("/healthz", headers={"host": "answers.example:8000"}).status_code == 200
    assert client.get("/healthz", headers={"host": "0.0.0.0:8000"}).status_code == 421
    assert "0.0.0.0" not in known_hosts("0.0.0.0", [])
    assert "192.0.2.7" in known_hosts("192.0.2.7", [])


def test_two_hosts_or_none_are_refused(index: Index) -> None:
    with served(create_app(index)) as address:
        for lines in (["Host: 127.0.0.1", "Host: evil.example"], []):
            raw = "\r\n".join(["GET / HTTP/1.0", *lines, "", ""])
            status = _raw(address, raw.encode())
            assert status.split()[1] in (b"400", b"421")


def test_two_hosts_are_refused_behind_any_server(client: TestClient) -> None:
    both = [("host", "127.0.0.1:8000"), ("host", "evil.example")]
    assert client.get("/healthz", headers=both).status_code == 421
    assert client.get("/healthz", headers=both[:1]).status_code == 200


def _raw(address: str, request: bytes) -> bytes:
    import socket

    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request)
        return connection.recv(100).splitlines()[0]


def test_without_the_token_nothing_is_told(index: Index) -> None:
    client = client_of(create_app(index, token=TOKEN, with_metrics=True), follow_redirects=False)
    for address in (*PAGES, "/api/index", "/metrics", "/api/ask?q=x", "/passages/x/static/1"):
        answer = client.get(address)
        assert answer.status_code == 401, address
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "Matterhorn" not in answer.text
    assert client.post("/api/ask", json={"questions": ["x"]}).status_code == 401
    assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200
    for wrong in (f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer ", f"Basic {TOKEN}", "Bearer ümlaut"):
        assert client.get("/api/index", headers={"authorization": wrong.encode()}).status_code == 401
    assert client.get("/api/index", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert client.get("/api/index", headers={"cookie": f"{COOKIE}={TOKEN}"}).status_code == 401


def test_people_give_the_token_on_a_page(index: Index) -> None:
    client = client_of(create_app(index, token=TOKEN), follow_redirects=False)
    sent = client.get("/index", headers={"accept": "text/html"})
    assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=%2Findex")
    assert "needs its token" in client.get("/login").text
    wrong = client.post("/login", data={"token": "wrong"}, headers={"accept": "text/html"})
    assert wrong.status_code == 200  # for any other a browser writes an error into its console
    assert "not the token" in wrong.text
    told = client.post("/login", data={"token": "wrong"})
    assert (told.status_code, told.headers["www-authenticate"]) == (401, "Bearer")
    assert "set-cookie" not in told.headers
    assert "set-cookie" not in wrong.headers
    right = client.post("/login", data={"token": TOKEN})
    assert (right.status_code, right.headers["location"]) == (303, "/")
    cookie = right.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert TOKEN not in cookie
    assert client.get("/index", headers={"accept": "text/html"}).status_code == 200
    assert session_of(TOKEN) != session_of(TOKEN + "x")
    assert client.post("/login", content=b"x" * 5000).status_code == 413


@pytest.mark.parametrize(
    ("goal", "led"),
    [("/discover?q=sea%20ice", "/discover?q=sea%20ice"), ("//evil.example", "/"), ("https://evil.example", "/"),
     ("/\\evil.example", "/"), ("javascript:alert(1)", "/"), ("/login", "/"), ("/a\r\nSet-Cookie: x", "/")],
)  # fmt: skip
def test_a_link_survives_the_login_and_leads_nowhere_else(index: Index, goal: str, led: str) -> None:
    client = client_of(create_app(index, token=TOKEN), follow_redirects=False)
    answer = client.post("/login", data={"token": TOKEN, "next": goal})
    assert (answer.status_code, answer.headers["location"]) == (303, led)
    shown = client.get("/login", params={"next": goal}).text
    assert "evil.example" not in shown


def test_logging_out(index: Index) -> None:
    client = client_of(create_app(index, token=TOKEN), follow_redirects=False)
    client.post("/login", data={"token": TOKEN})
    page = client.get("/discover?q=sea", headers={"accept": "text/html"})
    assert 'action="/logout"' in page.text
    assert client.post("/logout").status_code == 303
    again = client.get("/discover?q=sea", headers={"accept": "text/html"})
    assert again.headers["location"] == "/login?next=%2Fdiscover%3Fq%3Dsea"
    assert 'action="/logout"' not in client_of(create_app(index)).get("/discover").text


def test_there_is_no_login_where_there_is_no_token(client: TestClient) -> None:
    assert client.get("/login", follow_redirects=False).headers["location"] == "/"


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}, False),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}, False),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, True),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, False),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://127.0.0.1:8000"}, True),
    ],
)
def test_another_site_may_link_here_and_nothing_else(
    client: TestClient, headers: dict[str, str], allowed: bool
) -> None:
    assert client.get("/", headers=headers).status_code == (200 if allowed else 403)


def test_a_form_of_another_site_is_refused(client: TestClient) -> None:
    cross = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert client.post("/api/ask", json={"questions": ["x"]}, headers=cross).status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/static//etc/passwd",
        "/static/..\\app.py",
        "/static/%00",
        "/static/base.css%00.html",
        "/static/",
        "/static/templates/base.html",
        "/passages/../../etc/passwd",
        "/passages/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/api/passages/..%2f..%2fetc%2fpasswd",
        "/features/..%2f..%2f..%2fetc%2fpasswd",
    ],
)
def test_no_path_leads_out(index: Index, path: str) -> None:
    with served(create_app(index)) as address:  # a raw client: no library that tidies the path up
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
    assert answer.status in (200, 404, 422), body
    if answer.status == 200:
        assert path.startswith("/features/")
    for secret in (b"root:", b"import ", b"{% block"):
        assert secret not in body


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("example.org", False),
        ("192.168.0.1", False),
    ],
)
def test_what_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_an_error_is_a_page_for_people_and_json_for_programs(client: TestClient) -> None:
    page = client.get("/passages/<script>alert(1)</script>", headers={"accept": "text/html"})
    assert page.status_code == 404
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "<script>alert" not in page.text
    told: Any = client.get("/passages/x").json()
    assert told["error"]["type"] == "not_there"
