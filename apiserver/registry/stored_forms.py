"""Between the objects a store works on, in the version asked for, and those that are kept, in storage's.

Built-in kinds are worked on as they are stored, so for them this is the order of fields and no more. Custom kinds have
several versions, whose objects are converted on both ways: see `custom/versioning.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apiserver.registry.catalog import Kind
from apiserver.registry.context import Machinery
from apiserver.schema.ordering import OrderChanged
from apiserver.storage.interface import Stored, Value, encode_body
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object

MOST_BYTES = 3 << 19  # of one request, as an etcd is set up by default: 1.5 MiB


@dataclass(frozen=True, slots=True)
class StoredForms:
    """Of the objects of one kind. What fails here fails with the ApiError of a conversion webhook."""

    kind: Kind
    in_order: OrderChanged  # what puts the fields of a new object into Go's order

    @classmethod
    def of(cls, kind: Kind, machinery: Machinery) -> StoredForms:
        return cls(kind, _order_of(kind, machinery))

    @classmethod
    def of_ordered(cls, kind: Kind) -> StoredForms:
        """Where all objects come from storage, in order."""
        return cls(kind, _as_it_is)

    async def shown(self, stored: Stored) -> Stored:
        """A stored object in the version asked for."""
        if self.kind.versioning is None:
            return stored
        return (await self.kind.versioning.shown((stored,)))[0]

    async def value(self, obj: Object) -> Value:
        """An object as it is to be stored."""
        if self.kind.versioning is not None:
            return await self.kind.versioning.value(obj)
        return self._value(obj, {})

    async def changed(self, current: Stored, obj: Object, old: Object, *, is_same: bool) -> Value | None:
        """What to store in the place of `current`, which shows as `old`; None where that would change nothing.

        `is_same`: `obj` means the same as `old`. That is written even so where it is stored in an old version: that is
        how objects are brought into the new one.
        """
        versioning = self.kind.versioning
        if versioning is None:
            return None if is_same else self._value(obj, old)
        value = await versioning.value(old if is_same else obj)
        return None if versioning.holds(current, value) else value

    async def fitting(self, value: Value, obj: Object, *, may_forget: bool) -> Value:
        """What to store of an object that `value` was made from; ApiError where an etcd would not take it.

        Where it fits only without the entries of managedFields, which can be many, it goes without them if it
        `may_forget` who owns what. Asked of custom objects only: they are stored as JSON upstream too, and nothing
        else bounds them.
        """
        if not self.kind.is_custom or len(value.body) <= MOST_BYTES:
            return value
        if may_forget and "managedFields" in obj["metadata"]:
            metadata = {name: field for name, field in obj["metadata"].items() if name != "managedFields"}
            value = await self.value({**obj, "metadata": metadata})
            if len(value.body) <= MOST_BYTES:
                return value
        raise ApiError("etcdserver: request is too large", code=500)

    def answer(self, current: Stored, obj: Object) -> Stored:
        """An object that was not stored, at the revision of the one it was made from."""
        value = self._value(obj, {})
        return Stored(current.key, current.revision, value.body, value.labels, value.fields)

    def _value(self, obj: Object, old: Object) -> Value:
        """`old`: what is in order already; parts that both share are not looked at again."""
        labels = obj["metadata"].get("labels") or {}
        return Value(encode_body(self.in_order(obj, old)), labels, self.kind.strategy.selectable_fields(obj))


def _order_of(kind: Kind, machinery: Machinery) -> OrderChanged:
    """What puts a kind's objects into Go's order before they are stored; custom resources stay as they were sent."""
    if kind.is_custom or not kind.is_stored:
        return _as_it_is
    stored = machinery.catalog.stored_version(kind).resource
    return machinery.schema.order(stored.group, stored.version, stored.kind)


def _as_it_is(obj: Object, known: Mapping[str, Any]) -> Object:
    return obj
