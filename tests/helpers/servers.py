"""Real servers for tests: started when a test asks for one, shared by the session, stopped at its end.

    opensearch_url         one OpenSearch node, for the whole session
    elasticsearch_url      one Elasticsearch 7.17 node, for the whole session
    secured_opensearch     OpenSearch 2.19.1 with TLS and users, for the whole session
    opensearch_cluster     three OpenSearch nodes, for a module; each can be killed and brought back
    custom_opensearch      a function: `custom_opensearch({"http.max_content_length": "2mb"})` is a node of its own

Tests share servers, so they name their indexes with something of their own. What a server needs and the machine
lacks is a skip with a name; where everything is required (REQUIRE_ALL=1), that is a failure.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from sparc_search.errors import ServerError
from sparc_search.servers.account import other_account, own
from sparc_search.servers.cluster import Cluster
from sparc_search.servers.http import Access
from sparc_search.servers.install import install
from sparc_search.servers.java import find_java
from sparc_search.servers.node import Launch, Node, spawn
from sparc_search.servers.ports import free_port
from sparc_search.servers.products import ELASTICSEARCH, OPENSEARCH, SECURED, Product

ROOT = Path(__file__).resolve().parents[2]
USERS = {"admin": "ADMIN", "kibanaserver": "DASHBOARDS", "sparc-ingest": "INGEST", "sparc-ask": "ASK"}
SECURITY = {
    f"plugins.security.ssl.{layer}.{store}_{key}": value
    for layer in ("transport", "http")
    for store, file in (("keystore", "node.p12"), ("truststore", "trust.p12"))
    for key, value in (("type", "PKCS12"), ("filepath", f"opensearch-security/{file}"))
} | {
    "plugins.security.ssl.http.enabled": True,
    "plugins.security.ssl.transport.enforce_hostname_verification": False,
    "plugins.security.nodes_dn": "CN=sparc-search-node",
    "plugins.security.allow_default_init_securityindex": True,
}
"""The settings of a secured node, the same as in docker-compose.yml."""

FIXTURES = {"opensearch_url", "elasticsearch_url", "opensearch_cluster", "custom_opensearch", "secured_opensearch"}
FIXTURES |= {"engine", "server_engine", "opensearch"}  # of tests/helpers/engines.py, which ask for these
PATIENCE = 900.0
"""Seconds until a server must be healthy, on a machine with much else to do."""

SPAWNER = ThreadPoolExecutor(1, thread_name_prefix="spawner")

CustomOpenSearch = Callable[[Mapping[str, object]], Cluster]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that need a server, so that they can run apart from the others (tools/test.py)."""
    if needs_server(item):
        item.add_marker(pytest.mark.servers)
        if not item.get_closest_marker("timeout"):  # the first waits until a server is fetched and has started
            item.add_marker(pytest.mark.timeout(1800))


def needs_server(item: pytest.Item) -> bool:
    """Whether a test asks for a server, by name or through another fixture."""
    return bool(FIXTURES & set(getattr(item, "fixturenames", ())))


def ready(product: Product) -> None:
    """Skip, by name, if the machine cannot run this server at all. A server that starts and then fails is a failure."""
    try:
        find_java(product.oldest_java, product.newest_java)
        install(product)
    except ServerError as error:
        pytest.skip(f"{product.label}: {error}")


@dataclass(frozen=True, slots=True)
class SecuredOpenSearch:
    """A server with TLS and users: `passwords` by name, `ca` signed its certificate."""

    url: str
    ca: Path
    passwords: Mapping[str, str]

    def access(self, user: str) -> Access:
        return Access(user, self.passwords[user], self.ca)


@contextmanager
def running(product: Product, nodes: int = 1, settings: Mapping[str, object] | None = None) -> Iterator[Cluster]:
    """A cluster in a folder of its own, which goes with it; even a killed test run leaves no server behind."""
    ready(product)
    with server_folder() as folder:
        cluster = Cluster(
            folder, free_port(nodes), nodes, product, settings=settings, spawn=spawn_tied_to_us, patience=PATIENCE
        )
        with cluster:
            yield cluster


@contextmanager
def server_folder() -> Iterator[Path]:
    """A folder that a server's own user may enter: the tests' usual ones are for their owner alone."""
    folder = Path(tempfile.mkdtemp(prefix="sparc-search-server-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def spawn_tied_to_us(node: Node, launch: Launch) -> subprocess.Popen[bytes]:
    """Linux ends such a server together with the thread that started it, so that is one which lives as long as we."""
    setpriv = shutil.which("setpriv")
    through = (setpriv, "--pdeathsig", "KILL") if setpriv else ()
    return SPAWNER.submit(spawn, node, launch, through).result()


@pytest.fixture(scope="session")
def opensearch_url() -> Iterator[str]:
    with running(OPENSEARCH) as cluster:
        yield cluster.url


@pytest.fixture(scope="session")
def elasticsearch_url() -> Iterator[str]:
    with running(ELASTICSEARCH) as cluster:
        yield cluster.url


@pytest.fixture(scope="module")
def opensearch_cluster() -> Iterator[Cluster]:
    with running(OPENSEARCH, nodes=3) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def custom_opensearch() -> Iterator[CustomOpenSearch]:
    """One node for each set of settings; asked again for the same, it gives the same node."""
    made: dict[str, Cluster] = {}
    with ExitStack() as stack:

        def start(settings: Mapping[str, object]) -> Cluster:
            key = repr(sorted(settings.items()))
            if key not in made:
                made[key] = stack.enter_context(running(OPENSEARCH, settings=settings))
            return made[key]

        yield start


@pytest.fixture(scope="session")
def secured_opensearch() -> Iterator[SecuredOpenSearch]:
    """Users: `admin`, `sparc-ingest` (may write indexes named sparc-search*), `sparc-ask` (may only read them)."""
    ready(SECURED)
    passwords = {user: secrets.token_urlsafe(16) for user in USERS}
    with server_folder() as folder:
        port = free_port()
        node = Cluster(folder, port).nodes[0]
        security = node.config / "opensearch-security"
        access = Access("admin", passwords["admin"], security / "ca.pem")
        cluster = Cluster(
            folder,
            port,
            product=SECURED,
            settings=SECURITY,
            access=access,
            spawn=spawn_tied_to_us,
            host="localhost",
            patience=PATIENCE,
        )
        own(folder)
        own(node.folder)
        own(node.config)
        secure(security, passwords)
        with cluster:
            yield SecuredOpenSearch(cluster.url, security / "ca.pem", passwords)


def secure(folder: Path, passwords: Mapping[str, str]) -> None:
    """What docker-compose.yml does before its first start: default files of the plugin, then our script."""
    home = install(SECURED)
    shutil.copytree(home / "plugins/opensearch-security/config", folder)
    java = find_java(SECURED.oldest_java, SECURED.newest_java).home
    environment = {f"OPENSEARCH_{USERS[user]}_PASSWORD": password for user, password in passwords.items()}
    places = {"PATH": os.environ["PATH"], "OPENSEARCH_HOME": str(home), "JAVA_HOME": str(java)}
    script = [ROOT / "docker/secure.sh", folder, "localhost", "127.0.0.1"]
    subprocess.run(script, env={**environment, **places}, check=True)
    account = other_account()
    for path in (folder, *folder.iterdir()):
        if account:
            os.chown(path, account.user, account.group)
