"""What an aggregated API server says it serves, as it stands in this server's own discovery.

Facts: kube-aggregator's handler_discovery.go and endpoints.ConvertGroupVersionIntoToDiscovery (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from apiserver.aggregation.calls import Answer, Calls
from apiserver.aggregation.remote import Remote
from apiserver.aggregation.shapes import version_entry
from apiserver.outgoing.errors import CallError
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_ACCEPT = f"{AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
_OK, _NOT_MODIFIED, _UNAVAILABLE = 200, 304, 503


@dataclass(frozen=True, slots=True)
class Document:
    """One group version: an APIVersionDiscovery without its freshness, and the ETag of what it was taken from."""

    entry: Json
    etag: str = ""


def nothing(remote: Remote) -> Document:
    """Of a group version nobody could tell of yet."""
    return Document({"version": remote.version})


async def fetch(calls: Calls, remote: Remote, known: Document | None) -> Document:
    """From the server's aggregated discovery, or else from that of the one group version. CallError, ServiceError."""
    try:
        return await _fetch(calls, remote, known)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CallError(f"discovery of {remote.path} is none: {error!r}") from error


async def _fetch(calls: Calls, remote: Remote, known: Document | None) -> Document:
    answer = await calls.get(remote, "/apis", _ACCEPT, known.etag if known else "")
    if answer.status == _NOT_MODIFIED and known is not None:
        return known
    if answer.status == _UNAVAILABLE:
        where = f"{remote.namespace}/{remote.service}:{remote.port}"
        raise CallError(f"service {where} returned non-success response code: {answer.status}")
    if answer.status == _OK and _is_aggregated(answer.content_type):
        return Document(_found(_parsed(answer), remote), answer.etag)
    answer = await calls.get(remote, remote.path, "application/json")
    if answer.status != _OK:
        raise CallError(f"failed to download legacy discovery for {remote.path}: {answer.status}")
    resources = _converted(_parsed(answer).get("resources") or ())
    return Document(version_entry({"version": remote.version, "resources": resources}))


def _is_aggregated(content_type: str) -> bool:
    parameters = {part.strip() for part in content_type.split(";")}
    return {"g=apidiscovery.k8s.io", "as=APIGroupDiscoveryList"} <= parameters


def _parsed(answer: Answer) -> Object:
    """Raises ValueError where it is no JSON."""
    document: Object = orjson.loads(answer.body)
    return document


def _found(document: Json, remote: Remote) -> Json:
    """The entry of one group version; an empty one where the server says nothing of it."""
    for group in document.get("items") or ():
        if (group.get("metadata") or {}).get("name", "") == remote.group:
            for version in group.get("versions") or ():
                if version.get("version") == remote.version:
                    return version_entry(version)
    return nothing(remote).entry


def _converted(resources: Sequence[Json]) -> list[Object]:
    """APIResources as APIResourceDiscoveries, subresources below their resources."""
    entries: dict[str, Object] = {}
    for resource in resources:
        name, _, subresource = resource["name"].partition("/")
        response_kind = {
            "group": resource.get("group", ""),
            "version": resource.get("version", ""),
            "kind": resource.get("kind", ""),
        }
        entry = entries.setdefault(name, {"resource": name})
        if subresource:
            below = {
                "subresource": subresource,
                "responseKind": response_kind,
                "verbs": resource.get("verbs") or [],
            }
            entry.setdefault("subresources", []).append(below)
            continue
        entry |= {
            "responseKind": response_kind,
            "scope": "Namespaced" if resource.get("namespaced") else "Cluster",
            "singularResource": resource.get("singularName", ""),
            "verbs": resource.get("verbs") or [],
        }
        for name in ("shortNames", "categories"):
            if resource.get(name):
                entry[name] = resource[name]
    return list(entries.values())
