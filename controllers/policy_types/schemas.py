"""Schemas of kinds as the API server publishes them, with what they refer to put in its place.

Facts: k8s.io/apiserver/pkg/cel/openapi/resolver (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from controllers.policy_types.kinds import KindName
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.json_schema import INT_OR_STRING, Schema, additional_of, items_of, properties_of
from kubeloop.client.api import Api

_REFERENCE = "#/components/schemas/"
_KINDS = "x-kubernetes-group-version-kind"


class Schemas:
    """Made for one look at a policy: each document is read once."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._documents: dict[str, Mapping[str, Schema]] = {}

    async def schema_of(self, kind: KindName) -> Schema | None:
        """None where nobody publishes one."""
        schemas = await self._document(kind.api_version)
        wanted = kind._asdict()
        name = next((name for name, schema in schemas.items() if wanted in (schema.get(_KINDS) or ())), None)
        return None if name is None else complete(schemas, name)

    async def _document(self, api_version: str) -> Mapping[str, Schema]:
        if api_version not in self._documents:
            path = f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"
            try:
                document = await self._api.request("GET", quote(f"/openapi/v3/{path}"))
            except NotFound:
                document = {}
            self._documents[api_version] = (document.get("components") or {}).get("schemas") or {}
        return self._documents[api_version]


def complete(schemas: Mapping[str, Schema], name: str) -> Schema:
    """The schema of that name without references; what leads back to itself is an object of which nothing is known."""
    return _filled(schemas, schemas[name], frozenset((name,)))


def _filled(schemas: Mapping[str, Schema], schema: Schema, within: frozenset[str]) -> Schema:
    name = _referred(schema)
    if name in within:
        return {"type": "object"}
    if name:
        schema, within = schemas.get(name, {}), within | {name}
    filled: dict[str, Any] = dict(schema)
    if schema.get("format") == "int-or-string":  # of built-in kinds; definitions have a field for it
        filled[INT_OR_STRING] = True
    properties, additional, items = properties_of(schema), additional_of(schema), items_of(schema)
    if properties:
        filled["properties"] = {key: _filled(schemas, part, within) for key, part in properties.items()}
    if additional is not None:
        filled["additionalProperties"] = _filled(schemas, additional, within)
    if items is not None:
        filled["items"] = _filled(schemas, items, within)
    return filled


def _referred(schema: Schema) -> str:
    """The name of the schema that is meant; it stands in an allOf where more is said of it."""
    for part in (schema, *(schema.get("allOf") or ())):
        if "$ref" in part:
            return str(part["$ref"]).removeprefix(_REFERENCE)
    return ""
