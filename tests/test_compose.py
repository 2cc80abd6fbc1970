"""docker-compose.yml: read by a real compose parser, and with the settings that the tests' own servers run with."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from servers import SECURITY, USERS

from sparc_search.servers.cluster import EVERY_NODE, Cluster
from sparc_search.servers.products import OPENSEARCH
from sparc_search.settings import all_declared

ROOT = Path(__file__).resolve().parent.parent
SECRETS = [*(f"OPENSEARCH_{name}_PASSWORD" for name in USERS.values()), "SPARC_SEARCH_TOKEN"]
NODES = ("opensearch", "opensearch-2", "opensearch-3")


def compose() -> list[str]:
    """The parser: `docker compose`, or the older `docker-compose`."""
    if shutil.which("docker") and not subprocess.run(["docker", "compose", "version"], capture_output=True).returncode:
        return ["docker", "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    pytest.skip("a compose parser: install docker-compose (Debian has it) or the compose plugin of docker")


def parsed(env: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [*compose(), "--env-file", str(env), "--file", str(ROOT / "docker-compose.yml"), *options, "config"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """.env.example as a user would fill it in."""
    text = (ROOT / ".env.example").read_text()
    for name in SECRETS:
        text = re.sub(rf"^{name}=$", f"{name}=secret-{name.lower()}", text, flags=re.MULTILINE)
    path = tmp_path / "env"
    path.write_text(text)
    return path


@pytest.fixture
def services(filled: Path) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    shown = parsed(filled, "--profile", "three", "--profile", "ingest")
    assert shown.returncode == 0, shown.stderr
    found = yaml.safe_load(shown.stdout)["services"]
    assert isinstance(found, dict)
    return found


def environment(service: dict[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in service["environment"].items()}


def as_text(settings: dict[str, Any]) -> dict[str, str]:
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in settings.items()}


def test_a_parser_takes_it_and_each_profile(filled: Path) -> None:
    for options in ((), ("--profile", "three"), ("--profile", "ingest")):
        shown = parsed(filled, *options)
        assert shown.returncode == 0, shown.stderr


def test_without_passwords_it_says_what_to_do(tmp_path: Path) -> None:
    shown = parsed(ROOT / ".env.example")
    assert shown.returncode != 0
    assert "copy .env.example to .env" in shown.stderr


def test_no_password_stands_in_a_file() -> None:
    example = (ROOT / ".env.example").read_text()
    for name in SECRETS:
        assert re.search(rf"^{name}=$", example, re.MULTILINE), name
    text = (ROOT / "docker-compose.yml").read_text()
    for line in text.splitlines():
        if re.search(r"(PASSWORD|TOKEN): ", line):
            assert re.search(r": (&\w+ )?\$\{\w+:\?|: \*\w+$", line), line


def test_every_variable_is_in_the_example() -> None:
    used = set(re.findall(r"(?<!\$)\$\{(\w+)", (ROOT / "docker-compose.yml").read_text()))
    assert used == set(re.findall(r"^(\w+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))


def test_defaults_are_those_of_the_example() -> None:
    defaults = dict(re.findall(r"\$\{(\w+):-([^}]*)\}", (ROOT / "docker-compose.yml").read_text()))
    example = dict(re.findall(r"^(\w+)=(.+)$", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert defaults == example


def test_the_settings_are_those_of_the_tests(services: dict[str, Any], tmp_path: Path) -> None:
    """But for addresses and names: the first node founds the cluster, the others look for it."""
    cluster = Cluster(tmp_path, 9200, nodes=3, settings=SECURITY)
    places = {"discovery.seed_hosts", "node.name", "cluster.initial_cluster_manager_nodes"}
    for name, node in zip(NODES, cluster.nodes, strict=True):
        ours = as_text(cluster.settings_of(node))
        theirs = {key: value for key, value in environment(services[name]).items() if "." in key}
        of_the_image = {"bootstrap.memory_lock"}
        assert theirs.keys() - of_the_image == ours.keys(), name
        assert {key: theirs[key] for key in ours.keys() - places} == {key: ours[key] for key in ours.keys() - places}
        assert theirs["node.name"] == name
        assert theirs["discovery.seed_hosts"] == ",".join(NODES)
        assert theirs.get("cluster.initial_cluster_manager_nodes", "opensearch") == "opensearch"
        assert EVERY_NODE.keys() <= theirs.keys()


def test_versions_are_those_of_the_tests(services: dict[str, Any]) -> None:
    for name in ("security", *NODES):
        assert services[name]["image"] == f"opensearchproject/opensearch:{OPENSEARCH.version}"
    assert services["dashboards"]["image"] == f"opensearchproject/opensearch-dashboards:{OPENSEARCH.version}"


def test_one_node_unless_asked_for_three(filled: Path) -> None:
    yaml = pytest.importorskip("yaml")
    raw = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert {name for name, one in raw.items() if "profiles" not in one} == {
        "security",
        "opensearch",
        "dashboards",
        "web",
    }
    assert {name for name, one in raw.items() if one.get("profiles") == ["three"]} == {"opensearch-2", "opensearch-3"}


def test_everything_has_limits_health_and_a_place_for_its_data(services: dict[str, Any]) -> None:
    for name, one in services.items():
        assert "mem_limit" in one or "deploy" in one, name
        if name not in ("security", "ingest"):  # these end by themselves
            assert one["healthcheck"]["test"], name
            assert one["restart"] == "unless-stopped", name
    volumes = {name: {str(volume) for volume in services[name]["volumes"]} for name in NODES}
    data = [next(volume for volume in found if "/usr/share/opensearch/data" in volume) for found in volumes.values()]
    assert len(set(data)) == len(NODES)


def test_nothing_listens_beyond_this_machine(services: dict[str, Any]) -> None:
    for name, one in services.items():
        for port in one.get("ports", []):
            assert str(port).startswith("127.0.0.1:") or port.get("host_ip") == "127.0.0.1", name


def test_settings_of_our_own_services_are_known(services: dict[str, Any]) -> None:
    for name in ("web", "ingest"):
        for variable in environment(services[name]):
            assert variable.removeprefix("SPARC_SEARCH_").lower() in all_declared(), variable
    assert environment(services["web"])["SPARC_SEARCH_USER"] == "sparc-ask"


def test_the_roles_are_those_of_the_documentation() -> None:
    yaml = pytest.importorskip("yaml")
    script = re.search(r"cat > roles\.yml <<'END'\n(.*?)\nEND", (ROOT / "docker/secure.sh").read_text(), re.DOTALL)
    page = re.search(r"```yaml\n(sparc_ask:.*?)```", (ROOT / "docs/opensearch.md").read_text(), re.DOTALL)
    assert script
    assert page
    ours = yaml.safe_load(script[1])
    assert ours.pop("_meta")["type"] == "roles"
    assert ours == yaml.safe_load(page[1])


def test_the_image_is_built_from_what_is_installed() -> None:
    """Every folder that setup.cfg packs goes to the builder."""
    wanted = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert all((ROOT / name).exists() for name in wanted)
    assert {"sparc_search", "loaders", "cli", "mappings", "setup.cfg", "pyproject.toml"} <= set(wanted)
    assert 'ENTRYPOINT ["sparc-search"]' in (ROOT / "docker/Dockerfile").read_text()
