"""Real servers for tests: each is started once, shared by the session, and stopped at its end.

    opensearch_url         one OpenSearch node
    elasticsearch_url      one Elasticsearch 7.17 node
    secured_opensearch     OpenSearch 2.19.1 with TLS and users
    opensearch_cluster     three OpenSearch nodes; each can be killed, and whoever does so brings it back
    custom_opensearch      a function: `custom_opensearch({"http.max_content_length": "2mb"})` is a node of its own

What the chosen tests will ask for starts beside the tests that do not need it yet. Tests
share servers, so they name their indexes with something of their own. What a server needs and the machine lacks is a
skip with a name; where everything is required (REQUIRE_ALL=1), that is a failure.
"""

from __future__ import annotations

import base64
import os
import secrets
import shutil
import ssl
import subprocess
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from server_products import ELASTICSEARCH, SECURED

from sparc_search.errors import ServerError
from sparc_search.servers.account import other_account, own
from sparc_search.servers.cluster import Cluster, get_json
from sparc_search.servers.install import install
from sparc_search.servers.java import find_java
from sparc_search.servers.node import Launch, Node, spawn
from sparc_search.servers.ports import free_port
from sparc_search.servers.products import OPENSEARCH, Product

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

LITTLE_ROOM = {
    "indexing_pressure.memory.limit": "200kb",
    "thread_pool.write.queue_size": 1,
    "node.processors": 1,
    "http.max_content_length": "300kb",
    "cluster.info.update.interval": "10s",
    # A node that was full counts as full for so long, and each look at the disk forbids new indices anew.
    "cluster.routing.allocation.disk.reroute_interval": "1s",
}
"""The settings of a node that is soon overworked, and looks at its disk often."""

FIXTURES = {"opensearch_url", "elasticsearch_url", "opensearch_cluster", "custom_opensearch", "secured_opensearch"}
FIXTURES |= {"engine", "server_engine", "opensearch"}  # of tests/helpers/engines.py, which ask for these
IN_A_FOLDER = ("local", "lmdb")
"""Engines that need no server."""
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
    """Whether a test asks for a server, by name or through another fixture; a store in a folder is none."""
    return parameters(item).get("engine") not in IN_A_FOLDER and bool(FIXTURES & set(getattr(item, "fixturenames", ())))


def parameters(item: pytest.Item) -> Mapping[str, object]:
    """The values that a test was made for."""
    return item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}


def ready(product: Product) -> None:
    """Skip, by name, if the machine cannot run this server at all. A server that starts and then fails is a failure."""
    try:
        find_java(product.oldest_java, product.newest_java)
        install(product)
    except ServerError as error:
        pytest.skip(f"{product.label}: {error}")


@dataclass(frozen=True, slots=True)
class Access:
    """How to get in: user and password, and the certificate that signed the server's."""

    user: str
    password: str
    ca: Path

    def get_json(self, url: str) -> dict[str, Any] | None:
        """What a server answers to this user; none while it does not, or not with success."""
        token = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        request = urllib.request.Request(url, headers={"Authorization": f"Basic {token}"})
        return get_json(request, context=ssl.create_default_context(cafile=self.ca))


class SecuredCluster(Cluster):
    """A cluster with TLS and users."""

    def __init__(self, folder: Path, port: int, access: Access) -> None:
        super().__init__(folder, port, product=SECURED, settings=SECURITY, spawn=spawn_tied_to_us, patience=PATIENCE)
        self.access = access

    @property
    def urls(self) -> list[str]:
        return [f"https://localhost:{node.port}" for node in self.nodes]

    def get_json(self, url: str) -> dict[str, Any] | None:
        return self.access.get_json(url)


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


@contextmanager
def running_secured() -> Iterator[SecuredOpenSearch]:
    """Users: `admin`, `sparc-ingest` (may write indexes named sparc-search*), `sparc-ask` (may only read them)."""
    ready(SECURED)
    passwords = {user: secrets.token_urlsafe(16) for user in USERS}
    with server_folder() as folder:
        port = free_port()
        node = Cluster(folder, port).nodes[0]
        security = node.config / "opensearch-security"
        cluster = SecuredCluster(folder, port, Access("admin", passwords["admin"], security / "ca.pem"))
        own(folder)
        own(node.folder)
        own(node.config)
        secure(security, passwords)
        with cluster:
            yield SecuredOpenSearch(cluster.url, security / "ca.pem", passwords)


KINDS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "opensearch_url": lambda: running(OPENSEARCH),
    "elasticsearch_url": lambda: running(ELASTICSEARCH),
    "secured_opensearch": running_secured,
    "opensearch_cluster": lambda: running(OPENSEARCH, nodes=3),
}


class Started:
    """The servers of a session: those that are wanted start in their order, two at a time; tests wait for theirs."""

    def __init__(self) -> None:
        self.running = ExitStack()
        self.starter = ThreadPoolExecutor(2, thread_name_prefix="starter")
        self.servers: dict[str, Future[Any]] = {}

    def want(self, name: str, kind: Callable[[], AbstractContextManager[Any]]) -> Future[Any]:
        """A server that is there, or will be."""
        if name not in self.servers:
            self.servers[name] = self.starter.submit(lambda: self.running.enter_context(kind()))
        return self.servers[name]

    def stop(self) -> None:
        self.starter.shutdown(cancel_futures=True)
        self.running.close()


started: pytest.StashKey[Started] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[started] = Started()


def pytest_collection_finish(session: pytest.Session) -> None:
    if not session.config.option.collectonly:
        for item in session.items:
            for name in names_of(item):
                session.config.stash[started].want(name, KINDS[name])


def names_of(item: pytest.Item) -> Iterator[str]:
    """The servers of `KINDS` that a test asks for; one for many engines names its own as a parameter."""
    asked = set(getattr(item, "fixturenames", ()))
    if "opensearch" in asked:
        yield "opensearch_url"
    yield from (f"{value}_url" for value in parameters(item).values() if f"{value}_url" in KINDS)
    yield from (name for name in KINDS if name in asked)


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[started].stop()


@pytest.fixture(scope="session")
def opensearch_url(pytestconfig: pytest.Config) -> str:
    return str(server(pytestconfig, "opensearch_url").url)


@pytest.fixture(scope="session")
def elasticsearch_url(pytestconfig: pytest.Config) -> str:
    return str(server(pytestconfig, "elasticsearch_url").url)


@pytest.fixture(scope="session")
def secured_opensearch(pytestconfig: pytest.Config) -> SecuredOpenSearch:
    found = server(pytestconfig, "secured_opensearch")
    assert isinstance(found, SecuredOpenSearch)
    return found


@pytest.fixture
def opensearch_cluster(pytestconfig: pytest.Config) -> Cluster:
    """All three are there, also if the test before failed to bring back what it had killed."""
    found = server(pytestconfig, "opensearch_cluster")
    assert isinstance(found, Cluster)
    if missing := [node for node in found.nodes if node.name not in found.processes]:
        found.start(missing=missing)
    return found


def server(config: pytest.Config, name: str) -> Any:
    return config.stash[started].want(name, KINDS[name]).result()


@pytest.fixture(scope="session")
def custom_opensearch(pytestconfig: pytest.Config) -> CustomOpenSearch:
    """One node for each set of settings; asked again for the same, it gives the same node."""

    def start(settings: Mapping[str, object]) -> Cluster:
        key = repr(sorted(settings.items()))
        found = pytestconfig.stash[started].want(key, lambda: running(OPENSEARCH, settings=settings)).result()
        assert isinstance(found, Cluster)
        return found

    return start


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
