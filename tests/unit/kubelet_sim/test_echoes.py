"""News of a pod that are but the echo of a status written here are left out, and no others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from kubelet_sim.echoes import Echoes
from kubelet_sim.phase import TERMINAL
from kubelet_sim.pods import PodReconciler
from kubelet_sim.status_patch import status_patch
from kubeloop.apimachinery.meta import Object, ObjectKey, annotations_of, key_of
from kubeloop.apimachinery.resource import PODS
from kubeloop.client.api import STRATEGIC
from kubeloop.client.informer import Informer
from kubeloop.runtime.result import Result
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.played_pod import PlayedPod, a_container, a_pod
from tests.unit.kubelet_sim.test_nodes import pod_on, ready_nodes, run_nodes, running

KEY = ObjectKey("default", "web")
PROBE = {"httpGet": {"port": 80}, "periodSeconds": 2}


def test_the_echo_of_a_write_is_known_by_its_version() -> None:
    """Other versions are news, before it and after it."""
    echoes = Echoes()
    echoes.write_begins(KEY)

    assert not echoes.write_ends(KEY, "7")
    assert [False, True, False] == [echoes.is_echo(KEY, version) for version in ("6", "7", "8")]


@pytest.mark.parametrize(("heard", "asks"), [((), False), (("7",), False), (("6", "7"), True), (("8",), True)])
def test_what_comes_before_the_answer_is_held_back(heard: tuple[str, ...], asks: bool) -> None:
    """Until the answer says which of it was the echo: anything else asks for another look."""
    echoes = Echoes()
    echoes.write_begins(KEY)

    assert all(echoes.is_echo(KEY, version) for version in heard)
    assert asks == echoes.write_ends(KEY, "7")


def test_a_write_that_has_consequences_has_no_echo() -> None:
    """What is heard of it is news, whether it comes before the answer or after it; so is all after one that failed."""
    echoes = Echoes()
    for heard in ((), ("7",)):
        echoes.write_begins(KEY)
        for version in heard:
            echoes.is_echo(KEY, version)
        assert bool(heard) == echoes.write_ends(KEY)
    assert not echoes.is_echo(KEY, "7")


@pytest.mark.parametrize(
    "obj",
    [
        a_pod(),
        a_pod(a_container("a"), a_container("b", readinessProbe=PROBE, livenessProbe=PROBE)),
        a_pod(a_container(image="invalid:1")),
        a_pod(a_container(command=["sh", "-c", "exit 1"])),
        a_pod(a_container(), initContainers=[a_container("i"), a_container("s", restartPolicy="Always")]),
        a_pod(a_container(), annotations={"kubeloop.io/ready-after": "5s"}, readinessGates=[{"conditionType": "x"}]),
        a_pod(a_container(), annotations={"kubeloop.io/exit-after": "3s"}, activeDeadlineSeconds=20),
        a_pod(a_container(command=["sleep", "1"]), restartPolicy="Never"),
        a_pod(a_container(), hostNetwork=True),
    ],
    ids=lambda obj: str(sorted({*obj["spec"], *obj["spec"]["containers"][0], *annotations_of(obj)})),
)
def test_a_second_look_at_once_finds_nothing_to_do(obj: Object) -> None:
    """While a pod is not over, what was written is what a look at it would write, and nothing is told: so the echo of
    a status asks for nothing.
    """
    played = PlayedPod(obj)
    for _ in range(40):
        wake_at = played.look()
        if played.obj["status"]["phase"] in TERMINAL:
            break
        told, before = len(played.told), {**played.obj}
        again = played.look()
        assert (wake_at, told, None) == (again, len(played.told), status_patch(before, played.obj["status"]))
        if wake_at is None:
            break
        played.now = max(wake_at, played.now + timedelta(milliseconds=1))


class Looks:
    """Counts how often pods are looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.keys: list[ObjectKey] = []
        reconcile = PodReconciler.reconcile

        async def counted(reconciler: PodReconciler, key: ObjectKey) -> Result:
            self.keys.append(key)
            return await reconcile(reconciler, key)

        monkeypatch.setattr(PodReconciler, "reconcile", counted)

    async def are_more_than(self, before: int) -> bool:
        return len(self.keys) > before


def test_a_pod_that_starts_is_looked_at_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it comes and when its image is there; not for what was written of it."""
    looks = Looks(monkeypatch)

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        pod = await cluster.create(pod_on("node-0"))
        await cluster.eventually(lambda: running(cluster, pod))
        await cluster.settled()

        assert 2 == looks.keys.count(key_of(pod))

    run_nodes(check)


def test_what_others_write_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A label is news, and so is a condition that the pod is ready for."""
    looks = Looks(monkeypatch)

    async def check(cluster: Cluster) -> None:
        pod = await cluster.create(pod_on("node-0", readinessGates=[{"conditionType": "x"}]))
        await cluster.eventually(lambda: _phase(cluster, pod, "Running"))
        await cluster.settled()
        before = len(looks.keys)
        await cluster.patch(pod, {"metadata": {"labels": {"a": "b"}}})
        await cluster.eventually(lambda: looks.are_more_than(before))

        met = {"status": {"conditions": [{"type": "x", "status": "True"}]}}
        await cluster.api.patch(PODS, "web", met, "default", patch_type=STRATEGIC, subresource="status")
        await cluster.eventually(lambda: running(cluster, pod))

    run_nodes(check)


def test_after_a_list_every_pod_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a list skips may hide behind an echo."""
    looks, listed = Looks(monkeypatch), list[Callable[[], None]]()
    add = Informer.add_relist_handler

    def noted(informer: Informer, handler: Callable[[], None]) -> None:
        if informer.scope.resource == PODS:
            listed.append(handler)
        add(informer, handler)

    monkeypatch.setattr(Informer, "add_relist_handler", noted)

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        pod = await cluster.create(pod_on("node-0"))
        await cluster.eventually(lambda: running(cluster, pod))
        await cluster.settled()
        before = len(looks.keys)
        for handler in listed:
            handler()

        await cluster.eventually(lambda: looks.are_more_than(before))

    run_nodes(check)


async def _phase(cluster: Cluster, pod: Object, phase: str) -> bool:
    return bool((await cluster.read(pod))["status"].get("phase") == phase)
