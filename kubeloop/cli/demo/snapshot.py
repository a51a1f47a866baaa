"""The chain Deployment, ReplicaSets, Pods, Nodes at one moment, and questions to it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.meta import ReadOnlyObject, is_being_deleted, name_of


@dataclass(frozen=True, slots=True)
class PodView:
    name: str
    replica_set: str
    node: str
    phase: str
    is_ready: bool

    @classmethod
    def of(cls, pod: ReadOnlyObject) -> PodView:
        owners = pod["metadata"].get("ownerReferences") or [{}]
        phase = "Terminating" if is_being_deleted(pod) else (pod.get("status") or {}).get("phase", "Pending")
        is_ready = is_true(conditions_of(pod), "Ready") and phase == "Running"
        return cls(name_of(pod), owners[0].get("name", ""), pod["spec"].get("nodeName", ""), phase, is_ready)


@dataclass(frozen=True, slots=True)
class ReplicaSetView:
    name: str
    image: str
    wanted: int
    ready: int

    @classmethod
    def of(cls, replica_set: ReadOnlyObject) -> ReplicaSetView:
        image = replica_set["spec"]["template"]["spec"]["containers"][0]["image"]
        ready = (replica_set.get("status") or {}).get("readyReplicas", 0)
        return cls(name_of(replica_set), image, replica_set["spec"]["replicas"], ready)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the API says of one Deployment and everything below it."""

    wanted: int = 0
    available: int = 0
    is_observed: bool = False  # the deployment loop has seen the newest spec
    replica_sets: Sequence[ReplicaSetView] = ()
    pods: Sequence[PodView] = ()

    @classmethod
    def of(
        cls, deployment: ReadOnlyObject, replica_sets: Sequence[ReadOnlyObject], pods: Sequence[ReadOnlyObject]
    ) -> Snapshot:
        status = deployment.get("status") or {}
        return cls(
            deployment["spec"]["replicas"],
            status.get("availableReplicas", 0),
            status.get("observedGeneration") == deployment["metadata"]["generation"],
            tuple(ReplicaSetView.of(replica_set) for replica_set in replica_sets),
            tuple(PodView.of(pod) for pod in pods),
        )

    @property
    def ready_pods(self) -> Sequence[PodView]:
        return [pod for pod in self.pods if pod.is_ready and pod.node]

    @property
    def nodes(self) -> Sequence[str]:
        return sorted({pod.node for pod in self.pods if pod.node})

    def has_converged(self, replicas: int, image: str = "") -> bool:
        """So many ready pods on nodes and no other, all of one ReplicaSet (of that image), and the status says so."""
        active = [replica_set for replica_set in self.replica_sets if replica_set.wanted or replica_set.ready]
        return (
            self.is_observed
            and self.wanted == self.available == len(self.pods) == len(self.ready_pods) == replicas
            and [replicas] == [replica_set.ready for replica_set in active]
            and (not image or active[0].image == image)
        )

    def line(self) -> str:
        """All of it in one line, for where there is no terminal."""
        pods = "  ".join(f"{pod.name}@{pod.node or '-'} {pod.phase}" for pod in self.pods)
        sets = "  ".join(f"{rs.name} {rs.ready}/{rs.wanted}" for rs in self.replica_sets if rs.wanted or rs.ready)
        return f"web {self.available}/{self.wanted} | {sets or '-'} | {pods or '-'}"
