"""Everything that any plugin has against a pod, node by node. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controllers.scheduler.diagnosis import Diagnosis
from controllers.scheduler.framework import Framework
from controllers.scheduler.interface import CycleState
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.snapshot import Snapshot
from controllers.scheduler.status import Status


def refusals(
    framework: Framework, pod: PodInfo, snapshot: Snapshot, names: Iterable[str]
) -> dict[str, Sequence[Status]]:
    """By node, none where it fits. What refuses the pod before nodes are looked at speaks alone, for all of them."""
    state = CycleState(snapshot)
    _, refusal = framework.pre_filter(state, pod, Diagnosis())
    found: dict[str, Sequence[Status]] = {}
    for name in names:
        node = snapshot.get(name)
        if node is None:
            continue
        found[name] = [refusal] if refusal is not None else framework.refusals(state, pod, node)
        if not found[name]:  # pods that were promised the node come first
            promised = framework.filter_with_nominated(state, pod, node)
            found[name] = [promised] if promised is not None else []
    return found
