"""Real servers, started by the fixtures that other tests build on."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest
from servers import LITTLE_ROOM, Access, CustomOpenSearch, SecuredOpenSearch

from sparc_search.servers.cluster import Cluster, get_json
from sparc_search.servers.products import OPENSEARCH


def test_opensearch_answers(opensearch_url: str) -> None:
    answer = get_json(opensearch_url)
    assert answer is not None
    assert answer["version"]["distribution"] == "opensearch"
    assert answer["version"]["number"] == OPENSEARCH.version


def test_elasticsearch_answers(elasticsearch_url: str) -> None:
    answer = get_json(elasticsearch_url)
    assert answer is not None
    assert "distribution" not in answer["version"]
    assert answer["version"]["number"] == "7.17.29"


def test_settings_reach_the_node(custom_opensearch: CustomOpenSearch) -> None:
    node = custom_opensearch(LITTLE_ROOM)
    answer = get_json(f"{node.url}/_nodes/http")
    assert answer is not None
    (seen,) = answer["nodes"].values()
    assert seen["http"]["max_content_length_in_bytes"] == 300 << 10
    assert custom_opensearch(LITTLE_ROOM) is node


def test_a_node_of_three_can_be_killed_and_comes_back(opensearch_cluster: Cluster) -> None:
    opensearch_cluster.kill(2)
    opensearch_cluster.wait(nodes=2)
    assert get_json(opensearch_cluster.urls[2], timeout=2) is None
    opensearch_cluster.restart(2)
    assert get_json(opensearch_cluster.urls[2]) is not None


def test_a_secured_server_knows_its_users_and_keeps_others_out(secured_opensearch: SecuredOpenSearch) -> None:
    health = f"{secured_opensearch.url}/_cluster/health"
    for user in ("admin", "sparc-ingest", "sparc-ask"):
        assert secured_opensearch.access(user).get_json(health) is not None
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(health)
    assert Access("admin", "wrong", secured_opensearch.ca).get_json(health) is None
