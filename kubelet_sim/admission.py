"""Whether a node takes a pod that was bound to it: its selector must match, and there must be room.

Semantics: pkg/kubelet/lifecycle/predicate.go (v1.36). The ledger counts what the node has taken; pods that are over
count no longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubelet_sim import eviction
from kubelet_sim.state import Verdict
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.meta import ReadOnlyObject, labels_of, name_of
from kubeloop.apimachinery.pod_resources import pod_requests
from kubeloop.apimachinery.quantity import Quantity, parse

Amounts = dict[str, int]  # cpu in thousandths, everything else in units

_PODS = "pods"


class Ledger:
    """What the pods that a node has taken request: by pod uid, and in total."""

    def __init__(self) -> None:
        self._by_uid: dict[str, tuple[str, Amounts]] = {}
        self._used: dict[str, Amounts] = {}  # node -> the sums of its pods' amounts

    def add(self, node: str, pod: ReadOnlyObject, uid: str) -> None:
        if uid in self._by_uid:
            return
        amounts = _amounts(pod)
        self._by_uid[uid] = (node, amounts)
        self._change(node, amounts, 1)

    def change(self, node: str, pod: ReadOnlyObject, uid: str) -> None:
        """It requests something else than before."""
        self.remove(uid)
        self.add(node, pod, uid)

    def remove(self, uid: str) -> None:
        entry = self._by_uid.pop(uid, None)
        if entry is not None:
            self._change(*entry, -1)

    def used(self, node: str) -> Mapping[str, int]:
        return self._used.get(node, {})

    def used_by_others(self, node: str, uid: str) -> Mapping[str, int]:
        """Than the pod `uid`."""
        _, own = self._by_uid.get(uid, (node, {}))
        return {name: amount - own.get(name, 0) for name, amount in self.used(node).items()}

    def _change(self, node: str, amounts: Amounts, sign: int) -> None:
        used = self._used.setdefault(node, {})
        for name, amount in amounts.items():
            used[name] = used.get(name, 0) + sign * amount


def objection(
    pod: ReadOnlyObject, node: ReadOnlyObject, used: Mapping[str, int], pressures: Sequence[str] = ()
) -> Verdict | None:
    """Why the node does not take the pod, in a kubelet's words; None where it does."""
    pressed = eviction.objection(pod, pressures)
    if pressed:
        return pressed
    if not _matches_node(pod["spec"], node):
        message = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
        return Verdict("NodeAffinity", message)
    return no_room(pod, node, used)


def no_room(pod: ReadOnlyObject, node: ReadOnlyObject, used: Mapping[str, int]) -> Verdict | None:
    """What the node is short of for the pod, beside those that use it already."""
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    for name, requested in _amounts(pod).items():
        in_use, capacity = used.get(name, 0), _amount(name, parse(str(allocatable.get(name, "0"))))
        if requested > 0 and in_use + requested > capacity:
            amounts = f"requested: {requested}, used: {in_use}, capacity: {capacity}"
            message = f"Node didn't have enough resource: {name}, {amounts}"
            return Verdict(f"OutOf{name}", message)
    return None


def _amounts(pod: ReadOnlyObject) -> Amounts:
    """The pod itself comes first: a full node says OutOfpods whatever else is short."""
    return {_PODS: 1} | {name: _amount(name, quantity) for name, quantity in pod_requests(pod).items()}


def _amount(name: str, quantity: Quantity) -> int:
    return quantity.milli_value() if name == "cpu" else quantity.value()


def _matches_node(spec: Mapping[str, Any], node: ReadOnlyObject) -> bool:
    labels = labels_of(node)
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_matches_term(term, node) for term in required.get("nodeSelectorTerms") or ())


def _matches_term(term: Mapping[str, Any], node: ReadOnlyObject) -> bool:
    """All of its expressions and fields; an empty term matches nothing."""
    expressions: Sequence[Mapping[str, Any]] = term.get("matchExpressions") or ()
    fields: Sequence[Mapping[str, Any]] = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return _match(expressions, labels_of(node)) and _match(fields, {"metadata.name": name_of(node)})


def _match(expressions: Sequence[Mapping[str, Any]], values: Mapping[str, str]) -> bool:
    return not expressions or selectors.from_node_expressions(expressions).matches(values)
