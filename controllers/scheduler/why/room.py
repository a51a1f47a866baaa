"""NodeResourcesFit refuses: ask for less, or remove pods that are in the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from controllers.scheduler.interface import Plugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.plugins.node_resources_fit import NodeResourcesFit
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.requests import CPU, EPHEMERAL_STORAGE, HUGE_PAGES_PREFIX, MEMORY, amount
from controllers.scheduler.why.changes import Change
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.quantity import BINARY_SI, of_milli_value, of_value

MAX_REMOVED = 3  # more pods than this are not proposed to be removed


def make_room(plugin: Plugin, pod: PodInfo, node: NodeInfo) -> Sequence[Change]:
    assert isinstance(plugin, NodeResourcesFit)
    short = plugin.shortages(pod, node)
    changes: list[Change] = []
    absent = {name: asked for name, (asked, _) in short.items() if "/" in name and name not in node.allocatable_scalars}
    scarce = {name: compared for name, compared in short.items() if name not in absent}
    if all(free > 0 or _is_nowhere(name, node) for name, (_, free) in scarce.items()):
        parts = ([_ask_for_less(scarce)] if scarce else []) + ([_offer(absent, node)] if absent else [])
        changes += [_both(*parts)] if len(parts) == 2 else parts
    enough = _fewest(plugin, pod, node)
    return changes + ([removal(enough, node)] if enough else [])


def _is_nowhere(name: str, node: NodeInfo) -> bool:
    """Huge pages of a size that the node does not have: the pod can only do without."""
    return name.startswith(HUGE_PAGES_PREFIX) and not node.allocatable_scalars.get(name)


def _offer(resources: Mapping[str, int], node: NodeInfo) -> Change:
    """Extended resources that the node does not have at all: whoever has them there tells of them in its status."""
    amounts = {name: str(asked) for name, asked in resources.items()}
    status = json.dumps({"status": {"capacity": amounts, "allocatable": amounts}}, separators=(",", ":"))
    text = f"let {node.name} offer {' and '.join(f'{asked} {name}' for name, asked in amounts.items())}"
    command = f"kubectl patch node {node.name} --subresource=status --type=merge -p '{status}'"
    return Change(text, 3, command, edit_node=lambda obj: obj["status"]["allocatable"].update(amounts))


def _both(less: Change, more: Change) -> Change:
    """Ask for less of what is there, and offer what is not."""
    text = f"{less.text}, and {more.text}"
    return Change(text, less.cost + more.cost, more.command, edit_pod=less.edit_pod, edit_node=more.edit_node)


def removal(pods: Sequence[PodInfo], node: NodeInfo) -> Change:
    """The pods leave the node for good: whatever controls them must not bring them back there. Some may be going."""
    staying = [pod for pod in pods if not pod.is_being_deleted]
    going = [pod for pod in pods if pod.is_being_deleted]
    by_namespace: dict[str, list[str]] = {}
    for pod in staying:
        by_namespace.setdefault(pod.namespace, []).append(pod.name)
    commands = [f"kubectl delete pod -n {namespace} {' '.join(found)}" for namespace, found in by_namespace.items()]
    texts = [f"remove {_named(staying)} from {node.name}"] if staying else []
    texts += [f"wait until {_named(going)} {'is' if len(going) == 1 else 'are'} gone from {node.name}"] if going else []
    return Change(" and ".join(texts), 5 + len(pods) if staying else 1, " && ".join(commands), gone=pods)


def _named(pods: Sequence[PodInfo]) -> str:
    return f"{'pod' if len(pods) == 1 else 'pods'} {', '.join(str(pod.key) for pod in pods)}"


def _ask_for_less(short: Mapping[str, tuple[int, int]]) -> Change:
    """The more must be given up, the more it costs."""
    parts = [f"{_spelled(name, free)} {name} (now {_spelled(name, asked)})" for name, (asked, free) in short.items()]
    given_up = max((asked - free) / asked for asked, free in short.values())

    def edit(obj: Object) -> None:
        for name, (_, free) in short.items():
            _limit_requests(obj["spec"], name, free)

    return Change(f"let the pod ask for {' and '.join(parts)} at most", 4 + given_up, edit_pod=edit)


def _limit_requests(spec: Object, resource: str, most: int) -> None:
    """No more than `most` for the pod as a whole, its overhead included: for what stays, for what starts before it, and
    where something is said of the pod itself.
    """
    overhead = (spec.get("overhead") or {}).get(resource)
    room = max(most - (amount(resource, overhead) if overhead is not None else 0), 0)
    _limit(spec, resource, room)
    first = spec.get("initContainers") or ()
    staying = [*(container for container in first if _is_sidecar(container)), *spec["containers"]]
    over = sum(_asked(container, resource) for container in staying) - room
    for container in sorted(staying, key=lambda c: -_asked(c, resource)):
        if over > 0:
            asked = _asked(container, resource)
            _limit(container, resource, max(asked - over, 0))
            over -= asked - _asked(container, resource)
    beside = 0
    for container in first:
        if _is_sidecar(container):
            beside += _asked(container, resource)
        else:
            _limit(container, resource, max(room - beside, 0))


def _is_sidecar(container: Mapping[str, Any]) -> bool:
    return container.get("restartPolicy") == "Always"


def _limit(owner: Object, resource: str, most: int) -> None:
    if _asked(owner, resource) > most:
        owner["resources"]["requests"][resource] = _spelled(resource, most)


def _asked(owner: Mapping[str, Any], resource: str) -> int:
    requests = (owner.get("resources") or {}).get("requests") or {}
    return amount(resource, requests[resource]) if resource in requests else 0


def _spelled(resource: str, number: int) -> str:
    if resource == CPU:
        return str(of_milli_value(number))
    is_bytes = resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith(HUGE_PAGES_PREFIX)
    return str(of_value(number, BINARY_SI) if is_bytes else of_value(number))


def _fewest(fit: NodeResourcesFit, pod: PodInfo, node: NodeInfo) -> Sequence[PodInfo]:
    """Pods whose room would be enough: one if one is, else the biggest ones; none where nothing helps."""
    removable = [other for other in node.pods.values() if not _comes_back(other)]
    fits: Callable[[Sequence[PodInfo]], bool] = lambda gone: _has_room(fit, pod, node, gone)  # noqa: E731
    alone = [other for other in removable if fits([other])]
    if alone:
        return [min(alone, key=lambda one: (not one.is_being_deleted, one.priority, one.cpu, one.memory, one.name))]
    biggest = sorted(removable, key=lambda one: (not one.is_being_deleted, -one.cpu, -one.memory, one.name))
    for count in range(2, MAX_REMOVED + 1):
        if len(biggest) >= count and fits(biggest[:count]):
            return biggest[:count]
    return ()


def _has_room(fit: NodeResourcesFit, pod: PodInfo, node: NodeInfo, gone: Sequence[PodInfo]) -> bool:
    without = node.copy()
    for other in gone:
        without.remove_pod(other.uid)
    return not fit.shortages(pod, without) and len(without.pods) < without.allowed_pods


def _comes_back(pod: PodInfo) -> bool:
    """A DaemonSet's pod is made again on the same node."""
    owners = (pod.pod.get("metadata") or {}).get("ownerReferences") or ()
    return any(owner.get("kind") in ("DaemonSet", "Node") for owner in owners)
