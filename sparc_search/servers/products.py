"""Which servers can be run here: what they are made of, pinned by hash, and how they like to be started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file of a Maven repository, by coordinates; `folder` is where it goes inside the server's home."""

    coordinates: str  # group:artifact:version:type
    sha256: str
    size: int
    folder: str = ""

    @property
    def file_name(self) -> str:
        """The name under which Maven copies it."""
        _, artifact, version, kind = self.coordinates.split(":")
        return f"{artifact}-{version}.{kind}"


@dataclass(frozen=True, slots=True)
class Product:
    """A server of one version: the first artifact is its home, the others go inside."""

    name: str
    version: str
    artifacts: tuple[Artifact, ...]
    oldest_java: int
    newest_java: int | None = None
    prefix: str = "OPENSEARCH"  # of its environment variables
    first_managers: str = "cluster.initial_cluster_manager_nodes"
    settings: Mapping[str, object] | None = None  # beyond those that every node gets

    @property
    def label(self) -> str:
        """Name and version: of folders, and in messages."""
        kinds = [artifact.folder.rpartition("/")[2] for artifact in self.artifacts if artifact.folder]
        return "-".join([self.name, self.version, *kinds])


OPENSEARCH: Final = Product(
    "opensearch",
    "3.6.0",
    (
        Artifact(
            "org.opensearch.distribution.integ-test-zip:opensearch:3.6.0:zip",
            "a91faa1dc1cadc78cb278b4f63847e19e1627a4e9de698e14e7efc14ee37b286",
            161_609_640,
        ),
    ),
    oldest_java=21,
)

# The servers below are for tests. Java 24 took away the security manager that they still use.
ELASTICSEARCH: Final = Product(
    "elasticsearch",
    "7.17.29",
    (
        Artifact(
            "org.elasticsearch.distribution.integ-test-zip:elasticsearch:7.17.29:zip",
            "841ee00be1a72ba8e707b5a2fb55f23fe7a4184369b4585393238b1c903eedaf",
            57_295_016,
        ),
        Artifact(
            "org.elasticsearch.plugin:mapper-extras-client:7.17.29:jar",
            "3fc4139860139a524b0e56309261c943c90863da0c1bb2d1b0fc86d78f1525cd",
            120_705,
            "modules/mapper-extras",
        ),
    ),
    oldest_java=17,
    newest_java=23,
    prefix="ES",
    first_managers="cluster.initial_master_nodes",
    settings={"xpack.security.enabled": False},
)
SECURED: Final = Product(
    "opensearch",
    "2.19.1",
    (
        Artifact(
            "org.opensearch.distribution.integ-test-zip:opensearch:2.19.1:zip",
            "af7152d8b7f6f1cee09d47276b32b70479fe6dd8cdbb61213f84eb7f8098b261",
            51_391_430,
        ),
        Artifact(
            "org.opensearch.plugin:mapper-extras-client:2.19.1:jar",
            "93e85f305ddc3070fea5b83cc8d962bdcd30df20638352b02cf57276cc2bc5d5",
            84_960,
            "modules/mapper-extras",
        ),
        Artifact(
            "org.opensearch.plugin:opensearch-security:2.19.1.0:zip",
            "94a04f12ac6033902209fac1e4e512618d45beee604bbf0e42c3ed79c55220cf",
            43_828_219,
            "plugins/opensearch-security",
        ),
    ),
    oldest_java=17,
    newest_java=23,
)
PRODUCTS: Final = (OPENSEARCH, ELASTICSEARCH, SECURED)
