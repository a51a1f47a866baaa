"""What a kubelet knows of its pods is never behind what it has written of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kubelet_sim import pod_spec
from kubelet_sim.faults.registry import Faults
from kubelet_sim.statuses import PodStatuses
from kubeloop.apimachinery.errors import InternalError
from kubeloop.apimachinery.meta import Object, ObjectKey, key_of
from kubeloop.apimachinery.resource import PODS, Resource
from kubeloop.client.api import Api
from kubeloop.testing.builders import a_pod
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.test_nodes import pod_on, ready_nodes, run_nodes, running


class Watched:
    """An informer of one pod."""

    def __init__(self, pod: Object) -> None:
        self.pod = pod

    def get(self, key: ObjectKey) -> Object:
        return self.pod


class Failing:
    """An API that does something else while a write is under way, which fails then."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self._meanwhile = meanwhile

    async def patch(self, *_: object, **__: object) -> Object:
        self._meanwhile()
        raise InternalError("no")


def statuses_of(watched: Watched, api: object = None) -> PodStatuses:
    return PodStatuses(api, watched, Faults(watched), None)  # type: ignore[arg-type]


def a_version(version: str, uid: str = "u", phase: str = "Pending") -> Object:
    pod = a_pod("web").on("node-0")
    pod["metadata"] |= {"uid": uid, "resourceVersion": version}
    return {**pod, "status": {"phase": phase, "podIP": "10.0.0.1"}}


def test_an_answer_counts_until_the_watch_has_told_of_it() -> None:
    """Whichever comes first; an answer of another pod of this name never counts."""
    watched = Watched(a_version("7"))
    statuses, key = statuses_of(watched), key_of(watched.pod)
    statuses.keep(answer := a_version("8"))
    assert answer is statuses.newest(key)

    watched.pod = a_version("9", uid="other")
    assert watched.pod is statuses.newest(key)

    watched.pod = a_version("9")
    statuses.caught_up(watched.pod)
    assert watched.pod is statuses.newest(key)


def test_what_is_being_written_is_shown_but_is_no_ground_for_a_decision() -> None:
    """Over what is there already, of this very pod, and no longer than the write takes, also where it fails."""
    pod = a_version("7")
    watched, seen = Watched(pod), list[Object | None]()

    def meanwhile() -> None:
        seen.extend((statuses.newest(key), statuses.shown(key)))
        watched.pod = a_version("9", uid="other")
        seen.append(statuses.shown(key))

    statuses, key = statuses_of(watched, Failing(meanwhile)), key_of(pod)
    with pytest.raises(InternalError):
        asyncio.run(statuses.write(pod, pod_spec.read(pod, init_seconds=1), {"phase": "Running"}))

    assert [pod, {**pod, "status": {"phase": "Running", "podIP": "10.0.0.1"}}, watched.pod] == seen
    watched.pod = pod
    assert pod is statuses.shown(key)


def test_nobody_knows_of_a_container_that_runs_before_its_kubelet_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the commit of a status and its answer, who has read it may ask the kubelet for the log."""
    kubelets, seen = list[PodStatuses](), list[tuple[Any, Any]]()
    made, patch = PodStatuses.__init__, Api.patch

    def noted(statuses: PodStatuses, *needs: Any) -> None:
        kubelets.append(statuses)
        made(statuses, *needs)

    async def asked_before_the_answer(api: Api, resource: Resource, name: str, *rest: Any, **options: Any) -> Object:
        answer = await patch(api, resource, name, *rest, **options)
        if resource == PODS:
            shown = kubelets[0].shown(key_of(answer)) or {}
            seen.append((answer["status"]["containerStatuses"], shown["status"]["containerStatuses"]))
        return answer

    monkeypatch.setattr(PodStatuses, "__init__", noted)
    monkeypatch.setattr(Api, "patch", asked_before_the_answer)

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        pod = await cluster.create(pod_on("node-0"))
        await cluster.eventually(lambda: running(cluster, pod))
        await cluster.settled()

    run_nodes(check)

    assert [answer for answer, _ in seen] == [shown for _, shown in seen]
    assert "running" in seen[-1][0][0]["state"]
