"""What runs the containers of a node: nothing does (they are foreseen, see transitions.py), or processes (process/).

The reconciler of pods asks what has happened, plans, and hands the plan over to be carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kubelet_sim.observations import Observation
from kubelet_sim.state import Happening, PodRuntime, PodSpec
from kubeloop.apimachinery.meta import Object, ReadOnlyObject


class ContainerRuntime(Protocol):
    def runs(self, container: Any) -> bool:
        """Whether the container with this JSON is really run."""

    def remarks(self, pod: ReadOnlyObject) -> Sequence[Happening]:
        """What people are told about a pod that has just arrived."""

    def observed(self, uid: str) -> Sequence[Observation]:
        """What has happened to the pod's containers since this was asked last."""

    async def carry_out(self, obj: Object, pod: PodSpec, runtime: PodRuntime) -> None:
        """Start what is being created, stop what is to stop, and find what is gone. Level-triggered."""

    def forget(self, uid: str) -> None:
        """The pod is gone from the API: nothing of it is left here either."""


class Simulated:
    """No container really runs."""

    def runs(self, container: Any) -> bool:
        return False

    def remarks(self, pod: ReadOnlyObject) -> Sequence[Happening]:
        return ()

    def observed(self, uid: str) -> Sequence[Observation]:
        return ()

    async def carry_out(self, obj: Object, pod: PodSpec, runtime: PodRuntime) -> None:
        return

    def forget(self, uid: str) -> None:
        return
