"""The shape of a child as a part of it: what nobody speaks of stays as the server, or somebody else, has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubeloop.apimachinery.meta import Object, ReadOnlyObject, deep_copy


def overlay(obj: Object, fields: ReadOnlyObject) -> None:
    """Lay `fields` over `obj`, so that a second time changes nothing, whatever defaults the server filled in between.

    Maps are laid over key by key; a None takes the key away. A list of maps becomes as long as the new one, in its
    order: each element is laid over the one of the same `name` or, where names are missing or not unique, over the one
    in the same place. Everything else is replaced.
    """
    laid = _laid(obj, fields)
    obj.clear()
    obj.update(laid)


def _laid(current: Any, wanted: Any) -> Any:
    if isinstance(wanted, Mapping):
        fields = dict(current) if isinstance(current, Mapping) else {}
        for key, value in wanted.items():
            if value is None:
                fields.pop(key, None)
            else:
                fields[key] = _laid(fields.get(key), value)
        return fields
    if _is_list_of_maps(wanted):
        return [_laid(*pair) for pair in zip(_partners(current, wanted), wanted, strict=True)]
    return deep_copy(wanted)


def _partners(current: Any, wanted: Sequence[Any]) -> list[Any]:
    """For each wanted element the one that it is laid over, or None."""
    there = current if _is_list_of_maps(current) else []
    if _has_unique_names(there) and _has_unique_names(wanted):
        by_name = {element["name"]: element for element in there}
        return [by_name.get(element["name"]) for element in wanted]
    return [*there, *[None] * len(wanted)][: len(wanted)]


def _is_list_of_maps(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(element, Mapping) for element in value)


def _has_unique_names(elements: Sequence[Any]) -> bool:
    names = [element.get("name") for element in elements]
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
