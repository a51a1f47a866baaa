"""DynamicResources refuses: a pod that has devices goes, and they come free."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from controllers.device_claims import allocation_of, consumers_of
from controllers.scheduler.dynamic_resources.pod_claims import without_devices
from controllers.scheduler.interface import Plugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.why.changes import Change
from controllers.scheduler.why.room import removal
from controllers.scheduler.why.volumes import MAX_CHOICE
from kubeloop.apimachinery.resource import RESOURCE_CLAIMS


def free_devices(plugin: Plugin, pod: PodInfo, node: NodeInfo) -> Sequence[Change]:
    """One of the pods here, the least important first. Devices of a claim that others use, too, stay where they are."""
    held = defaultdict(list)
    for claim in plugin.handle.lister(RESOURCE_CLAIMS).list():
        users = consumers_of(claim)
        if len(users) == 1 and allocation_of(claim) is not None:
            held[users[0].get("uid")].append((RESOURCE_CLAIMS, without_devices(claim)))
    holders = [other for other in node.pods.values() if other.uid in held]
    holders.sort(key=lambda other: (other.priority, other.name))
    return [replace(removal([other], node), extra=held[other.uid]) for other in holders[:MAX_CHOICE]]
