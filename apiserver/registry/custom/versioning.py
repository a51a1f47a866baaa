"""The versions of a custom kind: from the form in which an object was stored to the one a request asks for, and back.

Every object is stored with the name of its version, as the stored version of a definition may change. What is read is
brought into the form of the version it was stored in (unknown fields go, defaults come), converted where it is another
than the one asked for, and brought into that one's form. Facts: apiextensions-apiserver/pkg/apiserver/
customresource_handler.go, crdConversionRESTOptionsGetter, and apimachinery's versioning codec (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Protocol

from apiserver.registry.custom.shown_objects import ShownObjects
from apiserver.schema.codec import DecodeError
from apiserver.schema.custom_type import CustomType
from apiserver.storage.interface import Stored, Value, encode_body
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object

# Under this name the fields that are stored with an object tell its version. No selector can ask for it.
STORED_IN = "apiVersion"
# So many objects, and so many bytes of them, go into one review: a longer list takes several calls.
MAX_OBJECTS_IN_REVIEW = 500
MAX_BYTES_IN_REVIEW = 8 << 20

Fields = Callable[[Object], Mapping[str, str]]


class Converter(Protocol):
    """Strategy Webhook."""

    async def convert(self, objects: Sequence[Object], to_version: str) -> list[Object]:
        """Whole objects, all of one other version, in `to_version` (an apiVersion). ApiError where that fails."""


@dataclass(frozen=True)
class DefinedVersions:
    """All versions of a definition, served or not. Names are those of apiVersions: `example.com/v1`."""

    kind: str
    stored: str  # what is written from now on
    types: Mapping[str, CustomType]
    replicas_paths: Mapping[str, tuple[str, ...]]
    converter: Converter | None = None  # None: strategy None, all versions have the same fields

    async def converted(self, objects: Sequence[Object], to: str) -> list[Object]:
        """Whole objects, the versions of which may differ, all in one. May return some of them as they came."""
        result = list(objects)
        numbered = [(obj["apiVersion"], i) for i, obj in enumerate(objects) if obj["apiVersion"] != to]
        for version, group in groupby(sorted(numbered), key=itemgetter(0)):
            self.check(version)
            numbers = [i for _, i in group]
            for i, obj in zip(numbers, await self._asked([objects[i] for i in numbers], to), strict=True):
                result[i] = self.formed(obj)
        return result

    async def _asked(self, objects: Sequence[Object], to: str) -> list[Object]:
        if self.converter is None:
            return [{**obj, "apiVersion": to} for obj in objects]
        return await self.converter.convert(objects, to)

    def check(self, version: str) -> None:
        """Refuse a version that the definition no longer has."""
        if version not in self.types:
            raise ApiError(f"request to convert CR from an invalid group/version: {version}", code=500)

    def formed(self, whole: Object) -> Object:
        """A copy in the form of the version it says it is of."""
        try:
            return self.types[whole["apiVersion"]].coerce(whole)[0]
        except DecodeError as error:
            raise ApiError(str(error), code=500) from error


class CustomVersioning:
    """One version of a definition. Implements `catalog.Versioning`."""

    def __init__(self, defined: DefinedVersions, version: str, fields: Fields) -> None:
        """`fields` are what field selectors may ask of an object in this version."""
        self._defined, self._version, self._fields = defined, version, fields
        self._shown = ShownObjects(self._made)

    @property
    def stored_in(self) -> str:
        return self._defined.stored

    @property
    def may_change_labels(self) -> bool:
        return self._defined.converter is not None

    async def shown(self, items: Sequence[Stored]) -> Sequence[Stored]:
        return await self._shown.of(items)

    async def _made(self, items: Sequence[Stored]) -> Sequence[Stored]:
        made: list[Stored] = []
        for chunk in _chunks(items):
            converted = await self._defined.converted([self._read(stored) for stored in chunk], self._version)
            made += [self._written(obj, stored) for obj, stored in zip(converted, chunk, strict=True)]
        return made

    def _read(self, stored: Stored) -> Object:
        """The whole object in the form of the version it was stored in, with defaults."""
        version = stored.fields.get(STORED_IN, self._defined.stored)
        self._defined.check(version)
        obj = stored.object()
        del obj["metadata"]["resourceVersion"]  # what is stored does not know it
        whole = self._defined.formed({"apiVersion": version, "kind": self._defined.kind, **obj})
        self._defined.types[version].fill_defaults(whole)
        return whole

    def _written(self, whole: Object, stored: Stored) -> Stored:
        obj = _without_type(whole)
        labels = obj["metadata"].get("labels") or {}
        return Stored(stored.key, stored.revision, encode_body(obj), labels, self._fields(obj))

    async def value(self, obj: Object) -> Value:
        whole: Object = {"apiVersion": self._version, "kind": self._defined.kind, **obj}
        (kept,) = await self._defined.converted((whole,), self._defined.stored)
        labels = kept["metadata"].get("labels") or {}
        return Value(encode_body(_without_type(kept)), labels, {STORED_IN: self._defined.stored})

    def holds(self, stored: Stored, value: Value) -> bool:
        if stored.fields.get(STORED_IN, self._defined.stored) != value.fields[STORED_IN]:
            return False
        return stored.body == value.body or stored.object() == _at(stored, value).object()

    def type_of(self, api_version: str) -> CustomType | None:
        return self._defined.types.get(api_version)

    def replicas_path(self, api_version: str) -> tuple[str, ...]:
        return self._defined.replicas_paths.get(api_version, ())

    def convert_now(self, obj: Object, from_version: str, to_version: str) -> Object | None:
        if from_version == to_version:
            return obj
        if self._defined.converter is not None:
            return None
        return self._defined.formed({**obj, "kind": self._defined.kind, "apiVersion": to_version})

    async def convert(self, obj: Object, from_version: str, to_version: str) -> Object:
        """By way of this version, as the real server goes."""
        whole: Object = {**obj, "kind": self._defined.kind, "apiVersion": from_version}
        for version in (self._version, to_version):
            (whole,) = await self._defined.converted((whole,), version)
        return whole


def _chunks(items: Sequence[Stored]) -> Iterator[Sequence[Stored]]:
    """As many at once as go into one review, one at least."""
    start = size = 0
    for i, stored in enumerate(items):
        size += len(stored.body)
        if i > start and (size > MAX_BYTES_IN_REVIEW or i - start == MAX_OBJECTS_IN_REVIEW):
            yield items[start:i]
            start, size = i, len(stored.body)
    yield items[start:]


def _without_type(whole: Object) -> Object:
    return {name: value for name, value in whole.items() if name not in ("apiVersion", "kind")}


def _at(stored: Stored, value: Value) -> Stored:
    return Stored(stored.key, stored.revision, value.body, value.labels, value.fields)
