"""The versions of a kind as field management sees them: a shape each, the empty object, and the ways between them.

The algorithms of server-side apply are plain functions, while a conversion webhook has to be waited for. So where one
is needed they are run until they ask for a conversion that is not known yet, and again with its answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import orjson

from apiserver.patch.server_side_apply.shapes import Shape
from apiserver.patch.server_side_apply.tracking import Versions
from apiserver.registry.catalog import Catalog, Kind
from apiserver.registry.forms import shape_of
from apiserver.schema.definitions import Schema
from kubeloop.apimachinery.meta import Object, deep_copy

Result = TypeVar("Result")


class KindVersions:
    """Of the kind a store is for. Implements `Versions` of server-side apply."""

    def __init__(self, kind: Kind, schema: Schema, catalog: Catalog) -> None:
        self.kind, self._schema, self._catalog = kind, schema, catalog
        self.api_version = kind.resource.api_version
        self.may_change = kind.is_custom  # of a custom kind the schema may have become another
        self._shapes: dict[str, Shape | None] = {}
        self._blank: Object | None = None

    @property
    def group_version_kind(self) -> str:
        """As Go prints it."""
        resource = self.kind.resource
        return f"{resource.group}/{resource.version}, Kind={resource.kind}"

    @property
    def own_shape(self) -> Shape:
        shape = self.shape(self.api_version)
        assert shape is not None, "requests come in a served version"
        return shape

    @property
    def blank(self) -> Object:
        """What Go writes of an object in which nothing is set."""
        if self._blank is None:
            self._blank = self._make_blank()
        return self._blank

    def _make_blank(self) -> Object:
        if self.kind.is_custom:
            return {}
        resource = self.kind.resource
        blank = self._schema.codec(resource.group, resource.version, resource.kind).decode({}).object
        blank.setdefault("metadata", {})
        return blank

    def shown(self, obj: Object) -> Object:
        """A stored object in this version."""
        if obj is self._blank or self.kind.conversion is None:
            return obj  # custom kinds are worked on in their version
        return self.kind.conversion.from_stored(deep_copy(obj))

    def with_type(self, obj: Object) -> Object:
        resource = self.kind.resource
        return {"kind": resource.kind, "apiVersion": resource.api_version, **obj}

    def shape(self, api_version: str) -> Shape | None:
        if api_version not in self._shapes:
            self._shapes[api_version] = self._shape_of(api_version)
        return self._shapes[api_version]

    def _shape_of(self, api_version: str) -> Shape | None:
        if self.kind.versioning is not None:
            type_ = self.kind.versioning.type_of(api_version)
            return Shape(type_.node) if type_ is not None else None
        kind = self._served(api_version)
        return shape_of(kind, self._schema) if kind is not None else None

    def _served(self, api_version: str) -> Kind | None:
        if api_version == self.api_version:
            return self.kind
        group, _, version = api_version.rpartition("/")
        kind = self._catalog.get(group, version, self.kind.plural)
        return kind if kind is not None and kind.storage == self.kind.storage else None

    def replicas_path(self, api_version: str) -> tuple[str, ...] | None:
        """Where a version keeps the replicas its Scale shows, () where it has no Scale; None for an unknown version."""
        if self.shape(api_version) is None:
            return None
        if self.kind.versioning is not None:
            return self.kind.versioning.replicas_path(api_version)
        return self.kind.scale.spec_path

    def convert(self, obj: Object, from_version: str, to_version: str) -> Object:
        if from_version == to_version:
            return obj
        if self.kind.versioning is not None:
            converted = self.kind.versioning.convert_now(obj, from_version, to_version)
            if converted is None:
                raise _Unconverted(obj, from_version, to_version)
            return converted
        before, after = self._served(from_version), self._served(to_version)
        assert before is not None and after is not None, "only served versions are converted"
        obj = deep_copy(obj)
        if before.conversion is not None:
            obj = before.conversion.to_stored(obj)
        if after.conversion is not None:
            obj = after.conversion.from_stored(obj)
        return {**obj, "kind": after.resource.kind, "apiVersion": to_version}

    async def worked_out(self, algorithm: Callable[[Versions], Result]) -> Result:
        """What a pure algorithm comes to. Raises what that raises, and the ApiError of a webhook."""
        versioning = self.kind.versioning
        if versioning is None:
            return algorithm(self)
        answers = _Answers(self)
        while True:
            try:
                return algorithm(answers)
            except _Unconverted as asked:
                answers.add(asked, await versioning.convert(asked.obj, asked.from_version, asked.to_version))


_Asked = tuple[bytes, str, str]


class _Unconverted(Exception):
    """A conversion that a webhook has to be asked for."""

    def __init__(self, obj: Object, from_version: str, to_version: str) -> None:
        super().__init__(f"from {from_version} to {to_version}")
        self.obj, self.from_version, self.to_version = obj, from_version, to_version


class _Answers:
    """The versions of a kind with the conversions known so far, while one algorithm is worked out."""

    def __init__(self, versions: KindVersions) -> None:
        self._versions = versions
        self._known: dict[_Asked, Object] = {}

    def shape(self, api_version: str) -> Shape | None:
        return self._versions.shape(api_version)

    def convert(self, obj: Object, from_version: str, to_version: str) -> Object:
        if self._known and (known := self._known.get(_asked(obj, from_version, to_version))) is not None:
            return known
        return self._versions.convert(obj, from_version, to_version)

    def add(self, asked: _Unconverted, answer: Object) -> None:
        self._known[_asked(asked.obj, asked.from_version, asked.to_version)] = answer


def _asked(obj: Object, from_version: str, to_version: str) -> _Asked:
    return orjson.dumps(obj), from_version, to_version
