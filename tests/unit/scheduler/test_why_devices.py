"""What `kubeloop why` proposes to a pod that gets no devices."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.meta import Object
from kubeloop.testing.builders import PodBuilder, a_node, a_pod
from tests.unit.scheduler.devices import a_claim, a_class, a_device, a_slice, allocated, exactly
from tests.unit.scheduler.scene import Scene, info
from tests.unit.scheduler.test_why import explained, smallest


def using(pod: PodBuilder, claim: str) -> PodBuilder:
    return pod.spec(resourceClaims=[{"name": "d", "resourceClaimName": claim}])


def user(pod: PodBuilder) -> Object:
    return {"resource": "pods", "name": pod["metadata"]["name"], "uid": info(pod).uid}


def scene(claims: list[Object], *pods: PodBuilder) -> Scene:
    """A node with two devices."""
    slices = [a_slice("a", a_device("gpu-0"), a_device("gpu-1"))]
    others = {"ResourceClaim": claims, "DeviceClass": [a_class()], "ResourceSlice": slices}
    return Scene([a_node("a")], list(pods), others)


def holding(*names: str) -> tuple[list[Object], list[PodBuilder]]:
    """Pods on the node with a device each, and their claims."""
    pods = [using(a_pod(name), f"of-{name}").on("a") for name in names]
    claims = [
        allocated(a_claim(f"of-{pod['metadata']['name']}"), f"gpu-{i}", users=[user(pod)]) for i, pod in enumerate(pods)
    ]
    return claims, pods


@pytest.mark.parametrize(
    ("count", "changes"),
    [
        (1, ["remove pod default/one from a"]),
        (2, ["remove pod default/one from a", "remove pod default/two from a"]),
    ],
)
def test_pods_with_devices_are_to_go(count: int, changes: list[str]) -> None:
    """As many as it takes: their claims are given back, and the devices are free."""
    claims, pods = holding("one", "two")

    wanted = a_claim("wanted", exactly(count=count))

    assert changes == smallest(scene([*claims, wanted], *pods), using(a_pod("p"), "wanted"))


def test_what_others_use_too_does_not_come_free() -> None:
    """Nor are there ever three devices of two."""
    claims, pods = holding("one", "two")
    shared = [{**claim, "status": {**claim["status"], "reservedFor": [user(pod) for pod in pods]}} for claim in claims]

    told = explained(scene([*shared, a_claim("wanted")], *pods), using(a_pod("p"), "wanted"))
    too_many = explained(scene([*claims, a_claim("wanted", exactly(count=3))], *pods), using(a_pod("p"), "wanted"))

    assert [(), ()] == [tuple(told.remedies), tuple(too_many.remedies)]
