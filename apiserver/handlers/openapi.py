"""OpenAPI of what the catalog serves; documents are made on first use and kept as bytes."""

from __future__ import annotations

from apiserver.registry.catalog import Catalog, Kind
from apiserver.schema.definitions import Schema
from apiserver.schema.openapi import OpenApi
from apiserver.schema.openapi_paths import ServedKind, ServedSubresource


class OpenApiDocuments:
    """The documents of a catalog, made anew when its kinds change."""

    def __init__(self, schema: Schema, catalog: Catalog, git_version: str) -> None:
        self._schema, self._catalog, self._git_version = schema, catalog, git_version
        self._kinds: tuple[Kind, ...] = ()
        self._documents = OpenApi(schema, (), git_version)

    def current(self) -> OpenApi:
        kinds = tuple(self._catalog)
        if kinds != self._kinds:
            self._kinds = kinds
            self._documents = OpenApi(self._schema, [_served(kind) for kind in kinds], self._git_version)
        return self._documents


def _served(kind: Kind) -> ServedKind:
    resource = kind.resource
    return ServedKind(
        group=resource.group,
        version=resource.version,
        kind=resource.kind,
        plural=resource.plural,
        is_namespaced=resource.namespaced,
        verbs=kind.verbs,
        schema=kind.custom.schema if kind.custom is not None else None,
        list_kind=kind.list_kind,
        selectable=tuple(kind.strategy.selectable_fields({})) if kind.is_custom else (),
        subresources=tuple(
            ServedSubresource(s.name, s.kind, s.verbs, s.group or resource.group, s.version or resource.version)
            for s in kind.subresources
        ),
    )
