"""The description of the API is true: schemathesis asks what it allows and what it forbids, and checks each answer."""

from __future__ import annotations

from typing import Any

import hypothesis
import schemathesis
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
        path for path in paths if path.startswith("/api/") or path in ("/healthz", "/readyz")
    }
    for path in served["paths"].values():
        for operation in path.values():
            assert operation["summary"].endswith(".")
            assert {"200", "422", "503"} <= set(operation["responses"])


def test_limits_stand_in_the_document(index: Index) -> None:
    told = described(ApiParameters(WebLimits(question=7, answers=3), (1, 2)))["paths"]["/api/ask"]["get"]["parameters"]
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
    case.call_and_validate(app=APP["app"], base_url="http://127.0.0.1:8000")
