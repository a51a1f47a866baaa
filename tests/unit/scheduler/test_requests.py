"""What a pod asks for, all its containers together."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.scheduler.requests import pod_requests
from kubeloop.testing.builders import a_pod
from tests.unit.scheduler.scene import info


def container(name: str, cpu: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, **({"resources": {"requests": {"cpu": cpu}}} if cpu else {}), **more}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [container("a", "100m"), container("b", "0.2")]}, 300),
        ({"containers": [container("a", "100m")], "initContainers": [container("i", "1")]}, 1000),
        (
            {"containers": [container("a", "1")], "initContainers": [container("i", "100m"), container("j", "200m")]},
            1000,
        ),
        (
            {"containers": [container("a", "1")], "initContainers": [container("s", "500m", restartPolicy="Always")]},
            1500,
        ),
        (
            {
                "containers": [container("a", "100m")],
                "initContainers": [container("s", "500m", restartPolicy="Always"), container("i", "1")],
            },
            1500,
        ),
        (
            {
                "containers": [container("a", "100m")],
                "initContainers": [container("i", "1"), container("s", "500m", restartPolicy="Always")],
            },
            1000,
        ),
        ({"containers": [container("a", "100m")], "overhead": {"cpu": "50m"}}, 150),
        ({"containers": [container("a", "100m")], "resources": {"requests": {"cpu": "1"}}}, 1000),
        (
            {
                "containers": [container("a", "100m")],
                "resources": {"requests": {"cpu": "1"}},
                "overhead": {"cpu": "50m"},
            },
            1050,
        ),
    ],
)
def test_requests_of_all_containers(spec: dict[str, Any], cpu: int) -> None:
    """Containers and sidecars add up, init containers count with their peak, overhead is added, pod level replaces."""
    assert cpu == pod_requests({"spec": spec})["cpu"]


@pytest.mark.parametrize(("reason", "cpu"), [("Deferred", 2000), ("Infeasible", 1000)])
def test_a_resize_in_flight(reason: str, cpu: int) -> None:
    """While a resize is not done the larger amount counts, unless it will never be done."""
    reported = {"name": "a", "resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "500m"}}
    conditions = [{"type": "PodResizePending", "reason": reason}]
    status = {"containerStatuses": [reported], "conditions": conditions}

    assert cpu == pod_requests({"spec": {"containers": [container("a", "2")]}, "status": status})["cpu"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [container("a"), container("b", "10m")]}, (110, 400)),
        ({"containers": [container("a")], "resources": {"requests": {"cpu": "1"}}}, (1000, 200)),
    ],
)
def test_what_scores_count(spec: dict[str, Any], expected: tuple[int, int]) -> None:
    """Containers without a request count with 100m and 200Mi, unless the pod as a whole asks for it."""
    pod = info(a_pod("p").spec(**spec))

    assert expected == (pod.non_zero_cpu, pod.non_zero_memory // 1024**2)
