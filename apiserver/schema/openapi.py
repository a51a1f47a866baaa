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
from apiserver.schema.openapi_paths import COMPONENTS, ServedKind, ServedSubresource, as_v2, paths_of
from apiserver.schema.openapi_protobuf import encode
from apiserver.schema.openapi_schemas import DEFINITIONS, schemas_v2, schemas_v3

__all__ = ["OpenApi", "ServedKind", "ServedSubresource"]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_ALWAYS = (f"{_META}.Status", f"{_META}.DeleteOptions", f"{_META}.Patch", f"{_META}.WatchEvent")
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
        self._hashes = {path: self._hash(served) for path, served in self._kinds.items()}
        self._documents: dict[str, bytes] = {}
        self._index = b""

    def index(self) -> bytes:
        """What /openapi/v3 answers: the documents and where they are."""
        if not self._index:
            paths = {
                path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={self._hashes[path]}"} for path in self._kinds
            }
            self._index = orjson.dumps({"paths": paths})
        return self._index

    def etag(self, path: str) -> str:
        """The hash of the document of `apis/apps/v1`, "" where there is none; "v2" names the v2 document."""
        if path == "v2":
            return self._hash([kind for kinds in self._kinds.values() for kind in kinds])
        return self._hashes.get(path, "")

    def v3(self, path: str) -> bytes | None:
        """The document of a group version (`api/v1`, `apis/apps/v1`), None where nothing is served there."""
        if path not in self._kinds:
            return None
        if path not in self._documents:
            self._documents[path] = orjson.dumps(self._document_v3(self._kinds[path]))
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
        schemas = schemas_v3(self._schema.described(), (*_wanted(kinds), *names.values()))
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": self._git_version},
            "paths": dict(item for kind in kinds for item in paths_of(kind, names)),
            "components": {
                "schemas": schemas | _custom(kinds, names, COMPONENTS),
                "securitySchemes": _SECURITY,
            },
        }

    def _document_v2(self) -> dict[str, Any]:
        kinds = [kind for served in self._kinds.values() for kind in served]
        names = self._component_names(kinds)
        schemas = schemas_v2(self._schema.described(), (*_wanted(kinds), *names.values()))
        paths = (item for kind in kinds for item in paths_of(kind, names))
        return {
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": self._git_version},
            "paths": {path: as_v2(item) for path, item in paths},
            "definitions": schemas | _custom(kinds, names, DEFINITIONS),
            "securityDefinitions": _SECURITY,
            "security": [{"BearerToken": []}],
        }

    def _component_names(self, kinds: Sequence[ServedKind]) -> dict[tuple[str, str, str], str]:
        """The schema names of all kinds that stand in bodies: the kinds', their lists' and their subresources'."""
        names: dict[tuple[str, str, str], str] = {}
        for served in kinds:
            if served.schema is not None:
                names[served.group, served.version, served.kind] = _custom_name(served)
                names[served.group, served.version, f"{served.kind}List"] = f"{_custom_name(served)}List"
                continue
            bodies = [(served.group, served.version, kind) for kind in (served.kind, f"{served.kind}List")]
            bodies += [(sub.group, sub.version, sub.kind) for sub in served.subresources]
            for body in bodies:
                if name := self._schema.definition_name(*body):
                    names[body] = name
        return names

    def _hash(self, kinds: Sequence[ServedKind]) -> str:
        made_of = (self._git_version, self._schema.version, [repr(kind) for kind in kinds])
        return hashlib.sha512(repr(made_of).encode()).hexdigest().upper()


def _wanted(kinds: Sequence[ServedKind]) -> tuple[str, ...]:
    """Definitions that stand in a document whatever its kinds refer to."""
    return (*_ALWAYS, *_OF_CUSTOM) if any(kind.schema is not None for kind in kinds) else _ALWAYS


def _custom(kinds: Sequence[ServedKind], names: Mapping[tuple[str, str, str], str], prefix: str) -> dict[str, Any]:
    """The schemas of custom resources, which bring their own, and of their lists."""
    custom = {}
    for kind in kinds:
        if kind.schema is not None:
            name = names[kind.group, kind.version, kind.kind]
            properties = {**(kind.schema.get("properties") or {}), **_object_properties(prefix, "ObjectMeta")}
            custom[name] = {**kind.schema, "properties": properties, **_marked(kind, kind.kind)}
            items = {"type": "array", "items": {"$ref": prefix + name}, "description": f"List of {kind.plural}."}
            custom[f"{name}List"] = {
                "description": f"{kind.kind}List is a list of {kind.kind}",
                "type": "object",
                "required": ["items"],
                "properties": {**_object_properties(prefix, "ListMeta"), "items": items},
                **_marked(kind, f"{kind.kind}List"),
            }
    return custom


def _object_properties(prefix: str, metadata: str) -> dict[str, Any]:
    """What every object has, whatever its schema says."""
    return {
        "apiVersion": {"type": "string", "description": "The version of the schema this object is written in."},
        "kind": {"type": "string", "description": "The kind of this object, in CamelCase."},
        "metadata": {
            "allOf": [{"$ref": f"{prefix}{_META}.{metadata}"}],
            "description": "Standard object's metadata.",
        }
        if prefix == COMPONENTS
        else {"$ref": f"{prefix}{_META}.{metadata}", "description": "Standard object's metadata."},
    }


def _marked(kind: ServedKind, name: str) -> dict[str, Any]:
    return {"x-kubernetes-group-version-kind": [{"group": kind.group, "version": kind.version, "kind": name}]}


def _custom_name(served: ServedKind) -> str:
    """`com.example.v1.Widget` for a Widget of example.com/v1."""
    return ".".join([*reversed(served.group.split(".")), served.version, served.kind])
