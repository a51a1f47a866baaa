"""Whether a node takes a pod that was bound to it: its selector must match, and there must be room.

Semantics: pkg/kubelet/lifecycle/predicate.go and its fellow admit handlers, in their order (v1.36). The ledger counts
what the node has taken; pods that are over count no longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubelet_sim import eviction, sysctls
from kubelet_sim.asked import amount, asked_for
from kubelet_sim.state import Verdict
from kubeloop.apimachinery.host_ports import HostPort, conflict, host_ports_of
from kubeloop.apimachinery.meta import ReadOnlyObject, labels_of, name_of
from kubeloop.apimachinery.node_affinity import required_node_affinity
from kubeloop.apimachinery.quantity import parse
from kubeloop.apimachinery.quota import is_extended
from kubeloop.apimachinery.tolerations import NO_EXECUTE, is_tolerated, taints_of

Amounts = dict[str, int]  # cpu in thousandths, everything else in units

_PODS = "pods"
_FIRST = (_PODS, "cpu", "memory", "ephemeral-storage")  # which shortage is told where there are several
_OS_LABEL, _OS = "kubernetes.io/os", "linux"


@dataclass(frozen=True, slots=True)
class Entry:
    """What one pod takes of its node."""

    node: str
    amounts: Amounts
    ports: Sequence[HostPort]


class Ledger:
    """What the pods that a node has taken request: by pod uid, and in total."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Entry] = {}
        self._used: dict[str, Amounts] = {}  # node -> the sums of its pods' amounts
        self._ports: dict[str, list[HostPort]] = {}  # node -> those in use

    def add(self, node: str, pod: ReadOnlyObject, uid: str) -> None:
        if uid in self._by_uid:
            return
        entry = self._by_uid[uid] = Entry(node, _amounts(pod), host_ports_of(pod["spec"]))
        self._change(node, entry.amounts, 1)
        if entry.ports:
            self._ports.setdefault(node, []).extend(entry.ports)

    def change(self, node: str, pod: ReadOnlyObject, uid: str) -> None:
        """It requests something else than before."""
        self.remove(uid)
        self.add(node, pod, uid)

    def remove(self, uid: str) -> None:
        entry = self._by_uid.pop(uid, None)
        if entry is not None:
            self._change(entry.node, entry.amounts, -1)
            for port in entry.ports:
                self._ports[entry.node].remove(port)

    def amounts(self, uid: str) -> Mapping[str, int]:
        """Of a pod that a node has taken; nothing of any other."""
        entry = self._by_uid.get(uid)
        return entry.amounts if entry else {}

    def used(self, node: str) -> Mapping[str, int]:
        return self._used.get(node, {})

    def used_by_others(self, node: str, uid: str) -> Mapping[str, int]:
        """Than the pod `uid`."""
        own = self.amounts(uid)
        return {name: number - own.get(name, 0) for name, number in self.used(node).items()}

    def ports(self, node: str) -> Sequence[HostPort]:
        return self._ports.get(node, ())

    def _change(self, node: str, amounts: Amounts, sign: int) -> None:
        used = self._used.setdefault(node, {})
        for name, number in amounts.items():
            used[name] = used.get(name, 0) + sign * number


@dataclass(frozen=True, slots=True)
class Objection:
    """In a kubelet's words. `missing`: the resource that the node is short of, where that is it, and how much."""

    verdict: Verdict
    missing: tuple[str, int] | None = None


def objections(
    pod: ReadOnlyObject,
    node: ReadOnlyObject,
    used: Mapping[str, int],
    ports: Iterable[HostPort],
    pressures: Sequence[str],
) -> list[Objection]:
    """Why the node does not take the pod: all that a kubelet finds, first what it tells. It looks no further after what
    no room would mend.
    """
    for found in (eviction.objection(pod, pressures), sysctls.objection(pod["spec"]), _other_platform(pod, node)):
        if found:
            return [Objection(found)]
    return [*_shortages(pod, node, used), *map(Objection, _failed_predicates(pod, node, ports))]


def _failed_predicates(pod: ReadOnlyObject, node: ReadOnlyObject, ports: Iterable[HostPort]) -> Iterator[Verdict]:
    spec = pod["spec"]
    if not required_node_affinity(spec).matches(name_of(node), labels_of(node)):
        yield _failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
    wanted = host_ports_of(spec)
    if wanted and any(conflict(one, taken) for taken in ports for one in wanted):
        yield _failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    if not all(
        is_tolerated(spec.get("tolerations") or (), t) for t in taints_of(node) if t.get("effect") == NO_EXECUTE
    ):
        yield _failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")


def _failed(predicate: str, why: str) -> Verdict:
    return Verdict(predicate, f"Predicate {predicate} failed: {why}")


def _other_platform(pod: ReadOnlyObject, node: ReadOnlyObject) -> Verdict | None:
    """What no room on this node would mend."""
    spec = pod["spec"]
    if labels_of(pod).get(_OS_LABEL, _OS) != _OS:
        message = f"Failed to admit pod as the `{_OS_LABEL}` label doesn't match node label"
        return Verdict("PodOSSelectorNodeLabelDoesNotMatch", message)
    if (spec.get("os") or {}).get("name", _OS) != _OS:
        return Verdict("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    features = (node.get("status") or {}).get("features") or {}
    policy = (spec.get("securityContext") or {}).get("supplementalGroupsPolicy")
    if policy == "Strict" and not features.get("supplementalGroupsPolicy"):
        message = "SupplementalGroupsPolicy=Strict is not supported in this node"
        return Verdict("SupplementalGroupsPolicyNotSupported", message)
    return None


def no_room(pod: ReadOnlyObject, node: ReadOnlyObject, used: Mapping[str, int]) -> Verdict | None:
    """What the node is short of first for the pod, beside those that use it already."""
    first = next(_shortages(pod, node, used), None)
    return first.verdict if first else None


def _shortages(pod: ReadOnlyObject, node: ReadOnlyObject, used: Mapping[str, int]) -> Iterator[Objection]:
    """Extended resources that the node does not have at all are somebody else's."""
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    amounts = _amounts(pod)
    for name in (*_FIRST, *sorted(amounts.keys() - _FIRST)):
        requested = amounts.get(name, 0)
        if requested == 0:
            continue
        in_use, capacity = used.get(name, 0), amount(name, parse(str(allocatable.get(name, "0"))))
        if is_extended(name) and name not in allocatable:
            continue
        if in_use + requested > capacity:
            sums = f"requested: {requested}, used: {in_use}, capacity: {capacity}"
            message = f"Node didn't have enough resource: {name}, {sums}"
            yield Objection(Verdict(f"OutOf{name}", message), (name, in_use + requested - capacity))


def _amounts(pod: ReadOnlyObject) -> Amounts:
    """The pod itself counts, too."""
    return {_PODS: 1, **asked_for(pod).amounts}
