"""Which old value belongs to a new one, by the rules of a structural schema: for ratcheting and transition rules.

Fields of objects and maps belong to their names; elements of lists only to those of the same key in a list of type map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubeloop.apimachinery.json_schema import LIST_KEYS, LIST_TYPE, Schema, additional_of, items_of, properties_of


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Any = _Unknown()  # there is no old value, or none that can be told to be this one's


def old_field(old: Any, name: str) -> Any:
    return old.get(name, UNKNOWN) if isinstance(old, Mapping) else UNKNOWN


def old_elements(old: Any, elements: Sequence[Any], schema: Schema) -> Sequence[Any]:
    """For each element the one of the old list that has its keys; `schema` is the list's."""
    if schema.get(LIST_TYPE) != "map" or not isinstance(old, list):
        return [UNKNOWN] * len(elements)
    by_key = {key: other for other in reversed(old) if (key := key_of(other, schema)) is not None}
    return [UNKNOWN if (key := key_of(element, schema)) is None else by_key.get(key, UNKNOWN) for element in elements]


def key_of(element: Any, schema: Schema) -> str | None:
    """The values of an element's key fields as text, defaults for absent ones; None for what is no object."""
    if not isinstance(element, Mapping):
        return None
    properties = properties_of(items_of(schema) or {})
    names: Sequence[str] = schema.get(LIST_KEYS) or ()
    return repr([element.get(name, properties.get(name, {}).get("default")) for name in names])


def unchanged(old: Any, new: Any, schema: Schema) -> bool:
    """Whether nothing in a value changed, as far as its schema knows it: of unknown fields nobody can tell.

    The order of a list of type map does not count.
    """
    if isinstance(new, Mapping) and isinstance(old, Mapping):
        if len(old) != len(new):
            return False
        properties, additional = properties_of(schema), additional_of(schema)
        known = {name: properties.get(name, additional) for name in new if name in old}
        return len(known) == len(new) and all(
            part is not None and unchanged(old[name], new[name], part) for name, part in known.items()
        )
    if isinstance(new, list) and isinstance(old, list) and schema.get(LIST_TYPE) == "map" and new:
        items = items_of(schema)
        return (
            len(old) == len(new)
            and items is not None
            and all(
                before is not UNKNOWN and unchanged(before, element, items)
                for before, element in zip(old_elements(old, new, schema), new, strict=True)
            )
        )
    return same_value(old, new)


def same_value(left: Any, right: Any) -> bool:
    """Equal as JSON: true is not 1."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same_value(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_value, left, right))
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)
