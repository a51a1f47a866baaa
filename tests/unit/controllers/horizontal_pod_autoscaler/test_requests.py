"""What utilization is measured against."""

from typing import Any

import pytest

from controllers.horizontal_pod_autoscaler.replicas import NoProposal
from controllers.horizontal_pod_autoscaler.requests import requests_of
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.workloads import a_pod


def a_container(name: str, cpu: str | None = None, **fields: Any) -> Object:
    return {"name": name, "resources": {"requests": {"cpu": cpu}} if cpu else {}, **fields}


def test_containers_add_up() -> None:
    """Sidecars too; init containers that end do not."""
    init = [a_container("s", "30m", restartPolicy="Always"), a_container("i", "2")]
    pod = a_pod("p", spec={"containers": [a_container("a", "100m"), a_container("b", "1")], "initContainers": init})

    assert {"p": 1130} == requests_of([pod], "cpu")
    assert {"p": 100} == requests_of([pod], "cpu", "a")


@pytest.mark.parametrize(("asked", "expected"), [({"cpu": "3"}, 3250), ({"memory": "1Gi"}, 2280)])
def test_a_pod_as_a_whole(asked: Object, expected: int) -> None:
    """Its own request counts, else the most that its containers need at once; and the overhead."""
    init = [a_container("s", "30m", restartPolicy="Always"), a_container("i", "2")]
    spec = {
        "containers": [a_container("a", "100m"), a_container("b")],
        "initContainers": init,
        "resources": {"requests": asked},
        "overhead": {"cpu": "250m"},
    }

    assert {"p": expected} == requests_of([a_pod("p", spec=spec)], "cpu")


@pytest.mark.parametrize(
    ("spec", "container", "why"),
    [
        ({}, "", "missing request for cpu in container b of Pod p"),
        ({}, "x", "container x not found in Pod p"),
        (
            {"resources": {"requests": {"memory": "1Gi"}}, "containers": []},
            "",
            "missing pod-level request for cpu in Pod p",
        ),
    ],
)
def test_a_request_is_missing(spec: Object, container: str, why: str) -> None:
    """Nothing can be said then, and the message names the container."""
    pod = a_pod("p", spec={"containers": [a_container("a", "100m"), a_container("b")], **spec})

    with pytest.raises(NoProposal, match=why):
        requests_of([pod], "cpu", container)
