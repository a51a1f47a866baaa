"""The kind Fault of `kubeloop.io`, and how it comes into a cluster: only where it is asked for."""

from __future__ import annotations

from typing import Any

from kubelet_sim.behaviour import WORDS
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CUSTOM_RESOURCE_DEFINITIONS, Resource
from kubeloop.client.api import Api

FAULTS = Resource("kubeloop.io", "v1alpha1", "faults", "Fault", namespaced=False)
NODE_DOWN, NODE_PARTITIONED, NODE_SLOW, POD_BEHAVIOUR = "NodeDown", "NodePartitioned", "NodeSlow", "PodBehaviour"

_MANAGER = "kubelet-sim"
_DURATION = {"type": "string", "format": "duration"}
_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_SELECTOR = {
    "type": "object",
    "properties": {
        "matchLabels": _TEXTS,
        "matchExpressions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["key", "operator"],
                "properties": {
                    "key": {"type": "string"},
                    "operator": {"type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
                    "values": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
    },
}


def definition() -> Object:
    """The CustomResourceDefinition."""
    columns = [
        _column("Type", ".spec.type"),
        _column("Phase", ".status.phase"),
        _column("Nodes", ".status.nodes", "integer"),
        _column("Pods", ".status.pods", "integer"),
        _column("Age", ".metadata.creationTimestamp", "date"),
    ]
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": _spec(), "status": _status()}}
    version = {
        "name": FAULTS.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": CUSTOM_RESOURCE_DEFINITIONS.api_version,
        "kind": CUSTOM_RESOURCE_DEFINITIONS.kind,
        "metadata": {"name": str(FAULTS)},
        "spec": {
            "group": FAULTS.group,
            "scope": "Cluster",
            "names": {"plural": FAULTS.plural, "singular": "fault", "kind": FAULTS.kind},
            "versions": [version],
        },
    }


async def install(api: Api) -> None:
    """Whatever was there."""
    await api.apply(CUSTOM_RESOURCE_DEFINITIONS, definition(), field_manager=_MANAGER, force=True)


def _spec() -> dict[str, Any]:
    types = [NODE_DOWN, NODE_PARTITIONED, NODE_SLOW, POD_BEHAVIOUR]
    nodes = {"names": {"type": "array", "items": {"type": "string"}}, "selector": _SELECTOR}
    words = f"self.all(word, word.split('.')[0] in {sorted(WORDS)})".replace('"', "'")
    return {
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": {"type": "string", "enum": types},
            "nodes": {"type": "object", "properties": nodes},
            "pods": {
                "type": "object",
                "properties": {"namespace": {"type": "string"}, "selector": _SELECTOR},
            },
            "behaviour": {
                **_TEXTS,
                "maxProperties": 20,
                "x-kubernetes-validations": [{"rule": words, "message": f"may say: {', '.join(sorted(WORDS))}"}],
            },
            "delay": _DURATION,
            "startTime": {"type": "string", "format": "date-time"},
            "duration": _DURATION,
        },
        "x-kubernetes-validations": [
            {
                "rule": f"self.type == '{POD_BEHAVIOUR}' ? has(self.pods) && has(self.behaviour) : has(self.nodes)",
                "message": f"a fault of nodes needs nodes, and {POD_BEHAVIOUR} needs pods and behaviour",
            },
            {"rule": f"self.type != '{NODE_SLOW}' || has(self.delay)", "message": f"{NODE_SLOW} needs a delay"},
        ],
    }


def _status() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "observedGeneration": {"type": "integer"},
            "phase": {"type": "string"},
            "message": {"type": "string"},
            "nodes": {"type": "integer"},
            "pods": {"type": "integer"},
        },
    }


def _column(name: str, path: str, type_: str = "string") -> Object:
    return {"name": name, "type": type_, "jsonPath": path}
