"""PodTopologyLabels: a pod carries the zone and region of its node, from its binding or from being created bound."""

from __future__ import annotations

from apiserver.admission.chain import CREATE, Attributes, Plugin
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.meta import Object, labels_of

NODES = "nodes"
TOPOLOGY_LABELS = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


class PodTopologyLabels(Plugin):
    """On pods/binding the labels go onto the Binding: the binding endpoint copies its labels onto the pod."""

    operations = frozenset({CREATE})
    resources = frozenset({"pods"})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def admit(self, attributes: Attributes) -> None:
        obj = attributes.object
        if obj is None or attributes.subresource not in ("", "binding"):
            return
        topology = self._topology(_node_of(obj, attributes.subresource))
        if topology:
            metadata = obj.setdefault("metadata", {})
            metadata["labels"] = {**(metadata.get("labels") or {}), **topology}

    def _topology(self, node_name: str) -> dict[str, str]:
        node = self._reader.get(NODES, "", node_name) if node_name else None
        if node is None:
            return {}
        labels = labels_of(node)
        return {label: labels[label] for label in TOPOLOGY_LABELS if label in labels}


def _node_of(obj: Object, subresource: str) -> str:
    if subresource == "binding":
        target = obj.get("target") or {}
        return target.get("name", "") if target.get("kind") == "Node" else ""
    return (obj.get("spec") or {}).get("nodeName", "")
