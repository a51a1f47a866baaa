"""Hints by zone: as large a part of the endpoints for each zone as it has of the CPUs."""

from collections import Counter
from typing import Any

import pytest

from controllers import endpointslice, replicaset
from controllers.endpointslice.topology import Unfair, hinted, shares_of
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import ENDPOINT_SLICES, EVENTS, SERVICES
from kubeloop.testing.builders import a_node as a_living_node
from kubeloop.testing.builders import a_replica_set, a_service
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.controllers import nodes

AUTO = {"service.kubernetes.io/topology-mode": "Auto"}


def a_node(zone: str | None, cpu: str | None = "1", is_ready: bool = True, role: str = "") -> Object:
    labels = {"topology.kubernetes.io/zone": zone} if zone else {}
    labels |= {f"node-role.kubernetes.io/{role}": ""} if role else {}
    conditions = [{"type": "Ready", "status": "True" if is_ready else "False"}]
    allocatable = {"cpu": cpu} if cpu else {}
    return {"metadata": {"labels": labels}, "status": {"conditions": conditions, "allocatable": allocatable}}


def an_endpoint(zone: str, hint: str = "", is_ready: bool = True) -> Object:
    hints = {"hints": {"forZones": [{"name": hint}]}} if hint else {}
    return {"zone": zone, "conditions": {"ready": is_ready}, **hints}


def a_slice(*endpoints: Object) -> Object:
    return {"endpoints": list(endpoints)}


def hints_of(*slices: Object) -> str:
    """Own zone and hint of each endpoint: "aa ab" where the second serves zone b."""
    told = []
    for each in slices:
        for endpoint in each["endpoints"]:
            zones = (endpoint.get("hints") or {}).get("forZones") or [{"name": "-"}]
            told.append(endpoint["zone"] + zones[0]["name"])
    return " ".join(told)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([a_node("a"), a_node("b", "2"), a_node("c", "1000m")], {"a": 0.25, "b": 0.5, "c": 0.25}),
        ([a_node("a"), a_node("b"), a_node("c", is_ready=False)], {"a": 0.5, "b": 0.5}),
        (
            [a_node("a"), a_node("b"), a_node("c", role="control-plane")],
            {"a": 0.5, "b": 0.5},
        ),
        ([a_node("a"), a_node("b"), a_node(None)], {}),
        ([a_node("a"), a_node("b", None)], {}),
        ([a_node("a"), a_node("a")], {}),
        ([], {}),
    ],
    ids=["by cpu", "not ready", "control plane", "no zone", "no cpu", "one zone", "none"],
)
def test_shares_of_zones(given: list[Object], expected: dict[str, float]) -> None:
    """By the CPUs of nodes that can take pods; unknown as soon as one of them does not tell."""
    assert expected == shares_of(given)


@pytest.mark.parametrize(
    ("zones", "expected"),
    [
        ("abc", "aa bb cc"),
        ("aabbcc", "aa aa bb bb cc cc"),
        ("aaa", "ab ac aa"),
        ("aab", "ac aa bb"),
        ("aabb", "aa aa bb bb"),
        ("aaaabc", "ab ac aa aa bb cc"),
    ],
)
def test_zones_with_too_many_give_to_those_with_too_few(zones: str, expected: str) -> None:
    """Endpoints keep to their own zone where the split is fair enough."""
    shares = dict.fromkeys("abc", 1 / 3)
    if zones == "aabb":
        shares = {"a": 0.5, "b": 0.5}

    written, _ = hinted([a_slice(*map(an_endpoint, zones))], [], shares)

    assert expected == hints_of(*written)


@pytest.mark.parametrize(
    ("endpoints", "zones", "why"),
    [
        ("ab", "abc", "Insufficient number of endpoints (2 endpoints, 3 zones)"),
        ("abcd", "", "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"),
        (["a", ""], "ab", "One or more endpoints do not have a zone specified"),
    ],
)
def test_no_hints_where_no_split_is_fair(endpoints: Any, zones: str, why: str) -> None:
    """The reason goes into an event."""
    with pytest.raises(Unfair) as refused:
        hinted([a_slice(*map(an_endpoint, endpoints))], [], {zone: 1 / len(zones) for zone in zones})

    assert why == str(refused.value)


