"""NodeResourcesFit refuses: ask for less, or remove pods that are in the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.requests import CPU, EPHEMERAL_STORAGE, MEMORY, amount
from controllers.scheduler.why.changes import Change
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.quantity import BINARY_SI, of_milli_value, of_value

MAX_REMOVED = 3  # more pods than this are not proposed to be removed


def make_room(pod: PodInfo, node: NodeInfo) -> Sequence[Change]:
    short = _shortages(pod, node)
    changes: list[Change] = []
    if short and all(free > 0 for _, free in short.values()):
        changes.append(_ask_for_less(short))
    enough = _fewest(pod, node)
    return changes + ([removal(enough, node)] if enough else [])


def removal(pods: Sequence[PodInfo], node: NodeInfo) -> Change:
    """The pods leave the node for good: whatever controls them must not bring them back there."""
    names = ", ".join(str(pod.key) for pod in pods)
    by_namespace: dict[str, list[str]] = {}
    for pod in pods:
        by_namespace.setdefault(pod.namespace, []).append(pod.name)
    commands = [f"kubectl delete pod -n {namespace} {' '.join(found)}" for namespace, found in by_namespace.items()]
    text = f"remove {'pod' if len(pods) == 1 else 'pods'} {names} from {node.name}"
    return Change(text, 5 + len(pods), " && ".join(commands), gone=pods)


def _shortages(pod: PodInfo, node: NodeInfo) -> dict[str, tuple[int, int]]:
    """Of each resource there is too little of: what the pod asks for, and what is free."""
    compared = {
        CPU: (pod.cpu, node.allocatable_cpu - node.requested_cpu),
        MEMORY: (pod.memory, node.allocatable_memory - node.requested_memory),
        EPHEMERAL_STORAGE: (pod.ephemeral_storage, node.allocatable_ephemeral - node.requested_ephemeral),
    }
    for name, asked in pod.scalars.items():
        compared[name] = (asked, node.allocatable_scalars.get(name, 0) - node.requested_scalars.get(name, 0))
    return {name: (asked, free) for name, (asked, free) in compared.items() if asked > free}


def _ask_for_less(short: Mapping[str, tuple[int, int]]) -> Change:
    """The more must be given up, the more it costs."""
    parts = [f"{_spelled(name, free)} {name} (now {_spelled(name, asked)})" for name, (asked, free) in short.items()]
    given_up = max((asked - free) / asked for asked, free in short.values())

    def edit(obj: Object) -> None:
        for name, (_, free) in short.items():
            _limit_requests(obj["spec"], name, free)

    return Change(f"let the pod ask for {' and '.join(parts)} at most", 4 + given_up, edit_pod=edit)


def _limit_requests(spec: Object, resource: str, most: int) -> None:
    """The sum of the containers', and each init container's, and the pod's own: no more than `most`."""
    for owner in (*(spec.get("initContainers") or ()), spec):
        _limit(owner, resource, most)
    over = sum(_asked(container, resource) for container in spec["containers"]) - most
    for container in sorted(spec["containers"], key=lambda c: -_asked(c, resource)):
        if over > 0:
            asked = _asked(container, resource)
            _limit(container, resource, max(asked - over, 0))
            over -= asked - _asked(container, resource)


def _limit(owner: Object, resource: str, most: int) -> None:
    if _asked(owner, resource) > most:
        owner["resources"]["requests"][resource] = _spelled(resource, most)


def _asked(owner: Mapping[str, Any], resource: str) -> int:
    requests = (owner.get("resources") or {}).get("requests") or {}
    return amount(resource, requests[resource]) if resource in requests else 0


def _spelled(resource: str, number: int) -> str:
    if resource == CPU:
        return str(of_milli_value(number))
    return str(of_value(number, BINARY_SI) if resource in (MEMORY, EPHEMERAL_STORAGE) else of_value(number))


def _fewest(pod: PodInfo, node: NodeInfo) -> Sequence[PodInfo]:
    """Pods whose room would be enough: one if one is, else the biggest ones; none where nothing helps."""
    removable = [other for other in node.pods.values() if not _comes_back(other)]
    fits: Callable[[Sequence[PodInfo]], bool] = lambda gone: _has_room(pod, node, gone)  # noqa: E731
    alone = [other for other in removable if fits([other])]
    if alone:
        return [min(alone, key=lambda other: (other.priority, other.cpu, other.memory, other.name))]
    biggest = sorted(removable, key=lambda other: (-other.cpu, -other.memory, other.name))
    for count in range(2, MAX_REMOVED + 1):
        if len(biggest) >= count and fits(biggest[:count]):
            return biggest[:count]
    return ()


def _has_room(pod: PodInfo, node: NodeInfo, gone: Sequence[PodInfo]) -> bool:
    without = node.copy()
    for other in gone:
        without.remove_pod(other.uid)
    return not _shortages(pod, without) and len(without.pods) < without.allowed_pods


def _comes_back(pod: PodInfo) -> bool:
    """A DaemonSet's pod is made again on the same node."""
    owners = (pod.pod.get("metadata") or {}).get("ownerReferences") or ()
    return any(owner.get("kind") in ("DaemonSet", "Node") for owner in owners)
