"""The Endpoints object of a Service."""

from typing import Any

import pytest

from controllers.endpoints import plan
from kubeloop.apimachinery.meta import Object, annotations_of, labels_of
from tests.unit.controllers.workloads import a_pod, a_service

OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"


def addresses(subsets: list[Object]) -> dict[str, list[str]]:
    fields = ("addresses", "notReadyAddresses")
    return {field: [a["ip"] for subset in subsets for a in subset.get(field, [])] for field in fields}


@pytest.mark.parametrize(
    ("pod", "publishes_all", "expected"),
    [
        (a_pod(), False, (1, 0)),
        (a_pod(ready=None), False, (0, 1)),
        (a_pod(ready=None), True, (1, 0)),
        (a_pod(deleted=True), False, (0, 0)),
        (a_pod(deleted=True), True, (1, 0)),
        (a_pod(phase="Failed"), False, (0, 0)),
        (a_pod(ip=""), False, (0, 0)),
        (a_pod(node="ghost"), False, (1, 0)),
    ],
)
def test_where_a_pod_is_listed(pod: Object, publishes_all: bool, expected: tuple[int, int]) -> None:
    """Among the ready, among the not ready, or nowhere."""
    subsets = plan.desired_subsets(a_service(publishNotReadyAddresses=publishes_all), [pod])

    assert expected == tuple(len(found) for found in addresses(subsets).values())


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, [[{"port": 80, "protocol": "TCP"}]]),
        ({"ports": [], "clusterIP": "None"}, [[]]),
        ({"ports": []}, []),
        ({"ports": [{"port": 80, "targetPort": "unknown"}]}, []),
        (
            {"ports": [{"name": "a", "port": 80, "targetPort": 8080}]},
            [[{"name": "a", "port": 8080, "protocol": "TCP"}]],
        ),
    ],
    ids=["a port", "headless without ports", "without ports", "unknown name", "number and name"],
)
def test_ports(spec: Any, expected: list[Any]) -> None:
    """A subset for the ports the pod serves; without any only a headless Service lists it."""
    subsets = plan.desired_subsets(a_service(**spec), [a_pod()])

    assert expected == [subset.get("ports", []) for subset in subsets]


def test_a_right_object_is_left_alone() -> None:
    """Written once, nothing is to be written again; a label or an address that changes is."""
    service = a_service(labels={"team": "x"})
    subsets = plan.desired_subsets(service, [a_pod()])
    written = plan.planned(service, None, subsets, "2026-01-01T00:00:00Z")
    assert written is not None

    again = plan.planned(service, written, subsets, "")
    relabelled = plan.planned(a_service(labels={"team": "y"}), written, subsets, "")

    assert ({"team": "x", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}, None) == (
        labels_of(written),
        again,
    )
    assert {TRIGGER: "2026-01-01T00:00:00Z"} == annotations_of(written)
    assert relabelled is not None
    assert (labels_of(relabelled)["team"], {}) == ("y", annotations_of(relabelled))


@pytest.mark.parametrize(
    ("ready", "not_ready", "expected"),
    [
        ([3], [2], ([3], [2])),
        ([4, 4], [2, 0], ([4, 4], [0, 0])),
        ([8, 8], [1, 1], ([4, 4], [0, 0])),
        ([6], [6], ([6], [2])),
    ],
)
def test_too_many_addresses_are_cut(ready: list[int], not_ready: list[int], expected: Any) -> None:
    """Ready ones stay before others; each subset loses its share."""
    wanted = [
        {"addresses": [{"ip": "r"}] * r, "notReadyAddresses": [{"ip": "n"}] * n}
        for r, n in zip(ready, [*not_ready, 0], strict=False)
    ]

    cut, _ = plan.truncate(wanted, 8)

    counts = [[len(subset.get(field, [])) for subset in cut] for field in ("addresses", "notReadyAddresses")]
    assert list(expected) == counts
