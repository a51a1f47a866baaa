"""For each plugin that refuses: what would silence it. A new plugin's remedy is a function and one line in REMEDIES.

A proposal may be wrong (two rules may lie behind one refusal): the search believes only what it has tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllers.scheduler.affinity_terms import REQUIRED
from controllers.scheduler.interface import Plugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.plugins.dynamic_resources import DynamicResources
from controllers.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from controllers.scheduler.plugins.node_affinity import NodeAffinity
from controllers.scheduler.plugins.node_ports import NodePorts
from controllers.scheduler.plugins.node_resources_fit import NodeResourcesFit
from controllers.scheduler.plugins.node_unschedulable import NodeUnschedulable
from controllers.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from controllers.scheduler.plugins.pod_topology_spread import PodTopologySpread
from controllers.scheduler.plugins.taint_toleration import TaintToleration
from controllers.scheduler.plugins.volume_binding import VolumeBinding
from controllers.scheduler.plugins.volume_restrictions import VolumeRestrictions
from controllers.scheduler.plugins.volume_zone import VolumeZone
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.spread_constraints import DO_NOT_SCHEDULE, HOSTNAME, SCHEDULE_ANYWAY
from controllers.scheduler.why import devices, room, volumes
from controllers.scheduler.why.changes import Change, Edit, Proposals
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.selectors import from_node_expressions
from kubeloop.apimachinery.tolerations import UNSCHEDULABLE, Taint, is_tolerated

Labels = Mapping[str, str | None]


def uncordon(plugin: Plugin, pod: PodInfo, node: NodeInfo) -> Sequence[Change]:
    def edit(obj: Object) -> None:
        obj["spec"].pop("unschedulable", None)
        # Of a cordon and its taint the one goes with the other.
        obj["spec"]["taints"] = [t for t in obj["spec"].get("taints") or () if t.get("key") != UNSCHEDULABLE]

    return [Change(f"uncordon {node.name}", 1, f"kubectl uncordon {node.name}", edit_node=edit)]


def tolerate(plugin: Plugin, pod: PodInfo, node: NodeInfo) -> Sequence[Change]:
    """Its taints; one that stands for a cordon is left to `uncordon`."""
    if node.is_unschedulable:
        return uncordon(plugin, pod, node)
    taints = [taint for taint in node.repelling_taints if not is_tolerated(pod.tolerations, taint)]
    spelled = ", ".join(_spelled(taint) for taint in taints)

    def edit_pod(obj: Object) -> None:
        obj["spec"].setdefault("tolerations", []).extend(
            {"key": taint["key"], "operator": "Exists", "effect": taint["effect"]} for taint in taints
        )

    def edit_node(obj: Object) -> None:
        obj["spec"]["taints"] = [taint for taint in obj["spec"]["taints"] if taint not in taints]

    removals = " ".join(f"{taint['key']}:{taint['effect']}-" for taint in taints)
    return [
        Change(f"let the pod tolerate {spelled}", 2, edit_pod=edit_pod),
        Change(
            f"remove {spelled} from {node.name}", 3, f"kubectl taint node {node.name} {removals}", edit_node=edit_node
        ),
    ]


def match_labels(plugin: Plugin, pod: PodInfo, node: NodeInfo) -> Sequence[Change]:
    """Label the node, where that is anybody's to do; or drop what the pod asks for."""
    wanted: Mapping[str, str] = pod.spec.get("nodeSelector") or {}
    missing = {key: value for key, value in wanted.items() if node.labels.get(key) != value}
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    changes: list[Change] = []
    for of_affinity in _labels_of_terms(affinity.get(REQUIRED) or {}, node) or [{}]:
        labels: Labels = {**of_affinity, **missing}
        if labels and not any(_is_kubelets(key) or (value or "").startswith("-") for key, value in labels.items()):
            changes.append(_label(labels, node))
    if missing:
        pairs = _pairs(missing)
        changes.append(Change(f"drop {pairs} from the pod's nodeSelector", 3, edit_pod=_drop_selector(missing)))
    if affinity.get(REQUIRED):
        changes.append(Change("drop the pod's required node affinity", 4, edit_pod=_drop_affinity("nodeAffinity")))
    if missing and affinity.get(REQUIRED):
        changes.append(Change("drop the pod's nodeSelector and required node affinity", 6, edit_pod=_drop_both))
    return changes


def _labels_of_terms(affinity: Mapping[str, Any], node: NodeInfo) -> list[Labels]:
    """For each term that labels can satisfy: those that the node lacks, or (None) has too many."""
    return [
        {
            expression["key"]: _value(expression, node)
            for expression in expressions
            if not from_node_expressions([expression]).matches(node.labels)
        }
        for term in affinity.get("nodeSelectorTerms") or ()
        if (expressions := term.get("matchExpressions"))
    ]


def _value(expression: Mapping[str, Any], node: NodeInfo) -> str | None:
    """With which the expression would hold of the node."""
    operator, values = expression["operator"], expression.get("values") or ("",)
    if operator in ("NotIn", "DoesNotExist"):
        return None
    if operator in ("Gt", "Lt"):
        return str(int(values[0]) + (1 if operator == "Gt" else -1))
    return values[0] if operator == "In" else ""


def _is_kubelets(key: str) -> bool:
    """Labels that say what a node is; a kubelet writes them back."""
    return key in (HOSTNAME, "kubernetes.io/os", "kubernetes.io/arch", "node.kubernetes.io/instance-type")


