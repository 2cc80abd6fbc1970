"""JSON schemas made from the records themselves, so that the description of the API cannot go stale."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Collection, Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Schema = dict[str, Any]
_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
}


class Schemas:
    """Schemas by name; each record is described once and referred to."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """The schema of a type."""
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            return self._record(kind)
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(inner) for inner in arguments]}
        if origin is tuple:
            return self._tuple(arguments)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        raise TypeError(f"no schema for {kind!r}")

    def _tuple(self, arguments: tuple[Any, ...]) -> Schema:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": self.of(arguments[0])}
        kinds = [self.of(inner) for inner in dict.fromkeys(arguments)]  # `prefixItems` is not understood everywhere
        items = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        return {"type": "array", "items": items, "minItems": len(arguments), "maxItems": len(arguments)}

    def _record(self, kind: type) -> Schema:
        name = kind.__name__
        if name not in self.components:
            self.components[name] = {}  # there before its fields are looked at: a record may hold its like
            self.components[name] = exactly(self.properties(kind))
            if kind.__doc__:
                self.components[name]["description"] = kind.__doc__.strip().splitlines()[0]
        return reference(name)

    def properties(self, kind: type) -> dict[str, Schema]:
        """The schema of each field of a record."""
        hints = get_type_hints(kind)
        return {field.name: self.of(hints[field.name]) for field in dataclasses.fields(kind)}


def exactly(properties: Mapping[str, Schema], optional: Collection[str] = ()) -> Schema:
    """An object with these fields, some of them optional, and no others."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def reference(name: str) -> Schema:
    """Refer to a component."""
    return {"$ref": f"#/components/schemas/{name}"}
