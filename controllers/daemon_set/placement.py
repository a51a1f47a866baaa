"""On which nodes the pods of a template should run, and on which those that are there may stay. Pure.

NodeShouldRunDaemonPod of pkg/controller/daemon, v1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from controllers.daemon_set.pod import tolerations_of
from kubeloop.apimachinery.meta import ReadOnlyObject, labels_of, name_of
from kubeloop.apimachinery.node_affinity import RequiredNodeAffinity, required_node_affinity
from kubeloop.apimachinery.tolerations import NO_EXECUTE, Toleration, is_tolerated, taints_of, untolerated_taint


class Placement(NamedTuple):
    should_run: bool
    may_stay: bool


NOWHERE = Placement(False, False)


@dataclass(frozen=True, slots=True)
class Requirements:
    """What the template asks of a node."""

    node_name: str
    affinity: RequiredNodeAffinity
    tolerations: Sequence[Toleration]

    @classmethod
    def of(cls, daemon_set: ReadOnlyObject) -> Requirements:
        spec = daemon_set["spec"]["template"]["spec"]
        return cls(spec.get("nodeName") or "", required_node_affinity(spec), tolerations_of(spec))

    def placement(self, node: ReadOnlyObject) -> Placement:
        """A taint that keeps new pods away lets those that are there stay, unless it is NoExecute."""
        name, taints = name_of(node), taints_of(node)
        if self.node_name not in ("", name) or not self.affinity.matches(name, labels_of(node)):
            return NOWHERE
        if untolerated_taint(self.tolerations, taints) is None:
            return Placement(True, True)
        evicting = (taint for taint in taints if taint.get("effect") == NO_EXECUTE)
        return Placement(False, all(is_tolerated(self.tolerations, taint) for taint in evicting))
