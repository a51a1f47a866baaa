"""The OpenAPI documents: /openapi/v3 (an index and one document a group version) and /openapi/v2.

kubectl explains kinds from them and learns that writes can be validated by the server; client generators read them
too. Documents are built when first asked for and kept as bytes; the URLs of the index carry a hash of what a document
is made of, so that clients may keep what they fetched for ever. `handlers` serves what stands here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from apiserver.schema.definitions import Schema
from apiserver.schema.openapi_custom import CustomSchemas
from apiserver.schema.openapi_paths import COMPONENTS, ServedKind, ServedSubresource, as_v2, paths_of
from apiserver.schema.openapi_protobuf import encode
from apiserver.schema.openapi_roots import Root, resources_of, roots_of
from apiserver.schema.openapi_schemas import DEFINITIONS, schemas_v2, schemas_v3

__all__ = ["OpenApi", "ServedKind", "ServedSubresource"]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_MARK = "x-kubernetes-group-version-kind"
_ALWAYS = (
    f"{_META}.APIResourceList",
    f"{_META}.Status",
    f"{_META}.DeleteOptions",
    f"{_META}.Patch",
    f"{_META}.WatchEvent",
)
_OF_CUSTOM = (f"{_META}.ObjectMeta", f"{_META}.ListMeta")
_SECURITY = {
    "BearerToken": {"type": "apiKey", "description": "A bearer token", "in": "header", "name": "authorization"}
}


class OpenApi:
    """The documents about a set of served kinds; when the set changes (custom resources), make a new one."""

    def __init__(self, schema: Schema, kinds: Iterable[ServedKind], git_version: str) -> None:
        self._schema = schema
        self._git_version = git_version
        self._kinds: dict[str, list[ServedKind]] = {}
        for kind in kinds:
            self._kinds.setdefault(kind.group_version_path, []).append(kind)
        built_in = [kind for served in self._kinds.values() for kind in served if kind.schema is None]
        self._roots = roots_of(dict.fromkeys(kind.group for kind in built_in if kind.group))
        self._hashes = {path: self._hash(served) for path, served in self._kinds.items()}
        self._hashes |= {path: self._hash([root]) for path, root in self._roots.items()}
        self._hash_of_all = hashlib.sha512(repr(self._hashes).encode()).hexdigest().upper()
        self._documents: dict[str, bytes] = {}
        self._index = b""

    def index(self) -> bytes:
        """What /openapi/v3 answers: the documents and where they are."""
        if not self._index:
            paths = {path: {"serverRelativeURL": self.url(path)} for path in sorted(self._hashes)}
            self._index = orjson.dumps({"paths": paths})
        return self._index

    def url(self, path: str) -> str:
        """Where the document of a group version is, as it is now."""
        return f"/openapi/v3/{path}?hash={self._hashes[path]}"

    def __contains__(self, path: str) -> bool:
        """Whether there is a v3 document of that path, as `apis/apps/v1`."""
        return path in self._hashes

    def etag(self, path: str) -> str:
        """The hash of the document of `apis/apps/v1`, "" where there is none. "v2" is the v2 document, "" the index."""
        if path in ("", "v2"):
            return self._hash_of_all
        return self._hashes.get(path, "")

    def v3(self, path: str) -> bytes | None:
        """The document of a group version (`apis/apps/v1`) or of a root (`apis/apps`), None where nothing is there."""
        if path not in self._hashes:
            return None
        if path not in self._documents:
            root = self._roots.get(path)
            document = self._document_v3(self._kinds[path]) if root is None else self._document_of(root)
            self._documents[path] = orjson.dumps(document)
        return self._documents[path]

    def v2(self) -> bytes:
        """The document of everything in OpenAPI v2."""
        if "v2" not in self._documents:
            self._documents["v2"] = orjson.dumps(self._document_v2())
        return self._documents["v2"]

    def v2_protobuf(self) -> bytes:
        """The same in `openapi_protobuf.MEDIA_TYPE`."""
        if "v2+protobuf" not in self._documents:
            self._documents["v2+protobuf"] = encode(self._document_v2())
        return self._documents["v2+protobuf"]

    def _document_v3(self, kinds: Sequence[ServedKind]) -> dict[str, Any]:
        names = self._component_names(kinds)
        described = self._schema.described()
        schemas = schemas_v3(described, (*_wanted(kinds), *names.values()))
        _mark_of(kinds[0].group_version_path, schemas)
        paths = dict([resources_of(kinds[0]).path(), *(item for kind in kinds for item in paths_of(kind, names))])
        return self._around(paths, schemas | _custom(kinds, names, CustomSchemas(described, COMPONENTS)))

    def _document_of(self, root: Root) -> dict[str, Any]:
        return self._around(dict([root.path()]), schemas_v3(self._schema.described(), [root.component]))

    def _around(self, paths: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": self._git_version},
            "paths": paths,
            "components": {"schemas": schemas, "securitySchemes": _SECURITY},
        }

    def _document_v2(self) -> dict[str, Any]:
        kinds = [kind for served in self._kinds.values() for kind in served]
        names = self._component_names(kinds)
        described = self._schema.described()
        roots = [*self._roots.values(), *(resources_of(served[0]) for served in self._kinds.values())]
        wanted = (*_wanted(kinds), *names.values(), *(root.component for root in roots))
        schemas = schemas_v2(described, wanted)
        paths = [root.path() for root in roots]
        paths += (item for kind in kinds for item in paths_of(kind, names))
        return {
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": self._git_version},
            "paths": {path: as_v2(item) for path, item in paths},
            "definitions": schemas | _custom(kinds, names, CustomSchemas(described, DEFINITIONS)),
            "securityDefinitions": _SECURITY,
            "security": [{"BearerToken": []}],
        }

    def _component_names(self, kinds: Sequence[ServedKind]) -> dict[tuple[str, str, str], str]:
        """The schema names of all kinds that stand in bodies: the kinds', their lists' and their subresources'."""
        names: dict[tuple[str, str, str], str] = {}
        for served in kinds:
            if served.schema is not None:
                for kind in (served.kind, served.list_name):
                    names[served.group, served.version, kind] = _custom_name(served, kind)
                for sub in served.subresources:
                    if name := self._schema.definition_name(sub.group, sub.version, sub.kind):
                        names[sub.group, sub.version, sub.kind] = name
                continue
            bodies = [(served.group, served.version, kind) for kind in (served.kind, served.list_name)]
            bodies += [(sub.group, sub.version, sub.kind) for sub in served.subresources]
            for body in bodies:
                if name := self._schema.definition_name(*body):
                    names[body] = name
        return names

    def _hash(self, parts: Sequence[ServedKind | Root]) -> str:
        made_of = (self._git_version, self._schema.version, [repr(part) for part in parts])
        return hashlib.sha512(repr(made_of).encode()).hexdigest().upper()


