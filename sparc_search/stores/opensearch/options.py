"""What the settings say of an index on a server: where it is, and how a new one is made."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...engine import Place
from ..opensearch_settings import SETTINGS
from .access import ServerAccess, access_of
from .lifecycle import Shape
from .names import Names, key, names_of


@dataclass(frozen=True, slots=True)
class Options:
    """Where an index is, and how it is made."""

    access: ServerAccess
    names: Names
    shape: Shape = field(default_factory=Shape)

    @property
    def name(self) -> str:
        """Tells the index apart from others, on this server and elsewhere."""
        return f"{self.names.passages}-{key(*self.access.urls)[:8]}"


def options_of(place: Place) -> Options:
    """The options of a place; what it does not say is as the settings have it by default."""
    values = {setting.name: setting.default for setting in SETTINGS} | dict(place.values)
    shape = Shape(int(str(values["shards"])), bool(values["features_in_source"]))
    return Options(access_of(values), names_of(str(values["index_name"])), shape)
