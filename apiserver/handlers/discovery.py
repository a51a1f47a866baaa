"""Discovery: which groups, versions and resources are served, plain and aggregated.

Who answers in the real server shows in refusals: /apis and /apis/GROUP are the aggregator's, the rest are routes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from apiserver.aggregation.aggregated import Aggregated
from apiserver.aggregation.documents import AGGREGATED
from apiserver.handlers.encoding import write
from apiserver.handlers.negotiation import negotiate_plain
from apiserver.handlers.response import Response
from apiserver.registry.catalog import Catalog, Kind, Subresource

_AGGREGATED_PARAMETERS = {"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"}
# Parameters that ask for another form; all others mean nothing here.
_CONVERSIONS = ("g=", "v=", "as=")


def core(catalog: Catalog, aggregated: Aggregated, accept: str, known: bytes) -> Response:
    """/api: the versions of the core group. `known` is the ETag of what the client has (If-None-Match)."""
    if _wants_aggregated(accept):
        return _aggregated(catalog, aggregated, {"": catalog.groups().get("", [])}, known)
    address = {"clientCIDR": "0.0.0.0/0", "serverAddress": ""}
    versions = {
        "kind": "APIVersions",
        "versions": catalog.groups().get("", []),
        "serverAddressByClientCIDRs": [address],
    }
    return _document(versions, accept, is_route=True)


def groups(catalog: Catalog, aggregated: Aggregated, accept: str, known: bytes) -> Response:
    """/apis: every other group."""
    named = {group: versions for group, versions in aggregated.groups(catalog).items() if group}
    if _wants_aggregated(accept):
        return _aggregated(catalog, aggregated, named, known)
    listed = [_group(group, versions) for group, versions in named.items()]
    return _document({"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}, accept)


def group(name: str, versions: Sequence[str], accept: str) -> Response:
    """/apis/GROUP."""
    return _document({"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}, accept)


def resources(catalog: Catalog, group: str, version: str, accept: str) -> Response:
    """/api/v1 or /apis/GROUP/VERSION: resources and their subresources, by name."""
    kinds = catalog.of_version(group, version)
    listed = [
        entry
        for kind in kinds
        for entry in (_resource(catalog, kind), *(_subresource(kind, s) for s in kind.subresources))
    ]
    if not catalog.is_custom_group(group):  # there, status comes before scale
        listed.sort(key=lambda entry: entry["name"])
    group_version = f"{group}/{version}" if group else version
    head: dict[str, Any] = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
    document = {**head, "groupVersion": group_version, "resources": listed}
    return _document(document, accept, is_route=not catalog.is_custom_group(group))


def _document(document: dict[str, Any], accept: str, *, is_route: bool = False) -> Response:
    form = negotiate_plain(accept, is_route)
    return Response(200, write(document, form), form.media_type)


def _group(name: str, versions: Sequence[str]) -> dict[str, Any]:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _resource(catalog: Catalog, kind: Kind) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.resource.namespaced,
        "kind": kind.resource.kind,
        "verbs": _verbs(kind),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if kind.is_stored and "watch" in kind.verbs:  # ComponentStatuses are made up
        stored = catalog.served_stored_version(kind)
        if stored is not None:
            entry["storageVersionHash"] = _storage_version_hash(stored)
    return entry


def _verbs(kind: Kind) -> list[str]:
    return [verb for verb in kind.verbs if verb not in kind.strategy.hidden_verbs]


def _storage_version_hash(kind: Kind) -> str:
    """By which clients see that objects are stored in another version than before."""
    version = kind.hashed_version or kind.resource.version
    digest = hashlib.sha256(f"{kind.group}/{version}/{kind.resource.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


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
            named = {p for p in parameters if p.startswith(_CONVERSIONS)}
            if named == _AGGREGATED_PARAMETERS:
                return True
            if not named:
                return False
    return False


def _aggregated(
    catalog: Catalog, aggregated: Aggregated, groups: Mapping[str, Sequence[str]], known: bytes
) -> Response:
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [aggregated.entry(name, version) or _version(catalog, name, version) for version in versions],
        }
        for name, versions in groups.items()
    ]
    document = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}
    body = orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
    etag = b'"%b"' % hashlib.sha512(body).hexdigest().upper().encode()
    headers = [(b"etag", etag), (b"vary", b"Accept"), (b"cache-control", b"public")]
    if known == etag:
        return Response(304, b"", AGGREGATED, headers)
    return Response(200, body, AGGREGATED, headers)


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
        "verbs": _verbs(kind),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if kind.subresources:
        entry["subresources"] = [
            {
                "subresource": s.name,
                "responseKind": _response_kind(kind, s),
                "verbs": list(s.verbs),
            }
            for s in kind.subresources
        ]
    return entry


def _response_kind(kind: Kind, subresource: Subresource) -> dict[str, str]:
    """Of built-in kinds only what is another group's is named in full."""
    group, version = subresource.group, subresource.version
    if kind.is_custom and not group:
        group, version = kind.group, kind.resource.version
    return {"group": group, "version": version, "kind": subresource.kind}
