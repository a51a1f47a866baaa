"""Which EndpointSlices are touched for which change."""

from typing import Any

import pytest

from controllers.endpointslice.desired import desired
from controllers.endpointslice.plan import Changes, plan
from kubeloop.apimachinery.meta import Object, labels_of, name_of
from tests.unit.controllers.workloads import a_pod, a_service

NODES = {"node-0": {"metadata": {"labels": {"topology.kubernetes.io/zone": "zone-a"}}}}


def a_pod_at(i: int, **fields: Any) -> Object:
    return a_pod(f"p{i}", ip=f"10.0.{i // 250}.{i % 250}", **fields)


def decide(service: Object, pods: list[Object], *existing: Object, most: int = 3) -> Changes:
    groups = desired(service, pods, NODES, "IPv4").groups
    return plan(service, existing, groups, "IPv4", most)


def stored(changes: Changes, *existing: Object) -> list[Object]:
    """What the server has after these changes."""
    kept = {name_of(each): each for each in existing} | changes.update
    for gone in changes.delete:
        del kept[name_of(gone)]
    for i, created in enumerate(changes.create):
        name = f"new-{len(existing)}-{i}"
        kept[name] = {**created, "metadata": {**created["metadata"], "name": name}}
    return list(kept.values())


def touched(changes: Changes) -> tuple[int, int, int]:
    return len(changes.create), len(changes.update), len(changes.delete)


def published(*existing: Object) -> list[str]:
    return sorted(endpoint["targetRef"]["name"] for each in existing for endpoint in each["endpoints"])


def slices_of(count: int, service: Object | None = None, most: int = 3) -> list[Object]:
    return stored(decide(service or a_service(), [a_pod_at(i) for i in range(count)], most=most))


def test_no_pods_still_make_a_slice() -> None:
    """An empty one, which then stays as it is."""
    changes = decide(a_service(labels={"team": "x"}), [])
    (placeholder,) = stored(changes)

    assert ([], []) == (placeholder["endpoints"], placeholder["ports"])
    assert {
        "team": "x",
        "kubernetes.io/service-name": "svc",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    } == labels_of(placeholder)
    assert (0, 0, 0) == touched(decide(a_service(labels={"team": "x"}), [], placeholder))


@pytest.mark.parametrize(("count", "expected"), [(1, [1]), (3, [3]), (4, [3, 1]), (7, [3, 3, 1])])
def test_slices_are_filled_one_after_the_other(count: int, expected: list[int]) -> None:
    """At most so many endpoints to a slice."""
    assert expected == [len(each["endpoints"]) for each in slices_of(count)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (range(4), range(4), (0, 0, 0)),
        (range(4), range(5), (0, 1, 0)),
        (range(6), range(7), (1, 0, 0)),
        (range(6), range(1, 6), (0, 1, 0)),
        (range(6), [*range(1, 6), 9], (0, 1, 0)),
        (range(6), range(3), (0, 0, 1)),
        (range(3), [], (0, 1, 0)),
        (range(0), range(1), (0, 1, 0)),
    ],
    ids=["nothing", "fits in", "all full", "one less", "one for another", "a slice empty", "to none", "from none"],
)
def test_few_slices_are_touched(before: Any, after: Any, expected: tuple[int, int, int]) -> None:
    """What can be put right by updating one slice is; and then nothing more is to be done."""
    existing = stored(decide(a_service(), [a_pod_at(i) for i in before]))
    pods = [a_pod_at(i) for i in after]

    changes = decide(a_service(), pods, *existing)
    outcome = stored(changes, *existing)

    assert expected == touched(changes)
    assert sorted(f"p{i}" for i in after) == published(*outcome)
    assert (0, 0, 0) == touched(decide(a_service(), pods, *outcome))


@pytest.mark.parametrize(
    ("fields", "conditions"),
    [
        ({"ready": 1}, (True, True, False)),
        ({"ready": None}, (False, False, False)),
        ({"ready": 1, "deleted": True}, (False, True, True)),
        ({"ready": None, "deleted": True}, (False, False, True)),
    ],
    ids=["ready", "not ready", "terminating", "terminating and not ready"],
)
@pytest.mark.parametrize("publishes_all", [False, True])
def test_conditions(fields: Any, conditions: tuple[bool, bool, bool], publishes_all: bool) -> None:
    """Ready means serving and not terminating, or published whatever it is."""
    groups = desired(a_service(publishNotReadyAddresses=publishes_all), [a_pod(**fields)], NODES, "IPv4").groups

    ((endpoint,),) = ([*group.endpoints.values()] for group in groups.values())

    ready, serving, terminating = conditions
    expected = {"ready": ready or publishes_all, "serving": serving, "terminating": terminating}
    assert expected == endpoint["conditions"]


