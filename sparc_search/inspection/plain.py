"""Views made of records, and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

View = TypeVar("View")


def view_from(kind: type[View], record: object, **more: object) -> View:
    """A view that has the fields of a record, and more, or other values for some."""
    fields: Any = dataclasses.fields(kind)  # type: ignore[arg-type]
    return kind(**{field.name: getattr(record, field.name) for field in fields if field.name not in more}, **more)


def to_json(view: object) -> Any:
    """The JSON twin of a view: its fields by name, tuples as lists."""
    if dataclasses.is_dataclass(view) and not isinstance(view, type):
        return {field.name: to_json(getattr(view, field.name)) for field in dataclasses.fields(view)}
    if isinstance(view, Mapping):
        return {str(key): to_json(value) for key, value in view.items()}
    if isinstance(view, tuple | list):
        return [to_json(value) for value in view]
    return str(view) if isinstance(view, Path) else view
