"""The two sorts of kinds: plain ones, and those with a spec, a status and a generation.

They translate the store's questions (`Strategy`) into checks that append to one list, and hold what most kinds share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.registry.strategy import SpecStrategy, Strategy
from apiserver.resources.checks import Errors
from apiserver.resources.comparison import same
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.meta import Object


class PlainKind(Strategy):
    """A kind without generation: what is written is what is stored."""

    def check(self, obj: Object, errors: Errors) -> None:
        """What is asked of an object, new or changed."""

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        """What is asked of a change; most kinds ask what may not change, then check the object as a whole."""
        self.check(new, errors)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        """What is asked of a new status."""

    def validate(self, obj: Object) -> Sequence[FieldError]:
        errors: Errors = []
        self.check(obj, errors)
        return errors

    def validate_update(self, new: Object, old: Object) -> Sequence[FieldError]:
        errors: Errors = []
        self.check_update(new, old, errors)
        return errors

    def validate_status_update(self, new: Object, old: Object) -> Sequence[FieldError]:
        errors: Errors = []
        self.check_status_update(new, old, errors)
        return errors


class SpecKind(PlainKind, SpecStrategy):
    """A kind whose generation counts the changes of its spec, and whose status has an endpoint of its own."""

    def spec_changed(self, new: Object, old: Object) -> bool:
        return not same(new.get("spec"), old.get("spec"))


class FieldMap:
    """Selectable fields as data: selector name -> path into the object, and what an absent value reads as."""

    def __init__(self, fields: Mapping[str, tuple[str, ...]], defaults: Mapping[str, str] | None = None) -> None:
        self.fields = fields
        self.defaults = defaults or {}
        self.names = frozenset(fields)

    def values(self, obj: Object) -> dict[str, str]:
        return {name: _text(obj, path, self.defaults.get(name, "")) for name, path in self.fields.items()}


def _text(obj: Any, path: tuple[str, ...], default: str) -> str:
    for step in path:
        obj = obj.get(step) if isinstance(obj, dict) else None
    if obj is None:
        return default
    return str(obj).lower() if isinstance(obj, bool) else str(obj)


def carry_over(new: Object, old: Object, *fields: str) -> None:
    """The old object's values of `fields`, whatever the new one says."""
    for name in fields:
        if name in old:
            new[name] = old[name]
        else:
            new.pop(name, None)


def keep_metadata(new: Object, old: Object) -> None:
    """Nothing of the metadata is for the status endpoint to change; who wrote what is the server's own record."""
    metadata = dict(old["metadata"])
    carry_over(metadata, new["metadata"], "resourceVersion", "managedFields")
    new["metadata"] = metadata
