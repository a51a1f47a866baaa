"""The pod that a DaemonSet makes for a node, and for which node a pod was made. Pure.

The node is a required affinity and not spec.nodeName: the scheduler places it. Troubles of a node drive no daemon pod
away: it tolerates them. pkg/controller/daemon/util, v1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllers.pod_control import pod_from_template
from controllers.pods import node_of
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, labels_of
from kubeloop.apimachinery.node_affinity import NAME_FIELD
from kubeloop.apimachinery.resource import DAEMON_SETS
from kubeloop.apimachinery.tolerations import NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE, Toleration

HASH_LABEL = "controller-revision-hash"
GENERATION_LABEL = "pod-template-generation"

_TOLERATED = (
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    (UNSCHEDULABLE, NO_SCHEDULE),
)
_TOLERATED_ON_HOST_NETWORK = (
    *_TOLERATED,
    ("node.kubernetes.io/network-unavailable", NO_SCHEDULE),
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def new_pod(daemon_set: ReadOnlyObject, node_name: str, revision_hash: str, generation: str) -> Object:
    """`generation`: that of the template, "" where the DaemonSet does not say."""
    pod = pod_from_template(daemon_set["spec"]["template"], daemon_set, DAEMON_SETS)
    labels = {**labels_of(pod), HASH_LABEL: revision_hash}
    if generation:
        labels[GENERATION_LABEL] = generation
    spec = {
        **pod["spec"],
        "tolerations": tolerations_of(pod["spec"]),
        "affinity": _bound_to(node_name, pod["spec"].get("affinity") or {}),
    }
    return {**pod, "metadata": {**pod["metadata"], "labels": labels}, "spec": spec}


def tolerations_of(spec: ReadOnlyObject) -> list[Toleration]:
    """The template's own, with those of a daemon pod; the same one with a time limit loses its limit."""
    tolerations = list(spec.get("tolerations") or ())
    for key, effect in _TOLERATED_ON_HOST_NETWORK if spec.get("hostNetwork") else _TOLERATED:
        added = {"key": key, "operator": "Exists", "effect": effect}
        same = [i for i, toleration in enumerate(tolerations) if _is_same(toleration, added)]
        for i in same:
            tolerations[i] = added
        if not same:
            tolerations.append(added)
    return tolerations


def target_node(pod: ReadOnlyObject) -> str:
    """The node it runs on or, while it is not placed yet, was made for; "" where it does not say."""
    if node_of(pod):
        return node_of(pod)
    required = _node_affinity(pod["spec"].get("affinity") or {}).get(_REQUIRED) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for entry in term.get("matchFields") or ():
            if entry.get("key") == NAME_FIELD and entry.get("operator") == "In":
                values = entry.get("values") or []
                return values[0] if len(values) == 1 else ""
    return ""


def _bound_to(node_name: str, affinity: ReadOnlyObject) -> Object:
    """Required terms of the template are dropped: the node was chosen by them."""
    term = {"matchFields": [{"key": NAME_FIELD, "operator": "In", "values": [node_name]}]}
    return {**affinity, "nodeAffinity": {**_node_affinity(affinity), _REQUIRED: {"nodeSelectorTerms": [term]}}}


def _node_affinity(affinity: ReadOnlyObject) -> Mapping[str, Any]:
    return affinity.get("nodeAffinity") or {}


def _is_same(one: Toleration, other: Toleration) -> bool:
    return all((one.get(field) or "") == (other.get(field) or "") for field in ("key", "operator", "effect", "value"))
