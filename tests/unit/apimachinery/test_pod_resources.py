"""What whole pods request and may use."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.pod_resources import pod_limits, pod_requests


def container(name: str, cpu: str = "", limit: str = "", **more: Any) -> Object:
    resources = {"requests": {"cpu": cpu} if cpu else {}, "limits": {"cpu": limit} if limit else {}}
    return {"name": name, "resources": resources, **more}


def shown(amounts: dict[str, Any]) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in amounts.items()}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [container("c", "500m"), container("d", "250m")]}, "750m"),
        (
            {
                "initContainers": [container("i", "3"), container("s", "1", restartPolicy="Always")],
                "containers": [container("c", "500m"), container("d", "250m")],
            },
            "3",
        ),
        (
            {
                "initContainers": [container("s", "1", restartPolicy="Always"), container("i", "3")],
                "containers": [container("c", "500m")],
            },
            "4",
        ),
        (
            {
                "initContainers": [container("s", "1", restartPolicy="Always")],
                "containers": [container("c", "1500m")],
            },
            "2500m",
        ),
        ({"containers": [container("c", "1")], "overhead": {"cpu": "50m"}}, "1050m"),
        ({"containers": [container("c", "1")], "resources": {"requests": {"cpu": "5"}}}, "5"),
    ],
)
def test_what_a_pod_requests(spec: Object, expected: str) -> None:
    """Containers and sidecars add up, init containers count with their peak, the pod's own word overrides."""
    assert {"cpu": expected} == shown(pod_requests({"spec": spec}))


def test_overhead_is_added_to_what_is_limited_only() -> None:
    """And left out where it is not asked for."""
    limited = {"spec": {"containers": [container("c", limit="1")], "overhead": {"cpu": "50m", "memory": "1Mi"}}}

    assert {"cpu": "1050m"} == shown(pod_limits(limited))
    assert {"cpu": "1"} == shown(pod_limits(limited, with_overhead=False))


@pytest.mark.parametrize(
    ("conditions", "expected"), [([], "3"), ([{"type": "PodResizePending", "reason": "Infeasible"}], "2")]
)
def test_a_resize_counts_with_what_is_larger(conditions: list[Object], expected: str) -> None:
    """Asked for, allocated or running; what can never be is not counted."""
    status = {
        "containerStatuses": [
            {"name": "c", "resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "2"}},
        ],
        "conditions": conditions,
    }
    pod = {"spec": {"containers": [container("c", "3")]}, "status": status}

    assert {"cpu": expected} == shown(pod_requests(pod, with_status=True))
