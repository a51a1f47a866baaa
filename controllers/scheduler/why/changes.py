"""A change that would silence one plugin on one node; the search tries it out before it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from controllers.scheduler.interface import Plugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource

Edit = Callable[[Object], None]
Extra = tuple[Resource, Object]


@dataclass(frozen=True, slots=True)
class Change:
    """`cost` ranks changes of which one is enough: 1 is nearly nothing, 10 hurts. `command` carries it out, if one can.

    `edit_pod` and `edit_node` change a copy; the pods `gone` leave the node; `extra` comes into the cluster, or in the
    place of what is named like it.
    """

    text: str
    cost: float
    command: str = ""
    edit_pod: Edit | None = None
    edit_node: Edit | None = None
    gone: Sequence[PodInfo] = ()
    extra: Sequence[Extra] = ()


# The ways in which this plugin's refusal of the pod by the node can be overcome; none where nobody knows any.
Proposals = Callable[[Plugin, PodInfo, NodeInfo], Sequence[Change]]
