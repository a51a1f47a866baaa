"""A custom kind whose versions differ, and the webhook that converts between them.

v1alpha1  spec.hostPort: "a:1"        v1  spec.host: a, spec.port: 1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource

DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
OLD, NEW = (Resource("example.com", version, "routes", "Route") for version in ("v1alpha1", "v1"))
NAME = "routes.example.com"

_TEXT, _INT = {"type": "string"}, {"type": "integer"}
_STATUS = {"type": "object", "properties": {"phase": _TEXT, "replicas": _INT}}
_SPECS = {
    "v1alpha1": {"hostPort": _TEXT, "size": _INT, "note": {**_TEXT, "default": "old"}},
    "v1": {"host": {**_TEXT, "maxLength": 20}, "port": {**_INT, "default": 80}, "replicas": _INT, "tags": _TEXT},
}
_REPLICAS = {"v1alpha1": ".spec.size", "v1": ".spec.replicas"}
_SELECTABLE = {"v1alpha1": ".spec.hostPort", "v1": ".spec.host"}
_COLUMNS = {"v1alpha1": [("Target", "string")], "v1": [("Host", "string"), ("Port", "integer")]}
_COLUMN_PATHS = {"Target": ".spec.hostPort", "Host": ".spec.host", "Port": ".spec.port"}


def a_definition(stored: str = "v1", client: Object | None = None, **changes: Object) -> Object:
    """Of routes, in two versions; `changes` are for versions by name. Without a `client` it has strategy None."""
    conversion: Object = {"strategy": "None"}
    if client is not None:
        webhook = {"clientConfig": client, "conversionReviewVersions": ["v1", "v1beta1"]}
        conversion = {"strategy": "Webhook", "webhook": webhook}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "routes", "kind": "Route", "singular": "route"},
            "conversion": conversion,
            "versions": [{**_version(name, name == stored), **changes.get(name, {})} for name in _SPECS],
        },
    }


def _version(name: str, is_stored: bool) -> Object:
    spec = {"type": "object", "properties": dict(_SPECS[name])}
    paths = {"specReplicasPath": _REPLICAS[name], "statusReplicasPath": ".status.replicas"}
    return {
        "name": name,
        "served": True,
        "storage": is_stored,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": _STATUS}}},
        "subresources": {"status": {}, "scale": paths},
        "selectableFields": [{"jsonPath": _SELECTABLE[name]}],
        "additionalPrinterColumns": [
            {"name": column, "type": type_, "jsonPath": _COLUMN_PATHS[column]} for column, type_ in _COLUMNS[name]
        ],
    }


def a_route(name: str = "a", resource: Resource = NEW, labels: Object | None = None, **spec: Any) -> Object:
    metadata: Object = {"name": name, "namespace": "default", **({"labels": labels} if labels else {})}
    return {"apiVersion": resource.api_version, "kind": "Route", "metadata": metadata, "spec": spec}


def converted(route: Object, to: str) -> Object:
    """What an honest webhook makes of a route; a label tells the version it was made into."""
    spec = dict(route.get("spec") or {})
    if route["apiVersion"] != to and to == NEW.api_version:
        host, _, port = spec.pop("hostPort", "").partition(":")
        spec |= {"host": host} if host else {}
        spec |= {"port": int(port)} if port else {}
        spec |= {"replicas": spec.pop("size")} if "size" in spec else {}
        spec |= {"tags": spec.pop("note")} if "note" in spec else {}
    elif route["apiVersion"] != to:
        host, port = spec.pop("host", ""), spec.pop("port", "")
        spec |= {"hostPort": f"{host}:{port}"} if host or port else {}
        spec |= {"size": spec.pop("replicas")} if "replicas" in spec else {}
        spec |= {"note": spec.pop("tags")} if "tags" in spec else {}
    metadata = dict(route["metadata"])
    metadata["labels"] = {**(metadata.get("labels") or {}), "seen-as": to.rpartition("/")[2]}
    return {**route, "apiVersion": to, "metadata": metadata, "spec": spec}


def answer_to(review: Object, convert: Callable[[Object, str], Object] = converted) -> Object:
    """The ConversionReview that a webhook answers with."""
    request = review["request"]
    objects = [convert(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
    response = {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