def _wanted(kinds: Sequence[ServedKind]) -> tuple[str, ...]:
    """Definitions that stand in a document whatever its kinds refer to; reviews, which are only created, need few."""
    if all(kind.verbs == ("create",) for kind in kinds):
        return _ALWAYS[:1]
    return (*_ALWAYS, *_OF_CUSTOM) if any(kind.schema is not None for kind in kinds) else _ALWAYS


def _custom(
    kinds: Sequence[ServedKind], names: Mapping[tuple[str, str, str], str], schemas: CustomSchemas
) -> dict[str, Any]:
    """The schemas of custom resources, which bring their own, and of their lists."""
    custom: dict[str, Any] = {}
    for kind in kinds:
        if kind.schema is not None:
            name, list_name = (names[kind.group, kind.version, one] for one in (kind.kind, kind.list_name))
            custom |= schemas.of(kind, name, list_name)
    return custom


def _mark_of(path: str, schemas: dict[str, Any]) -> None:
    """DeleteOptions and WatchEvent belong to every group version; a document names its own and the core's."""
    group, _, version = path.partition("/")[2].rpartition("/")
    for name in (f"{_META}.DeleteOptions", f"{_META}.WatchEvent"):
        if name not in schemas:
            continue
        marks = schemas[name].get(_MARK, [])
        own = [mark for mark in marks if (mark["group"], mark["version"]) in (("", "v1"), (group, version))]
        schemas[name] = {**schemas[name], _MARK: own}


def _custom_name(served: ServedKind, kind: str) -> str:
    """`com.example.v1.Widget` for a Widget of example.com/v1."""
    return ".".join([*reversed(served.group.split(".")), served.version, kind])
