"""The versions of a kind as field management sees them: a shape each, the empty object, and the ways between them."""

from __future__ import annotations

from apiserver.patch.server_side_apply.shapes import Shape
from apiserver.registry.catalog import Catalog, Kind
from apiserver.registry.forms import shape_of
from apiserver.schema.definitions import Schema
from kubeloop.apimachinery.meta import Object, deep_copy

# Kinds whose Go type within the server counts replicas without a pointer: an empty one has zero of them.
_ZERO_REPLICAS = frozenset({"deployments.apps", "replicasets.apps", "statefulsets.apps"})


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
        if self.kind.storage in _ZERO_REPLICAS:
            blank["spec"]["replicas"] = 0
        return blank

    def shown(self, obj: Object) -> Object:
        """A stored object in this version."""
        if obj is self._blank or self.kind.conversion is None:
            return obj
        return self.kind.conversion.from_stored(deep_copy(obj))

    def with_type(self, obj: Object) -> Object:
        resource = self.kind.resource
        return {"kind": resource.kind, "apiVersion": resource.api_version, **obj}

    def shape(self, api_version: str) -> Shape | None:
        if api_version not in self._shapes:
            kind = self._served(api_version)
            self._shapes[api_version] = shape_of(kind, self._schema) if kind is not None else None
        return self._shapes[api_version]

    def _served(self, api_version: str) -> Kind | None:
        if api_version == self.api_version:
            return self.kind
        group, _, version = api_version.rpartition("/")
        kind = self._catalog.get(group, version, self.kind.plural)
        return kind if kind is not None and kind.storage == self.kind.storage else None

    def convert(self, obj: Object, from_version: str, to_version: str) -> Object:
        if from_version == to_version:
            return obj
        before, after = self._served(from_version), self._served(to_version)
        assert before is not None and after is not None, "only served versions are converted"
        obj = deep_copy(obj)
        if before.conversion is not None:
            obj = before.conversion.to_stored(obj)
        if after.conversion is not None:
            obj = after.conversion.from_stored(obj)
        return {**obj, "kind": after.resource.kind, "apiVersion": to_version}