def test_a_minimum_that_cannot_be_met() -> None:
    """Each zone needs one endpoint at least: two to four then leave too few for the large zone."""
    with pytest.raises(Unfair) as refused:
        hinted([a_slice(*map(an_endpoint, "aaab"))], [], {"a": 0.9, "b": 0.05, "c": 0.05})

    expected = "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold"
    assert f"{expected} (4 endpoints, 3 zones)" == str(refused.value)


def test_fair_slices_are_left_alone() -> None:
    """A slice is rewritten only where its hints are missing, of no zone, or too many for one."""
    shares = {"a": 0.5, "b": 0.5}
    fair, bare = a_slice(an_endpoint("a", "a"), an_endpoint("b", "b")), a_slice(an_endpoint("a"), an_endpoint("b"))
    lost = a_slice(an_endpoint("a", "z"), an_endpoint("b", "b", is_ready=False), an_endpoint("b", "b"))

    written, wrong = hinted([], [fair, bare, lost], shares)

    assert ([], "aa bb aa bb bb") == (written, hints_of(*wrong))
    assert ([], []) == hinted([], [fair, *wrong], shares)


def test_events_tell_when_hints_begin_and_end() -> None:
    """Too few endpoints at first, then enough; and none any more when the annotation is gone."""

    async def check(cluster: Cluster) -> tuple[list[Any], Any]:
        for i, zone in enumerate("ab"):
            node = a_living_node(f"node-{i}").labels(**{"topology.kubernetes.io/zone": zone})
            await cluster.create(node)
        service = await cluster.create(a_service("web").annotations(AUTO))
        sets = [a_replica_set(f"web-{i}").replicas(1) for i in range(2)]
        seen = []
        for i, replica_set in enumerate(sets):
            replica_set["spec"]["selector"]["matchLabels"] = {"app": "web", "set": str(i)}
            replica_set["spec"]["template"]["metadata"]["labels"] = {"app": "web", "set": str(i)}
            replica_set["spec"]["template"]["spec"]["nodeName"] = f"node-{i}"
            await cluster.create(replica_set)
            await cluster.settled()
            seen.append(await hinted_zones(cluster))
        await cluster.patch(service, {"metadata": {"annotations": dict.fromkeys(AUTO)}}, SERVICES)
        await cluster.settled()
        seen.append(await hinted_zones(cluster))
        events = await cluster.list(EVENTS, "default")
        told = Counter(
            (e["type"], e["reason"], e["message"]) for e in events if e["involvedObject"]["kind"] == "Service"
        )
        return seen, set(told)

    loops = {
        "replicaset": a_loop(replicaset.add_replica_sets),
        "endpointslice": a_loop(endpointslice.add_to),
        "nodes": a_loop(nodes.add_to),
    }
    seen, told = run_cluster(check, processes=loops)

    assert [[], ["a", "b"], []] == seen
    few, disabled = "Insufficient number of endpoints (%d endpoints, 2 zones)", "TopologyAwareHintsDisabled"
    assert {
        *(("Warning", disabled, f"{few % count}, addressType: IPv4") for count in range(2)),
        ("Normal", "TopologyAwareHintsEnabled", "Topology Aware Hints has been enabled, addressType: IPv4"),
        ("Warning", disabled, "Topology Aware Hints has been disabled, addressType: IPv4"),
    } == told


async def hinted_zones(cluster: Cluster) -> list[str]:
    slices = await cluster.list(ENDPOINT_SLICES, "default")
    hints = [endpoint.get("hints") or {} for each in slices for endpoint in each["endpoints"] or ()]
    return sorted(zone["name"] for hint in hints for zone in hint.get("forZones") or ())
