"""Index functions for what operators look up most: objects by the value of a field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubeloop.apimachinery.meta import Object
from kubeloop.client.store import IndexFunction


def by_field(*path: str) -> IndexFunction:
    """By the field at `path`: "spec.nodeName", or in parts where a name has dots ("metadata", "annotations", "a.b/c").

    A list on the way means each of its elements, so an object may have several (`spec.volumes.name`);
    one without the field, or where it is empty, has none. Numbers and booleans are indexed as JSON writes them.
    """
    steps = path[0].split(".") if len(path) == 1 else path

    def values(obj: Object) -> Iterable[str]:
        value: Any = obj
        for step in steps:
            value = value.get(step) if type(value) is dict else None
        if type(value) is str:  # most are: asked for with every change of every object
            return (value,) if value else ()
        found: list[Any] = [obj]
        for step in steps:
            found = [value[step] for value in _flat(found) if isinstance(value, dict) and step in value]
        return [_text(value) for value in _flat(found) if not isinstance(value, dict) and value not in (None, "")]

    return values


def _flat(values: Iterable[Any]) -> list[Any]:
    """Lists replaced by their elements."""
    flat: list[Any] = []
    for value in values:
        flat += value if isinstance(value, list) else [value]
    return flat


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
