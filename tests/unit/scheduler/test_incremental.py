"""A scheduler that has seen a cluster change for a while decides as one that has just started."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kubeloop.apimachinery.meta import Object
from tests.unit.scheduler.scene import Scene, in_zone, info, near

_APPS, _ZONES, _TURNS = ("a", "b", "c"), ("x", "y", "z"), 60
_NAMES = [f"n{number}" for number in range(8)]  # of nodes that are there now and then
_HOSTNAME, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


class Changes:
    """What happens to a cluster, drawn from a seed. `scene` follows; `again` is one that starts from what there is."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.nodes: dict[str, Object] = {}
        self.pods: dict[str, Object] = {}
        self.scene = Scene(())
        self._count = 0

    def again(self) -> Scene:
        return Scene(list(self.nodes.values()), list(self.pods.values()))

    def happen(self) -> None:
        """Something does."""
        rng = self.rng
        happening = rng.choice((self._put_node, self._put_pod, self._put_pod, self._lose_node, self._lose_pod))
        happening(rng.choice(_NAMES))
        if rng.random() < 0.7:  # several things may happen between two pods
            self.scene.cache.update(self.scene.snapshot)

    def _put_node(self, name: str) -> None:
        """New, or with other labels and taints; some are in no zone."""
        node = in_zone(name, self.rng.choice(_ZONES))
        labels = node["metadata"]["labels"]
        labels["disk"] = self.rng.choice(("ssd", "hdd"))
        if self.rng.random() < 0.2:
            del labels[_ZONE]
        node["spec"]["unschedulable"] = self.rng.random() < 0.1
        if self.rng.random() < 0.2:
            node["spec"]["taints"] = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
        self.nodes[name] = node
        self.scene.cache.set_node(node)

    def _lose_node(self, name: str) -> None:
        """Its pods are still known."""
        self.nodes.pop(name, None)
        self.scene.cache.remove_node(name)

    def _put_pod(self, node: str) -> None:
        """New, on a node that may be unknown; or one that is there, with other labels."""
        name = self.rng.choice([*self.pods, ""])
        if not name or self.rng.random() < 0.5:
            self._count += 1
            name = f"p{self._count}"
        pod = self.pod(name)
        pod["spec"]["nodeName"] = self.pods[name]["spec"]["nodeName"] if name in self.pods else node
        self.pods[name] = pod
        self.scene.cache.add_pod(info(pod))

    def _lose_pod(self, _: str) -> None:
        if self.pods:
            name = self.rng.choice(list(self.pods))
            del self.pods[name]
            self.scene.cache.remove_pod(f"uid-of-{name}")

    def pod(self, name: str) -> Object:
        """With wishes of every kind."""
        rng = self.rng
        app = rng.choice(_APPS)
        container: dict[str, Any] = {"name": "c", "image": "web:1"}
        container["resources"] = {"requests": {"cpu": rng.choice(("100m", "900m")), "memory": "64Mi"}}
        if rng.random() < 0.2:
            container["ports"] = [{"containerPort": 80, "hostPort": rng.choice((80, 81)), "protocol": "TCP"}]
        spec: dict[str, Any] = {"containers": [container], "schedulerName": "default-scheduler"}
        if rng.random() < 0.2:
            spec["nodeSelector"] = {"disk": "ssd"}
        if rng.random() < 0.3:
            spec["tolerations"] = [{"key": "k", "operator": "Exists"}]
        if rng.random() < 0.5:
            spec["topologySpreadConstraints"] = [self._constraint(app) for _ in range(rng.choice((1, 2)))]
        if rng.random() < 0.5:
            term = near(rng.choice((_HOSTNAME, _ZONE)), app=rng.choice(_APPS))
            when = rng.choice(("requiredDuringSchedulingIgnoredDuringExecution", "preferred"))
            spec["affinity"] = {rng.choice(("podAffinity", "podAntiAffinity")): self._terms(when, term)}
        return {"metadata": {"name": name, "namespace": "default", "labels": {"app": app}}, "spec": spec}

    def _constraint(self, app: str) -> Object:
        return {
            "maxSkew": self.rng.choice((1, 2)),
            "topologyKey": self.rng.choice((_HOSTNAME, _ZONE)),
            "whenUnsatisfiable": self.rng.choice(("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": {"matchLabels": {"app": app}},
            "nodeTaintsPolicy": self.rng.choice(("Honor", "Ignore")),
        }

    def _terms(self, when: str, term: Object) -> Object:
        if when != "preferred":
            return {when: [term]}
        weighted = {"weight": self.rng.randrange(1, 100), "podAffinityTerm": term}
        return {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}


def decided(scene: Scene, pod: Object) -> tuple[Object, Object]:
    """Each node's scores, and its refusals."""
    diagnosis = scene.decide(pod, explain=True).diagnosis
    refused = {name: status.message for name, status in diagnosis.node_statuses.items()}
    return dict(diagnosis.scores), refused


@pytest.mark.parametrize("seed", range(6))
def test_what_was_remembered_changes_no_decision(seed: int) -> None:
    """Whatever nodes and pods came, went, were relabelled or known in another order."""
    changes = Changes(seed)
    wanted = [changes.pod(f"wanted{number}") for number in range(8)]

    for turn in range(_TURNS):
        changes.happen()
        changes.scene.cache.update(changes.scene.snapshot)
        pod = wanted[turn % len(wanted)]
        assert decided(changes.again(), pod) == decided(changes.scene, pod), (turn, pod)
