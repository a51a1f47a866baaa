"""What the metrics server says it serves: discovery and OpenAPI. Constants."""

from __future__ import annotations

from typing import Any

from kubelet_sim.metrics.objects import API_VERSION, GROUP, VERSION
from kubeloop.apimachinery.meta import Object

_VERBS = ["get", "list"]
_GROUP_VERSION = {"groupVersion": API_VERSION, "version": VERSION}
_GROUP: Object = {"name": GROUP, "versions": [_GROUP_VERSION], "preferredVersion": _GROUP_VERSION}

API_GROUPS: Object = {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_GROUP]}
API_GROUP: Object = {"kind": "APIGroup", "apiVersion": "v1", **_GROUP}
API_RESOURCES: Object = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": API_VERSION,
    "resources": [
        {"name": "nodes", "singularName": "", "namespaced": False, "kind": "NodeMetrics", "verbs": _VERBS},
        {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": _VERBS},
    ],
}


def _discovered(plural: str, kind: str, scope: str) -> Object:
    response_kind = {"group": "", "version": "", "kind": kind}
    return {
        "resource": plural,
        "responseKind": response_kind,
        "scope": scope,
        "singularResource": "",
        "verbs": _VERBS,
    }


AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
DISCOVERY: Object = {
    "kind": "APIGroupDiscoveryList",
    "apiVersion": "apidiscovery.k8s.io/v2",
    "metadata": {},
    "items": [
        {
            "metadata": {"name": GROUP},
            "versions": [
                {
                    "version": VERSION,
                    "resources": [
                        _discovered("nodes", "NodeMetrics", "Cluster"),
                        _discovered("pods", "PodMetrics", "Namespaced"),
                    ],
                    "freshness": "Current",
                }
            ],
        }
    ],
}

OPENAPI_PATH = f"apis/{API_VERSION}"
OPENAPI_INDEX: Object = {"paths": {OPENAPI_PATH: {"serverRelativeURL": f"/openapi/v3/{OPENAPI_PATH}"}}}

_PREFIX = "io.k8s.metrics.pkg.apis.metrics.v1beta1"
_TYPE_META: Object = {
    "apiVersion": {"type": "string", "description": "The version of this representation of the object."},
    "kind": {"type": "string", "description": "What the object is."},
}
_METADATA: Object = {"type": "object", "description": "Name, namespace and labels of whose usage it is."}
_TIME: Object = {"type": "string", "format": "date-time", "description": "The end of the time that was measured."}
_WINDOW: Object = {"type": "string", "description": "How long was measured: usage is the average of that time."}
_USAGE: Object = {
    "type": "object",
    "description": "How much was used of each resource: cpu in cores, memory in bytes.",
    "additionalProperties": {"type": "string"},
}


def _schema(description: str, properties: Object, kind: str = "") -> Object:
    mark: Object = {}
    if kind:
        properties = {**_TYPE_META, **properties}
        mark = {"x-kubernetes-group-version-kind": [{"group": GROUP, "kind": kind, "version": VERSION}]}
    return {"type": "object", "description": description, "properties": properties, **mark}


def _many(name: str) -> Object:
    items = {"allOf": [{"$ref": f"#/components/schemas/{_PREFIX}.{name}"}], "default": {}}
    return {"type": "array", "items": items}


def _list(kind: str) -> Object:
    about = {"metadata": {"type": "object"}, "items": _many(kind)}
    return _schema(f"{kind}List is a list of {kind}.", about, f"{kind}List")


_SCHEMAS: Object = {
    f"{_PREFIX}.ContainerMetrics": _schema(
        "What one container used.", {"name": {"type": "string", "description": "Its name."}, "usage": _USAGE}
    ),
    f"{_PREFIX}.NodeMetrics": _schema(
        "What a node used.",
        {"metadata": _METADATA, "timestamp": _TIME, "window": _WINDOW, "usage": _USAGE},
        "NodeMetrics",
    ),
    f"{_PREFIX}.NodeMetricsList": _list("NodeMetrics"),
    f"{_PREFIX}.PodMetrics": _schema(
        "What the containers of a pod used.",
        {"metadata": _METADATA, "timestamp": _TIME, "window": _WINDOW, "containers": _many("ContainerMetrics")},
        "PodMetrics",
    ),
    f"{_PREFIX}.PodMetricsList": _list("PodMetrics"),
}


def _operation(action: str, kind: str, answer: str) -> Object:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{_PREFIX}.{answer}"}}}
    return {
        "get": {
            "responses": {"200": {"description": "OK", "content": content}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {"group": GROUP, "kind": kind, "version": VERSION},
        }
    }


_BASE = f"/apis/{API_VERSION}"
OPENAPI: dict[str, Any] = {
    "openapi": "3.0.0",
    "info": {"title": "metrics-server", "version": VERSION},
    "paths": {
        f"{_BASE}/nodes": _operation("list", "NodeMetrics", "NodeMetricsList"),
        f"{_BASE}/nodes/{{name}}": _operation("get", "NodeMetrics", "NodeMetrics"),
        f"{_BASE}/pods": _operation("list", "PodMetrics", "PodMetricsList"),
        f"{_BASE}/namespaces/{{namespace}}/pods": _operation("list", "PodMetrics", "PodMetricsList"),
        f"{_BASE}/namespaces/{{namespace}}/pods/{{name}}": _operation("get", "PodMetrics", "PodMetrics"),
    },
    "components": {"schemas": _SCHEMAS},
}
