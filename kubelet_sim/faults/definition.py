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
    "description": "Labels that must be there, as in a Deployment's selector.",
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
_TYPES = (
    "NodeDown: the machine is off. NodePartitioned: it does not reach the API server, its pods go on. "
    "NodeSlow: all comes later by delay. PodBehaviour: containers behave as behaviour says."
)
_BEHAVIOUR = (
    "The words of the annotations kubeloop.io/WORD without their prefix, or WORD.CONTAINER for one container: "
    'exit-after: 30s, exit-code: "1", ready-after: 10s, readiness: fail@0s,pass@1m, memory-usage: 50Mi@0s,600Mi@10m. '
    "Times count from the beginning of the fault, or the start of a container that came later. For PodBehaviour."
)


def definition() -> Object:
    """The CustomResourceDefinition."""
    columns = [
        _column("Type", ".spec.type"),
        _column("Phase", ".status.phase"),
        _column("Nodes", ".status.nodes", "integer"),
        _column("Pods", ".status.pods", "integer"),
        _column("Age", ".metadata.creationTimestamp", "date"),
    ]
    schema = {
        "type": "object",
        "description": "A fault of simulated nodes or pods, in force while it is there; its removal heals what it did.",
        "required": ["spec"],
        "properties": {"spec": _spec(), "status": _status()},
    }
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
    names = {"type": "array", "description": "Nodes by their names.", "items": {"type": "string"}}
    words = f"self.all(word, word.split('.')[0] in {sorted(WORDS)})".replace('"', "'")
    return {
        "type": "object",
        "description": "What is wrong, with whom, and for how long.",
        "required": ["type"],
        "properties": {
            "type": {"type": "string", "description": _TYPES, "enum": types},
            "nodes": {
                "type": "object",
                "description": "The nodes that are hit, by names or by labels; for every type but PodBehaviour.",
                "properties": {"names": names, "selector": _SELECTOR},
            },
            "pods": {
                "type": "object",
                "description": "The pods that are hit; {} is all of them. For PodBehaviour.",
                "properties": {
                    "namespace": {"type": "string", "description": "Only pods in this namespace; without it, in all."},
                    "selector": _SELECTOR,
                },
            },
            "behaviour": {
                **_TEXTS,
                "description": _BEHAVIOUR,
                "maxProperties": 20,
                "x-kubernetes-validations": [{"rule": words, "message": f"may say: {', '.join(sorted(WORDS))}"}],
            },
            "delay": {**_DURATION, "description": "How much later all comes that a slow node does: 5s. For NodeSlow."},
            "startTime": {
                "type": "string",
                "format": "date-time",
                "description": "When it begins; without it, at once.",
            },
            "duration": {
                **_DURATION,
                "description": "How long it lasts: 2m, 1h30m. Without it, as long as the fault is there.",
            },
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
        "description": "What has become of it.",
        "properties": {
            "observedGeneration": {"type": "integer", "description": "The generation that this tells of."},
            "phase": {"type": "string", "description": "Pending, Active, Over, or Invalid."},
            "message": {"type": "string", "description": "What is wrong with it."},
            "nodes": {"type": "integer", "description": "How many nodes it hits."},
            "pods": {"type": "integer", "description": "How many pods it hits."},
        },
    }


def _column(name: str, path: str, type_: str = "string") -> Object:
    return {"name": name, "type": type_, "jsonPath": path}
