"""Which old value belongs to a new one, by the rules of a structural schema: for ratcheting and transition rules.

Fields of objects and maps belong to their names; elements of lists only to those of the same key in a list of type map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.schema.json_schema import LIST_KEYS, LIST_TYPE, Schema, items_of, properties_of


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Any = _Unknown()  # there is no old value, or none that can be told to be this one's


def old_field(old: Any, name: str) -> Any:
    return old.get(name, UNKNOWN) if isinstance(old, Mapping) else UNKNOWN


def old_element(old: Any, element: Any, schema: Schema) -> Any:
    """The element of the old list that has the keys of `element`; `schema` is the list's."""
    if schema.get(LIST_TYPE) != "map" or not isinstance(old, list):
        return UNKNOWN
    keys = key_of(element, schema)
    return next((other for other in old if keys is not None and key_of(other, schema) == keys), UNKNOWN)


def key_of(element: Any, schema: Schema) -> tuple[Any, ...] | None:
    """The values of an element's key fields, defaults for absent ones; None for what is no object."""
    if not isinstance(element, Mapping):
        return None
    properties = properties_of(items_of(schema) or {})
    names: Sequence[str] = schema.get(LIST_KEYS) or ()
    return tuple(element.get(name, properties.get(name, {}).get("default")) for name in names)