def _label(labels: Labels, node: NodeInfo) -> Change:
    """None takes the label away."""
    given = {key: value for key, value in labels.items() if value is not None}
    taken = [key for key in labels if key not in given]

    def edit(obj: Object) -> None:
        before = obj["metadata"].get("labels") or {}
        obj["metadata"]["labels"] = {key: value for key, value in before.items() if key not in taken} | given

    is_changed = any(key in node.labels for key in given)
    cost = 4.5 if taken or is_changed else 2  # what a node says of itself may matter to others
    overwrite = " --overwrite" if is_changed else ""
    said = " ".join(filter(None, (_pairs(given), *(f"{key}-" for key in taken))))
    texts = [f"label {node.name} with {_pairs(given)}"] if given else []
    texts += [f"take the label {', '.join(taken)} from {node.name}"] if taken else []
    return Change(" and ".join(texts), cost, f"kubectl label node {node.name} {said}{overwrite}", edit_node=edit)


def _pairs(labels: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in labels.items())


def free_ports(plugin: Plugin, pod: PodInfo, node: NodeInfo) -> Sequence[Change]:
    taken = [port for port in pod.host_ports if node.has_port_conflict(*port)]
    numbers = ", ".join(f"{number}/{protocol}" for _, protocol, number in taken)
    wanted = {(protocol, number) for _, protocol, number in taken}

    def drop(obj: Object) -> None:
        for container in (*(obj["spec"].get("initContainers") or ()), *obj["spec"]["containers"]):
            for port in container.get("ports") or ():
                if (port.get("protocol") or "TCP", port.get("hostPort")) in wanted:
                    port.pop("hostPort")

    holders = [p for p in node.pods.values() if any((protocol, n) in wanted for _, protocol, n in p.host_ports)]
    changes = [Change(f"drop host port {numbers} from the pod", 3, edit_pod=drop)]
    return changes + ([room.removal(holders, node)] if holders else [])


def loosen_spread(plugin: Plugin, pod: PodInfo, node: NodeInfo) -> Sequence[Change]:
    """A label that the node lacks; one constraint after the other, then all of them."""
    hard = [
        (i, constraint)
        for i, constraint in enumerate(pod.spec.get("topologySpreadConstraints") or ())
        if constraint.get("whenUnsatisfiable") == DO_NOT_SCHEDULE
    ]
    changes = [
        Change(
            f"let the spread over {constraint.get('topologyKey')} be a wish (whenUnsatisfiable: {SCHEDULE_ANYWAY})",
            3,
            edit_pod=_loosen([i]),
        )
        for i, constraint in hard
    ]
    keys = {constraint.get("topologyKey", "") for _, constraint in hard}
    missing: Labels = dict.fromkeys(sorted(keys - node.labels.keys()), node.name)
    if missing and not any(_is_kubelets(key) for key in missing):
        changes.append(_label(missing, node))
    if len(hard) > 1:
        everything = _loosen([i for i, _ in hard])
        changes.append(Change("let all topology spread constraints be wishes", 5, edit_pod=everything))
    return changes


def drop_pod_affinity(plugin: Plugin, pod: PodInfo, node: NodeInfo) -> Sequence[Change]:
    """The pod's own rules, or the pods here whose anti-affinity keeps it away."""
    changes: list[Change] = []
    if pod.required_affinity:
        changes.append(Change("drop the pod's required pod affinity", 3, edit_pod=_drop_affinity("podAffinity")))
    if pod.required_anti_affinity:
        drop = _drop_affinity("podAntiAffinity")
        changes.append(Change("drop the pod's required pod anti-affinity", 3, edit_pod=drop))
    assert isinstance(plugin, InterPodAffinity)
    in_the_way = [other for other in node.pods.values() if plugin.keeps_apart(pod, other)]
    return changes + ([room.removal(in_the_way, node)] if in_the_way else [])


REMEDIES: Mapping[str, Proposals] = {
    NodeUnschedulable.NAME: uncordon,
    TaintToleration.NAME: tolerate,
    NodeAffinity.NAME: match_labels,
    NodePorts.NAME: free_ports,
    NodeResourcesFit.NAME: room.make_room,
    PodTopologySpread.NAME: loosen_spread,
    InterPodAffinity.NAME: drop_pod_affinity,
    VolumeRestrictions.NAME: volumes.share_no_more,
    NodeVolumeLimits.NAME: volumes.attach_fewer,
    VolumeBinding.NAME: volumes.give_volumes,
    VolumeZone.NAME: volumes.give_volumes,
    DynamicResources.NAME: devices.free_devices,
}


def _spelled(taint: Taint) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"the taint {taint['key']}{value}:{taint['effect']}"


def _drop_selector(labels: Mapping[str, str]) -> Edit:
    def edit(obj: Object) -> None:
        obj["spec"]["nodeSelector"] = {k: v for k, v in obj["spec"]["nodeSelector"].items() if k not in labels}

    return edit


def _drop_affinity(kind: str) -> Edit:
    def edit(obj: Object) -> None:
        obj["spec"]["affinity"][kind].pop(REQUIRED)

    return edit


def _drop_both(obj: Object) -> None:
    obj["spec"].pop("nodeSelector")
    obj["spec"]["affinity"]["nodeAffinity"].pop(REQUIRED)


def _loosen(positions: Sequence[int]) -> Edit:
    def edit(obj: Object) -> None:
        for i in positions:
            obj["spec"]["topologySpreadConstraints"][i]["whenUnsatisfiable"] = SCHEDULE_ANYWAY

    return edit
