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
from apiserver.schema.openapi_paths import ServedKind, ServedSubresource, as_v2, paths_of
from apiserver.schema.openapi_protobuf import encode
from apiserver.schema.openapi_schemas import schemas_v2, schemas_v3

__all__ = ["OpenApi", "ServedKind", "ServedSubresource"]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_ALWAYS = (f"{_META}.Status", f"{_META}.DeleteOptions", f"{_META}.Patch", f"{_META}.WatchEvent")
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
        schemas = schemas_v3(self._schema.described(), (*_ALWAYS, *names.values()))
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": self._git_version},
            "paths": dict(item for kind in kinds for item in paths_of(kind, names)),
            "components": {
                "schemas": schemas | _custom(kinds, names),
                "securitySchemes": _SECURITY,
            },
        }

    def _document_v2(self) -> dict[str, Any]:
        kinds = [kind for served in self._kinds.values() for kind in served]
        names = self._component_names(kinds)
        schemas = schemas_v2(self._schema.described(), (*_ALWAYS, *names.values()))
        paths = (item for kind in kinds for item in paths_of(kind, names))
        return {
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": self._git_version},
            "paths": {path: as_v2(item) for path, item in paths},
            "definitions": schemas | _custom(kinds, names),
            "securityDefinitions": _SECURITY,
            "security": [{"BearerToken": []}],
        }

    def _component_names(self, kinds: Sequence[ServedKind]) -> dict[tuple[str, str, str], str]:
        """The schema names of all kinds that stand in bodies: the kinds', their lists' and their subresources'."""
        names: dict[tuple[str, str, str], str] = {}
        for served in kinds:
            if served.schema is not None:
                names[served.group, served.version, served.kind] = _custom_name(served)
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


def _custom(kinds: Sequence[ServedKind], names: Mapping[tuple[str, str, str], str]) -> dict[str, Any]:
    """The schemas of custom resources, which bring their own."""
    custom = {}
    for kind in kinds:
        if kind.schema is not None:
            marks = [{"group": kind.group, "version": kind.version, "kind": kind.kind}]
            name = names[kind.group, kind.version, kind.kind]
            custom[name] = {**kind.schema, "x-kubernetes-group-version-kind": marks}
    return custom


def _custom_name(served: ServedKind) -> str:
    """`com.example.v1.Widget` for a Widget of example.com/v1."""
    return ".".join([*reversed(served.group.split(".")), served.version, served.kind])
