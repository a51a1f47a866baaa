"""DynamicResources refuses: a pod that has devices goes, and they come free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controllers.scheduler.dynamic_resources.pod_claims import allocation_of, consumers_of, is_reserved_for
from controllers.scheduler.interface import Plugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.why.changes import Change
from controllers.scheduler.why.room import removal
from controllers.scheduler.why.volumes import MAX_CHOICE
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import RESOURCE_CLAIMS


def free_devices(plugin: Plugin, pod: PodInfo, node: NodeInfo) -> Sequence[Change]:
    """One of the pods here, the least important first. Devices of a claim that others use, too, stay where they are."""
    allocated = [claim for claim in plugin.handle.lister(RESOURCE_CLAIMS).list() if allocation_of(claim) is not None]
    changes = []
    for other in sorted(node.pods.values(), key=lambda one: (one.priority, one.name)):
        held = [claim for claim in allocated if is_reserved_for(claim, other) and len(consumers_of(claim)) == 1]
        if held:
            freed = [(RESOURCE_CLAIMS, _free(claim)) for claim in held]
            changes.append(replace(removal([other], node), extra=freed))
    return changes[:MAX_CHOICE]


def _free(claim: Object) -> Object:
    """As its loop leaves it when nobody uses it any more."""
    kept = {name: value for name, value in claim["status"].items() if name not in ("allocation", "reservedFor")}
    return {**claim, "status": kept}
