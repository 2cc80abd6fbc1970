"""What a server is made of, pinned by hash, and how it likes to be started; the one that users run is `OPENSEARCH`."""

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
    descriptor: str = ""  # of a module whose jar is published alone, without the file that makes a folder a module

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
