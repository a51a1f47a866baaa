"""The plugins, in upstream's default order and with its weights (apis/config/v1/default_plugins.go, v1.36).

A new plugin is one file beside this one and one line here. The order matters: it is the order in which every extension
point asks them.
"""

from __future__ import annotations

from dataclasses import dataclass

from controllers.scheduler.interface import Plugin
from controllers.scheduler.plugins.default_binder import DefaultBinder
from controllers.scheduler.plugins.default_preemption import DefaultPreemption
from controllers.scheduler.plugins.dynamic_resources import DynamicResources
from controllers.scheduler.plugins.image_locality import ImageLocality
from controllers.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from controllers.scheduler.plugins.node_affinity import NodeAffinity
from controllers.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from controllers.scheduler.plugins.node_name import NodeName
from controllers.scheduler.plugins.node_ports import NodePorts
from controllers.scheduler.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from controllers.scheduler.plugins.node_resources_fit import NodeResourcesFit
from controllers.scheduler.plugins.node_unschedulable import NodeUnschedulable
from controllers.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from controllers.scheduler.plugins.pod_topology_spread import PodTopologySpread
from controllers.scheduler.plugins.priority_sort import PrioritySort
from controllers.scheduler.plugins.scheduling_gates import SchedulingGates
from controllers.scheduler.plugins.taint_toleration import TaintToleration
from controllers.scheduler.plugins.volume_binding import VolumeBinding
from controllers.scheduler.plugins.volume_restrictions import VolumeRestrictions
from controllers.scheduler.plugins.volume_zone import VolumeZone


@dataclass(frozen=True, slots=True)
class Entry:
    plugin: type[Plugin]
    weight: int = 1  # of its scores


DEFAULT_PLUGINS: tuple[Entry, ...] = (
    Entry(SchedulingGates),
    Entry(PrioritySort),
    Entry(NodeUnschedulable),
    Entry(NodeName),
    Entry(TaintToleration, weight=3),
    Entry(NodeAffinity, weight=2),
    Entry(NodePorts),
    Entry(NodeResourcesFit),
    Entry(VolumeRestrictions),
    Entry(NodeVolumeLimits),
    Entry(VolumeBinding),
    Entry(VolumeZone),
    Entry(PodTopologySpread, weight=2),
    Entry(InterPodAffinity, weight=2),
    Entry(DynamicResources, weight=2),
    Entry(DefaultPreemption),
    Entry(NodeResourcesBalancedAllocation),
    Entry(ImageLocality),
    Entry(DefaultBinder),
    Entry(NodeDeclaredFeatures),
)
