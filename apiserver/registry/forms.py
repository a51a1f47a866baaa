"""The versions of the served kinds, for admission plugins that show objects and take changed ones back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from apiserver.patch.server_side_apply.shapes import UNKNOWN, Shape
from apiserver.registry.catalog import Catalog, Kind
from apiserver.schema.codec import DecodeError
from apiserver.schema.definitions import Schema
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, deep_copy
from kubeloop.apimachinery.resource import Resource


class CatalogForms:
    """Implements `admission.forms.Forms` by the catalog and the schema."""

    def __init__(self, catalog: Catalog, schema: Schema) -> None:
        self._catalog, self._schema = catalog, schema

    def taken_by(self, resource: Resource, subresource: str) -> Resource:
        below = self._kind(resource).subresource(subresource) if subresource else None
        if below is None or below.kind == resource.kind:
            return resource
        group, version = (below.group, below.version) if below.version else (resource.group, resource.version)
        return replace(resource, group=group, version=version, kind=below.kind)

    def equivalents(self, resource: Resource, subresource: str) -> Sequence[Resource]:
        storage = self._kind(resource).storage
        if not storage:
            return [resource]
        return [
            kind.resource
            for kind in self._catalog
            if kind.storage == storage and (not subresource or kind.subresource(subresource) is not None)
        ]

    def of_kind(self, group: str, version: str, kind: str) -> Resource | None:
        return next(
            (
                found.resource
                for found in self._catalog.of_version(group, version)
                if found.resource.kind == kind and found.is_stored
            ),
            None,
        )

    def storage(self, resource: Resource) -> str:
        return self._kind(resource).storage

    def shape(self, resource: Resource) -> Shape | None:
        kind = self._of(resource)
        return shape_of(kind, self._schema) if kind is not None else _built_in_shape(resource, self._schema)

    async def shown(self, obj: ReadOnlyObject, resource: Resource, held: Resource) -> Object:
        kind = self._of(resource)
        type_meta = {"kind": resource.kind, "apiVersion": resource.api_version}
        if kind is not None and kind.conversion is not None:
            return {**kind.conversion.from_stored(deep_copy(obj)), **type_meta}
        version = obj.get("apiVersion") or held.api_version
        if kind is not None and kind.versioning is not None and version != resource.api_version:
            return await kind.versioning.convert({**obj}, version, resource.api_version)
        return {**type_meta, **obj}

    async def read(self, value: Any, resource: Resource, held: Resource, *, strict: bool = True) -> Object:
        kind = self._of(resource)
        if kind is not None and kind.custom is not None:
            obj, _ = kind.custom.coerce(value)
            kind.custom.fill_defaults(obj)
            if kind.versioning is not None and held.version != resource.version:
                obj = await kind.versioning.convert(obj, resource.api_version, held.api_version)
        else:
            if self._schema.kind(resource.group, resource.version, resource.kind) is None:
                return _without_type(value)  # what only connects (PodExecOptions) has no fields to be checked
            decoded = self._schema.codec(resource.group, resource.version, resource.kind).decode(value)
            if decoded.problems and strict:
                raise DecodeError(f"strict decoding error: {', '.join(decoded.problems)}")
            obj = decoded.object
        obj = _without_type(obj)
        obj.setdefault("metadata", {})
        if kind is None:
            return obj
        if kind.conversion is not None:
            obj = kind.conversion.to_stored(obj)
        kind.strategy.default(obj)
        return obj

    def _of(self, resource: Resource) -> Kind | None:
        """The kind of a resource; None of what only a subresource takes."""
        kind = self._catalog.get(resource.group, resource.version, resource.plural)
        return kind if kind is not None and kind.resource.kind == resource.kind else None

    def _kind(self, resource: Resource) -> Kind:
        kind = self._catalog.get(resource.group, resource.version, resource.plural)
        assert kind is not None, "requests come for served resources"
        return kind


def _without_type(obj: ReadOnlyObject) -> Object:
    return {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}


def shape_of(kind: Kind, schema: Schema) -> Shape:
    """How server-side apply sees objects of a kind."""
    if kind.custom is not None:
        return Shape(kind.custom.node)
    return _built_in_shape(kind.resource, schema)


def _built_in_shape(resource: Resource, schema: Schema) -> Shape:
    node = schema.kind(resource.group, resource.version, resource.kind)
    return Shape(node) if node is not None else UNKNOWN
