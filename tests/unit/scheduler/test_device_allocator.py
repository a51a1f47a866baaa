"""Which devices claims get: one slice, one claim, one sentence at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from controllers.scheduler.dynamic_resources.allocated import allocated_by
from controllers.scheduler.dynamic_resources.allocator import (
    AllocationFailed,
    Allocator,
    FailedOnNode,
    TookTooLong,
)
from controllers.scheduler.dynamic_resources.devices import slice_of
from controllers.scheduler.dynamic_resources.pools import Published
from controllers.scheduler.dynamic_resources.results import allocation_of
from controllers.scheduler.dynamic_resources.selectors import SelectorFailed, Selectors
from controllers.scheduler.node_info import NodeInfo
from kubeloop.apimachinery.meta import Object, name_of
from tests.unit.scheduler.devices import (
    DRIVER,
    a_claim,
    a_class,
    a_device,
    a_slice,
    allocated,
    every,
    exactly,
    first_available,
)


def allocator(
    slices: Iterable[Object],
    *claims: Object,
    taken: Iterable[Object] = (),
    classes: Sequence[Object] = (),
    most_steps: int = 1000,
) -> Allocator:
    by_name = {name_of(one): one for one in classes or [a_class()]}
    published = Published([slice_of(one) for one in slices])
    return Allocator(published, allocated_by(taken), by_name.get, Selectors(), claims, most_steps)


def a_place(name: str = "a", **labels: str) -> NodeInfo:
    node = NodeInfo(name)
    node.labels = labels
    return node


def given(
    slices: Iterable[Object], *claims: Object, node: NodeInfo | None = None, **how: Any
) -> list[list[str]] | None:
    """The names of the devices of every claim."""
    found = allocator(slices, *claims, **how).allocate(node or a_place())
    return None if found is None else [[one.device.id.device for one in claim.given] for claim in found]


def allocation(slices: Iterable[Object], claim: Object, **how: Any) -> Object:
    """What its status would have."""
    found = allocator(slices, claim, **how).allocate(a_place())
    assert found is not None
    return allocation_of(found[0], "a", lambda: "share-1")


TWO = (a_device("gpu-0"), a_device("gpu-1"))


def test_a_device_is_given_once() -> None:
    """Claims of one pod, and claims that have their devices already, never get the same one."""
    slices = [a_slice("a", *TWO)]

    assert [["gpu-0"], ["gpu-1"]] == given(slices, a_claim("c"), a_claim("d"))
    assert [["gpu-1"]] == given(slices, a_claim("c"), taken=[allocated(a_claim("d"), "gpu-0")])
    assert given(slices, a_claim("c"), taken=[allocated(a_claim("d"), "gpu-0", "gpu-1")]) is None
    assert given(slices, a_claim("c", exactly(count=3))) is None


def test_devices_are_tried_in_the_order_of_names() -> None:
    """Of pools, and of slices within a pool; in a slice as it has them."""
    two = {"resourceSliceCount": 2}
    slices = [
        a_slice("a", a_device("z"), pool="second"),
        a_slice("a", a_device("b"), pool="first", name="y", of=two),
        a_slice("a", a_device("d"), a_device("c"), pool="first", name="x", of=two),
    ]

    assert [["d", "c", "b", "z"]] == given(slices, a_claim("c", exactly(count=4)))


def test_only_the_newest_generation_of_a_whole_pool_counts() -> None:
    """What is being replaced, and what is not complete, has no devices; with all of them asked for that is an error."""
    old, new = a_slice("a", a_device("old"), name="o"), a_slice("a", a_device("new"), name="n", of={"generation": 2})
    half = a_slice("a", a_device("half"), of={"resourceSliceCount": 2})

    assert [["new"]] == given([old, new], a_claim())
    assert given([half], a_claim()) is None
    with pytest.raises(AllocationFailed, match=r"asks for all devices, but resource pool .*/a is currently being upd"):
        given([half], a_claim("c", every()))


def test_a_pool_that_contradicts_itself_is_not_used() -> None:
    """Others are; where none is left, the pod is told."""
    twice = a_slice("a", a_device("x"), a_device("x"), pool="bad")

    assert [["good"]] == given([twice, a_slice("a", a_device("good"), pool="good")], a_claim())
    with pytest.raises(FailedOnNode, match=r"^invalid resource pools were encountered$"):
        given([twice], a_claim())


def test_devices_are_of_the_nodes_that_reach_them() -> None:
    """By name, by labels, everywhere, or as each device says; the result tells where the pod can go."""
    zone = {"key": "zone", "operator": "In", "values": ["x"]}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
    here = a_slice("a", a_device("local"))
    there = a_slice("", a_device("zonal"), nodeSelector=selector)
    devices = (a_device("elsewhere", nodeName="b"), a_device("shared", allNodes=True))
    each = a_slice("", *devices, perDeviceNodeSelection=True)
    in_x = a_place("b", zone="x")

    assert given([here, there], a_claim(), node=a_place("b")) is None
    assert [["zonal"]] == given([here, there], a_claim(), node=in_x)
    assert [["shared"]] == given([each], a_claim())
    named = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]
    assert named == allocation([here], a_claim())["nodeSelector"]["nodeSelectorTerms"]
    assert "nodeSelector" not in allocation([each], a_claim())
    found = allocator([there], a_claim()).allocate(in_x)
    assert found is not None
    assert {"nodeSelectorTerms": [{"matchExpressions": [zone]}]} == allocation_of(found[0], "b", str)["nodeSelector"]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ('device.driver == "gpu.example.com"', "small"),
        ('device.attributes["gpu.example.com"].model == "large"', "large"),
        ('"model" in device.attributes["other.example.com"]', None),
        ('device.capacity["gpu.example.com"].memory.compareTo(quantity("16Gi")) >= 0', "large"),
        ('device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.5.0"))', "large"),
        ('cel.bind(own, device.attributes["gpu.example.com"], own.model == "large")', "large"),
        ('device.attributes["gpu.example.com"].healthy', "large"),
        ("device.allowMultipleAllocations", None),
    ],
)
def test_selectors_choose_devices(selector: str, expected: str | None) -> None:
    """Those of the class, and those of the request, over driver, attributes and capacity."""
    small = a_device("small", "8Gi", attributes={"model": "small", "healthy": False})
    large = a_device("large", "16Gi", attributes={"model": "large", "healthy": True})
    for device, version in ((small, "1.0.0"), (large, "2.0.0")):
        device["attributes"]["version"] = {"version": version}
    slices, wanted = [a_slice("a", small, large)], None if expected is None else [[expected]]

    assert wanted == given(slices, a_claim("c", exactly("r", "gpu", selector)))
    assert wanted == given(slices, a_claim(), classes=[a_class("gpu", selector)])


def test_a_selector_that_fails_ends_the_attempt() -> None:
    """Whose it is, and which of them, is told: nobody is to wonder why no device is good enough."""
    slices = [a_slice("a", *TWO)]
    nothing = 'device.attributes["gpu.example.com"].model == "large"'

    with pytest.raises(SelectorFailed, match=r"^claim default/c: selector #0: CEL runtime error: no such key: model$"):
        given(slices, a_claim("c", exactly("r", "gpu", nothing)))
    with pytest.raises(SelectorFailed, match=r"^class gpu: selector #1: CEL compile error: compilation failed: "):
        given(slices, a_claim(), classes=[a_class("gpu", "true", "device.nothing")])


def test_constraints_are_searched_for() -> None:
    """The first device is not always the right one: what does not go together is taken back."""
    devices = [a_device(f"g{i}", attributes={"numa": numa, "kind": kind}) for i, (numa, kind) in enumerate(PLACES)]
    slices = [a_slice("a", *devices)]
    is_gpu, is_nic = (f'device.attributes["{DRIVER}"].kind == "{kind}"' for kind in ("gpu", "nic"))
    requests = (exactly("gpu", "gpu", is_gpu), exactly("nic", "gpu", is_nic))
    together = [{"matchAttribute": f"{DRIVER}/numa"}]

    assert [["g0", "g2"]] == given(slices, a_claim("c", *requests))
    assert [["g1", "g2"]] == given(slices, a_claim("c", *requests, constraints=together))
    assert given(slices, a_claim("c", exactly(count=3), constraints=together)) is None


PLACES = ((0, "gpu"), (1, "gpu"), (1, "nic"))


def test_distinct_attributes_differ() -> None:
    """From every other device; one that has no such attribute is none of them."""
    devices = [a_device(f"g{i}", attributes={"card": card}) for i, card in enumerate(("x", "x", "y"))]
    apart = [{"requests": ["r"], "distinctAttribute": f"{DRIVER}/card"}]
    slices = [a_slice("a", a_device("bare"), *devices)]

    assert [["g0", "g2"]] == given(slices, a_claim("c", exactly(count=2), constraints=apart))
    assert given(slices, a_claim("c", exactly(count=3), constraints=apart)) is None


def test_the_first_alternative_that_works_is_taken() -> None:
    """And the result says which; constraints may name one of them."""
    wanted = first_available("r", exactly("many", count=3), exactly("two", count=2), exactly("one"))
    slices = [a_slice("a", *TWO)]

    assert [["gpu-0", "gpu-1"]] == given(slices, a_claim("c", wanted))
    assert ["r/two"] * 2 == [one["request"] for one in allocation(slices, a_claim("c", wanted))["devices"]["results"]]
    assert [["gpu-0"], ["gpu-1"]] == given(slices, a_claim("c", wanted), a_claim("d"))
    impossible = [{"requests": ["r/two"], "matchAttribute": f"{DRIVER}/numa"}]
    assert [["gpu-0"]] == given(slices, a_claim("c", wanted, constraints=impossible))


def test_all_means_all() -> None:
    """Every device that is meant, at least one; where one of them is taken, nothing is given."""
    slices = [a_slice("a", *TWO, a_device("gpu-2"))]
    others = [allocated(a_claim("d"), "gpu-1")]

    assert [["gpu-0", "gpu-1", "gpu-2"]] == given(slices, a_claim("c", every()))
    assert given(slices, a_claim("c", every()), taken=others) is None
    assert given([], a_claim("c", every())) is None
    apart = [{"matchAttribute": f"{DRIVER}/numa"}]
    with pytest.raises(AllocationFailed, match=r"cannot add device .*/a/gpu-0 because a claim constraint would not be"):
        given(slices, a_claim("c", every(), constraints=apart))


def test_who_administers_devices_takes_nothing() -> None:
    """They may be in use, and stay free for others; one claim has each of them once."""
    slices = [a_slice("a", *TWO)]
    looking = a_claim("c", exactly(count=2, adminAccess=True))
    found = allocation(slices, looking, taken=[allocated(a_claim("d"), "gpu-0")])

    assert [True, True] == [one["adminAccess"] for one in found["devices"]["results"]]
    assert [["gpu-0"]] == given(slices, a_claim("d"), taken=[{**looking, "status": {"allocation": found}}])
    assert given(slices, a_claim("c", exactly(count=3, adminAccess=True))) is None


def test_tainted_devices_are_for_those_who_tolerate_it() -> None:
    """Taints that only inform keep nobody away; what was tolerated stands in the result."""

    def tainted(effect: str) -> Object:
        return a_device("bad", taints=[{"key": "example.com/broken", "value": "x", "effect": effect}])

    tolerant = {"key": "example.com/broken", "operator": "Exists"}

    for effect in ("NoSchedule", "NoExecute"):
        assert [["gpu-0"]] == given([a_slice("a", tainted(effect), *TWO)], a_claim())
    assert [["bad"]] == given([a_slice("a", tainted("None"))], a_claim())
    claim = a_claim("c", exactly(tolerations=[tolerant]))
    (result,) = allocation([a_slice("a", tainted("NoSchedule"))], claim)["devices"]["results"]
    assert ("bad", [tolerant]) == (result["device"], result["tolerations"])


def test_partitions_take_from_one_card() -> None:
    """What whole and half of a card consume is counted together, also what others have of it."""

    def consuming(name: str, amount: str) -> Object:
        counters = {"memory": {"value": amount}}
        return a_device(name, consumesCounters=[{"counterSet": "card", "counters": counters}])

    of = {"resourceSliceCount": 2}
    stock = [{"name": "card", "counters": {"memory": {"value": "40Gi"}}}]
    devices = [consuming("whole", "40Gi"), consuming("half-0", "20Gi"), consuming("half-1", "20Gi")]
    slices = [a_slice("a", *devices, name="x", of=of), a_slice("a", name="y", of=of, sharedCounters=stock)]

    assert [["whole"]] == given(slices, a_claim())
    assert [["half-0", "half-1"]] == given(slices, a_claim("c", exactly(count=2)))
    assert given(slices, a_claim("c", exactly(count=3))) is None
    assert [["half-1"]] == given(slices, a_claim(), taken=[allocated(a_claim("d"), "half-0")])
    assert given(slices, a_claim(), taken=[allocated(a_claim("d"), "whole")]) is None


def test_counters_that_are_not_there_spoil_their_pool() -> None:
    """A device that consumes what no slice of its pool has makes the pool invalid."""
    device = a_device("x", consumesCounters=[{"counterSet": "card", "counters": {"memory": {"value": "1"}}}])

    with pytest.raises(FailedOnNode):
        given([a_slice("a", device)], a_claim())


def a_share(amount: str) -> Object:
    return exactly(capacity={"requests": {"memory": amount}})


def test_capacity_is_shared_until_it_is_used_up() -> None:
    """Of a device that several may use: each takes what it asks for, rounded up as the device wants it."""
    policy = {"default": "4Gi", "validRange": {"min": "2Gi", "step": "2Gi", "max": "8Gi"}}
    capacity = {"memory": {"value": "10Gi", "requestPolicy": policy}}
    slices = [a_slice("a", a_device("nic", allowMultipleAllocations=True, capacity=capacity))]
    three = a_claim("c", a_share("3Gi"))
    (result,) = allocation(slices, three)["devices"]["results"]

    assert ("share-1", {"memory": "4Gi"}) == (result["shareID"], result["consumedCapacity"])
    taken = {**a_claim("d"), "status": {"allocation": {"devices": {"results": [result]}}}}
    assert [["nic"]] == given(slices, a_claim("c", a_share("6Gi")), taken=[taken])
    assert given(slices, a_claim("c", a_share("8Gi")), taken=[taken]) is None
    assert given(slices, a_claim("c", a_share("9Gi"))) is None
    assert given(slices, three, a_claim("d"), a_claim("e")) is None
    assert given(slices, a_claim("c", exactly(capacity={"requests": {"cores": "1"}}))) is None


def test_a_claim_has_so_many_devices_at_most() -> None:
    """Too many are an error; an alternative that wants fewer is taken instead."""
    slices = [a_slice("a", *(a_device(f"g{i}") for i in range(40)))]

    with pytest.raises(AllocationFailed, match="number of requested devices 33 exceeds the claim limit of 32"):
        given(slices, a_claim("c", exactly(count=33)))
    wanted = first_available("s", exactly("many", count=20), exactly("few"))
    found = given(slices, a_claim("c", exactly("r", count=20), wanted))
    assert found is not None
    assert [21] == list(map(len, found))


def test_a_search_without_end_is_given_up() -> None:
    """Twenty devices of which no two go together: it is not tried in all the ways there are."""
    devices = [a_device(f"g{i}", attributes={"numa": 0, "id": i}) for i in range(20)]
    constraints = [{"matchAttribute": f"{DRIVER}/numa"}, {"requests": ["s"], "matchAttribute": f"{DRIVER}/none"}]
    claim = a_claim("c", exactly("r", count=8), exactly("s"), constraints=constraints)

    with pytest.raises(TookTooLong):
        given([a_slice("a", *devices)], claim)
    assert given([a_slice("a", *devices[:9])], claim, most_steps=0) is None


def test_parameters_go_to_the_drivers() -> None:
    """Those of a class once for all its requests, and those of the claim for what was chosen."""

    def parameters(value: int) -> Object:
        return {"opaque": {"driver": DRIVER, "parameters": {"x": value}}}

    requests = (exactly("r"), first_available("s", exactly("many", count=9), exactly("one")))
    config = [parameters(2), {"requests": ["s/one"], **parameters(3)}, {"requests": ["s/many"], **parameters(4)}]
    claim = a_claim("c", *requests, config=config)

    found = allocation([a_slice("a", *TWO)], claim, classes=[a_class(config=[parameters(1)])])

    expected = [
        {"source": "FromClass", "requests": ["r", "s/one"], **parameters(1)},
        {"source": "FromClaim", **parameters(2)},
        {"source": "FromClaim", "requests": ["s/one"], **parameters(3)},
    ]
    assert expected == found["devices"]["config"]


def test_what_has_to_be_made_ready_comes_last() -> None:
    """Devices with binding conditions, which the result repeats, are for those who find no other."""
    conditions = {"bindingConditions": ["attached"], "bindingFailureConditions": ["failed"]}
    slices = [a_slice("a", a_device("slow", **conditions), pool="a"), a_slice("a", a_device("quick"), pool="b")]

    assert [["quick", "slow"]] == given(slices, a_claim("c", exactly(count=2)))
    (result,) = allocation(slices[:1], a_claim())["devices"]["results"]
    assert conditions == {name: result[name] for name in conditions}