@pytest.mark.parametrize(
    ("pod", "publishes_all", "expected"),
    [
        (a_pod(phase="Succeeded"), False, []),
        (a_pod(ip=""), False, []),
        (a_pod(ip="fd00::1"), False, []),
        (a_pod(node="ghost"), False, []),
        (a_pod(node="ghost"), True, [("node", "ghost")]),
        (a_pod(), False, [("node", "node-0"), ("zone", "zone-a")]),
        (
            a_pod(spec={"hostname": "one", "subdomain": "svc"}),
            False,
            [("node", "node-0"), ("zone", "zone-a"), ("hostname", "one")],
        ),
        (a_pod(spec={"hostname": "one", "subdomain": "else"}), False, [("node", "node-0"), ("zone", "zone-a")]),
    ],
    ids=[
        "done",
        "no address",
        "other family",
        "no such node",
        "published all the same",
        "zone",
        "hostname",
        "other subdomain",
    ],
)
def test_who_is_published_with_what(pod: Object, publishes_all: bool, expected: list[tuple[str, str]]) -> None:
    """Pods with an address of the family on a node that exists; a hostname only under the Service's own name."""
    groups = desired(a_service(publishNotReadyAddresses=publishes_all), [pod], NODES, "IPv4").groups

    endpoints = [endpoint for group in groups.values() for endpoint in group.endpoints.values()]

    fields = (("node", "nodeName"), ("zone", "zone"), ("hostname", "hostname"))
    assert expected == [(short, each[name]) for each in endpoints for short, name in fields if name in each]


def test_a_named_port_is_looked_up_in_each_pod() -> None:
    """Pods that serve it at other numbers are in other slices; one that does not is in a slice without ports."""

    def serving(i: int, *ports: int) -> Object:
        container = {"name": "c", "ports": [{"name": "http", "containerPort": port} for port in ports]}
        return a_pod_at(i, spec={"containers": [container]})

    service = a_service(ports=[{"port": 80, "targetPort": "http", "protocol": "TCP"}])

    created = decide(service, [serving(1, 8080), serving(2, 9090), serving(3)]).create

    assert {8080: ["p1"], 9090: ["p2"], None: ["p3"]} == {
        (each["ports"] or [{"port": None}])[0]["port"]: published(each) for each in created
    }


def test_slices_of_a_service_before_are_not_reused() -> None:
    """They are deleted and new ones made: the garbage collector is about to take them."""
    existing = slices_of(1, {**a_service(), "metadata": {**a_service()["metadata"], "uid": "before"}})

    assert (1, 0, 1) == touched(decide(a_service(), [a_pod_at(0)], *existing))


def test_labels_of_the_service_are_carried_over() -> None:
    """A changed label is written even where no endpoint changed."""
    existing = slices_of(2)

    changes = decide(a_service(labels={"team": "y"}), [a_pod_at(0), a_pod_at(1)], *existing)

    assert ["y"] == [labels_of(each)["team"] for each in changes.update.values()]


def test_a_service_on_its_way_out_gets_no_new_slices() -> None:
    """They would race with the garbage collector."""
    service = a_service()
    service["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert (0, 0, 0) == touched(decide(service, [a_pod_at(0)]))


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        (None, None),
        ("PreferClose", {"forZones": [{"name": "zone-a"}]}),
        ("PreferSameZone", {"forZones": [{"name": "zone-a"}]}),
        ("PreferSameNode", {"forZones": [{"name": "zone-a"}], "forNodes": [{"name": "node-0"}]}),
    ],
)
def test_hints(distribution: str | None, expected: Object | None) -> None:
    """A changed trafficDistribution alone makes slices be written, and only then."""
    existing = slices_of(1)
    service = a_service(trafficDistribution=distribution)

    changes = decide(service, [a_pod_at(0)], *existing)
    outcome = stored(changes, *existing)

    assert [expected] == [endpoint.get("hints") for each in outcome for endpoint in each["endpoints"]]
    assert (0, 0 if expected is None else 1, 0) == touched(changes)
    assert (0, 0, 0) == touched(decide(service, [a_pod_at(0)], *outcome))
