"""The description of the API is true: schemathesis asks what it allows and what it forbids, and checks each answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import hypothesis
import schemathesis
from jsonschema import Draft202012Validator
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.testclient import TestClient

from sparc_search.index import Index
from sparc_search.web.app import ROUTES, create_app
from sparc_search.web.limits import WebLimits
from sparc_search.web.openapi import described
from sparc_search.web.requests import ApiParameters

from .conftest import MakeIndex

PARAMETERS = ApiParameters(WebLimits(), (1, 2))  # as the toy encoder's
# In the process, without a socket: thousands of requests in seconds. The name is one the server answers to.
SCHEMA = schemathesis.openapi.from_dict(described(PARAMETERS))
APP: dict[str, Any] = {}


def test_the_document_is_served_and_describes_every_route_of_the_api(client: TestClient) -> None:
    served = client.get("/openapi.json").json()
    assert served == described(PARAMETERS)
    paths = {path.replace(":path", "") for path in (getattr(route, "path", "") for route in ROUTES)}
    assert set(served["paths"]) == {
        path for path in paths if path.startswith("/api/v1/") or path in ("/healthz", "/readyz")
    }
    for path in served["paths"].values():
        for operation in path.values():
            assert operation["summary"].endswith(".")
            assert {"200", "422", "503"} <= set(operation["responses"])


def test_names_of_operations_stay_what_they_are(client: TestClient) -> None:
    """Generated clients name their methods after them: add to the list, change nothing in it."""
    described = client.get("/openapi.json").json()["paths"]
    names = {(path, method): told["operationId"] for path, row in described.items() for method, told in row.items()}
    assert names == {
        ("/api/v1/ask", "get"): "ask",
        ("/api/v1/ask", "post"): "ask_many",
        ("/api/v1/search", "get"): "search",
        ("/api/v1/question", "get"): "question",
        ("/api/v1/passages/{id}", "get"): "passage",
        ("/api/v1/documents/{id}", "get"): "document",
        ("/api/v1/features/{name}", "get"): "feature",
        ("/api/v1/score", "get"): "score",
        ("/api/v1/why", "get"): "why",
        ("/api/v1/index", "get"): "index",
        ("/api/v1/suggest", "get"): "suggest",
        ("/api/v1/try", "post"): "try",
        ("/api/v1/complete", "get"): "complete",
        ("/api/v1/discover", "get"): "discover",
        ("/api/v1/discover/download.json", "get"): "download_json",
        ("/api/v1/discover/download.csv", "get"): "download_csv",
        ("/healthz", "get"): "healthz",
        ("/readyz", "get"): "readyz",
    }


def test_paths_without_a_version_answer_as_those_of_version_1(client: TestClient) -> None:
    paths = {getattr(route, "path", "") for route in ROUTES}
    old = {path for path in paths if path.startswith("/api/") and not path.startswith("/api/v1/")}
    assert len(old) == 11
    assert {path.replace("/api/", "/api/v1/") for path in old} <= paths
    for address in ("ask?q=Who+climbed+the+Matterhorn%3F", "passages/alps/1", "features/climbed", "discover"):
        now, before = (client.get(f"{prefix}/{address}").json() for prefix in ("/api/v1", "/api"))
        assert {**now, "seconds": 0} == {**before, "seconds": 0}


def test_examples_are_as_the_schemas_say(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    shown = 0
    for node in _nodes(document):
        if "example" in node and "schema" in node:
            Draft202012Validator({**node["schema"], "components": document["components"]}).validate(node["example"])
            shown += 1
    assert shown > 50


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _nodes(inner)


def test_limits_stand_in_the_document(index: Index) -> None:
    told = described(ApiParameters(WebLimits(question=7, answers=3), (1, 2)))["paths"]["/api/v1/ask"]["get"][
        "parameters"
    ]
    by_name = {parameter["name"]: parameter["schema"] for parameter in told}
    assert by_name["q"]["maxLength"] == 7
    assert by_name["k"]["maximum"] == 3


@SCHEMA.parametrize()
@hypothesis.settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
def test_every_answer_is_as_described(case: Any, make_index: MakeIndex) -> None:
    if not APP:
        APP["app"] = create_app(make_index())
    # What is typed into the box of Discover has a grammar that no pattern describes (tests/inspection/test_grammar.py).
    typed = "/discover" in case.path and "q" in (case.query or {})
    refusable = [positive_data_acceptance] if typed else []
    case.call_and_validate(app=APP["app"], base_url="http://127.0.0.1:8000", excluded_checks=refusable)
