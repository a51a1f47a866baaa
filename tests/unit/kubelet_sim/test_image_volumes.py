"""Volumes of images: pulled before anything of the pod starts, and told as the images of containers are."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import EVENTS, NODES
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.played_pod import PULL_SECONDS, PlayedPod, a_container, a_pod, state_of
from tests.unit.kubelet_sim.test_nodes import pod_on, ready_nodes, run_nodes, running

MOUNTS = [{"name": "data", "mountPath": "/data"}]


def a_reader(name: str = "c", **fields: Any) -> Object:
    """A container that mounts the volume."""
    return a_container(name, volumeMounts=MOUNTS, **fields)


def played(*containers: Object, reference: str = "data:1", policy: str = "IfNotPresent", **spec: Any) -> PlayedPod:
    volume = {"name": "data", "image": {"reference": reference, "pullPolicy": policy}}
    return PlayedPod(a_pod(*(containers or (a_reader(),)), volumes=[volume], **spec))


def waiting(pod: PlayedPod, name: str = "c") -> tuple[str, str]:
    statuses = [*pod.obj["status"]["containerStatuses"], *pod.obj["status"].get("initContainerStatuses", ())]
    (one,) = (status["state"]["waiting"] for status in statuses if status["name"] == name)
    return one["reason"], one.get("message", "")


def test_it_is_pulled_before_anything_starts() -> None:
    """First the images of volumes, then those of containers."""
    pod = played()

    assert "ContainerCreating" == state_of(pod.until(PULL_SECONDS / 2))
    assert "running" == state_of(pod.until(1))
    assert ['Pulling image "data:1"', 'Successfully pulled image "data:1" in 100ms'] == [
        said.split(": ", 1)[1].split(" (")[0] for said in pod.told[:2]
    ]
    assert 'Pulling: Pulling image "web:1"' == pod.told[2]


def test_what_the_node_has_is_not_pulled() -> None:
    """It is told to be present; with the policy Always it is pulled all the same."""
    pod = played()
    pod.runtime = pod.runtime._replace(images=frozenset(("docker.io/library/data:1",)))
    always = played(policy="Always")
    always.runtime = always.runtime._replace(images=frozenset(("docker.io/library/data:1",)))

    pod.until(1), always.until(1)

    assert 'Pulled: Container image "data:1" already present on machine and can be accessed by the pod' == pod.told[0]
    assert 'Pulling: Pulling image "data:1"' == always.told[0]


def test_a_container_of_the_same_image_needs_no_pull() -> None:
    """It came with the volume."""
    pod = played(a_reader(image="data:1"))

    pod.until(1)

    assert 1 == sum(said.startswith("Pulling:") for said in pod.told)


def test_who_mounts_what_cannot_be_had_waits() -> None:
    """In the words of a container whose own image cannot be had, and with its back-off; others run."""
    pod = played(a_reader(), a_container("d"), reference="does-not-exist:1")

    status = pod.until(PULL_SECONDS + 0.5)
    assert ("ErrImagePull", "running") == (state_of(status), state_of(status, "d"))
    assert waiting(pod)[1].endswith("does-not-exist:1: not found")
    assert ("True", "", "") == pod.condition("PodReadyToStartContainers")
    pod.until(5)
    reason, message = waiting(pod)
    assert "ImagePullBackOff" == reason
    assert message.startswith('Back-off pulling image "does-not-exist:1": ErrImagePull: rpc error: code = NotFound')
    errors = [said for said in pod.told if said.startswith(("Failed: Error", "BackOff"))]
    assert [
        "Failed: Error: ErrImagePull",
        'BackOff: Back-off pulling image "does-not-exist:1"',
        "Failed: Error: ImagePullBackOff",
    ] == errors
    pod.until(11)
    assert 2 == pod.told.count('Pulling: Pulling image "does-not-exist:1"')


def test_only_who_would_start_is_told_to_fail() -> None:
    """An init container runs before those that mount the volume."""
    pod = played(reference="does-not-exist:1", initContainers=[a_container("init")])

    status = pod.until(1)
    assert ("running", "PodInitializing") == (state_of(status, "init"), state_of(status))
    assert "Failed: Error: ErrImagePull" not in pod.told
    assert "ImagePullBackOff" == state_of(pod.until(8))


@pytest.mark.parametrize(
    ("reference", "policy", "reason", "told"),
    [
        ("does-not-exist:1", "Never", "ErrImageNeverPull", "ErrImageNeverPull: Container image "),
        ("UPPER", "Always", "InvalidImageName", "InspectFailed: Failed to apply default image tag "),
    ],
)
def test_an_image_that_is_not_asked_for(reference: str, policy: str, reason: str, told: str) -> None:
    """Is refused as that of a container would be."""
    pod = played(reference=reference, policy=policy)

    assert reason == state_of(pod.until(5))
    assert pod.told[0].startswith(told) and f"Failed: Error: {reason}" == pod.told[1]


def test_after_a_restart_of_the_kubelet_it_is_still_there() -> None:
    """While containers of the pod run."""
    pod = played()
    pod.until(5)
    told = list(pod.told)

    pod.restart_process()
    pod.until(10)

    assert told == pod.told


def test_after_a_restart_of_the_kubelet_what_failed_is_tried_again() -> None:
    """Also where another container of the pod runs, which does not need it."""
    pod = played(a_reader(), a_container("d"), reference="does-not-exist:1")
    pod.until(5)

    pod.restart_process()
    status = pod.until(7)

    assert ("ImagePullBackOff", "running") == (state_of(status), state_of(status, "d"))


def test_the_node_has_the_image() -> None:
    """It is in its status, and the events of its pull are of the pod as a whole."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        volume = {"name": "data", "image": {"reference": "registry.local/data:1"}}
        container = {"name": "c", "image": "web:1", "volumeMounts": MOUNTS}
        pod = await cluster.create(pod_on("node-0", containers=[container], volumes=[volume]))
        await cluster.eventually(partial(running, cluster, pod))
        await cluster.clock.sleep(60)

        names = [name for one in (await cluster.api.get(NODES, "node-0"))["status"]["images"] for name in one["names"]]
        assert "registry.local/data:1" in names
        (pulling,) = (
            one for one in await cluster.list(EVENTS) if "data:1" in one["message"] and one["reason"] == "Pulling"
        )
        assert "fieldPath" not in pulling["involvedObject"]

    run_nodes(check, nodes=1)
