"""Discovery: which groups, versions and resources are served, plain and aggregated."""

from __future__ import annotations

from typing import Any

import orjson

from apiserver.handlers.response import Response, json_response
from apiserver.registry.catalog import Catalog, Kind, Subresource

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_AGGREGATED_PARAMETERS = {"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"}


def core(catalog: Catalog, accept: str) -> Response:
    """/api: the versions of the core group."""
    if _wants_aggregated(accept):
        return _aggregated(catalog, [""])
    address = {"clientCIDR": "0.0.0.0/0", "serverAddress": ""}
    return json_response(
        {"kind": "APIVersions", "versions": catalog.groups().get("", []), "serverAddressByClientCIDRs": [address]}
    )


def groups(catalog: Catalog, accept: str) -> Response:
    """/apis: every other group."""
    named = [group for group in catalog.groups() if group]
    if _wants_aggregated(accept):
        return _aggregated(catalog, named)
    listed = [_group(group, catalog.groups()[group]) for group in named]
    return json_response({"kind": "APIGroupList", "apiVersion": "v1", "groups": listed})


def group(catalog: Catalog, name: str) -> Response:
    """/apis/GROUP."""
    return json_response({"kind": "APIGroup", "apiVersion": "v1", **_group(name, catalog.groups()[name])})


def resources(catalog: Catalog, group: str, version: str) -> Response:
    """/api/v1 or /apis/GROUP/VERSION: resources and their subresources, by name."""
    kinds = catalog.of_version(group, version)
    listed = [
        entry for kind in kinds for entry in (_resource(kind), *(_subresource(kind, s) for s in kind.subresources))
    ]
    listed.sort(key=lambda entry: entry["name"])
    group_version = f"{group}/{version}" if group else version
    head: dict[str, Any] = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
    return json_response({**head, "groupVersion": group_version, "resources": listed})


def _group(name: str, versions: list[str]) -> dict[str, Any]:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _resource(kind: Kind) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.resource.namespaced,
        "kind": kind.resource.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    return entry


def _subresource(kind: Kind, subresource: Subresource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{kind.plural}/{subresource.name}",
        "singularName": "",
        "namespaced": kind.resource.namespaced,
        "kind": subresource.kind,
        "verbs": list(subresource.verbs),
    }
    if subresource.group:
        entry |= {"group": subresource.group, "version": subresource.version}
    return entry


def _wants_aggregated(accept: str) -> bool:
    """Whether the first JSON form the client names is the aggregated one in a version that is served."""
    for clause in accept.split(","):
        media_type, *parameters = [part.strip() for part in clause.split(";")]
        if media_type == "application/json":
            named = {p for p in parameters if not p.startswith("q=")}
            if named == _AGGREGATED_PARAMETERS:
                return True
            if not named:
                return False
    return False


def _aggregated(catalog: Catalog, names: list[str]) -> Response:
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [_version(catalog, name, version) for version in catalog.groups()[name]],
        }
        for name in names
    ]
    document = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}
    return Response(200, orjson.dumps(document), AGGREGATED)


def _version(catalog: Catalog, group: str, version: str) -> dict[str, Any]:
    kinds = sorted(catalog.of_version(group, version), key=lambda kind: kind.plural)
    return {
        "version": version,
        "resources": [_discovered(kind, version) for kind in kinds],
        "freshness": "Current",
    }


def _discovered(kind: Kind, version: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "resource": kind.plural,
        "responseKind": {
            "group": kind.group if kind.is_custom else "",
            "version": version if kind.is_custom else "",
            "kind": kind.resource.kind,
        },
        "scope": "Namespaced" if kind.resource.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if kind.subresources:
        entry["subresources"] = [
            {
                "subresource": s.name,
                "responseKind": {"group": s.group, "version": s.version, "kind": s.kind},
                "verbs": list(s.verbs),
            }
            for s in kind.subresources
        ]
    return entry
