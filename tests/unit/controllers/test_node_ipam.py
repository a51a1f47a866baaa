"""Who gets which pod addresses."""

from typing import Any

import pytest

from controllers import node_ipam
from controllers.node_ipam import NoBlockLeft, Range, parse_ranges, taken_blocks
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import EVENTS, NODES
from kubeloop.runtime.manager import Manager
from kubeloop.testing.builders import a_node
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster

LOOPS = {"ipam": a_loop(node_ipam.add_to)}


def a_range(cidr: str) -> Range:
    (network,) = parse_ranges(cidr)
    return Range(network)


async def blocks(cluster: Cluster) -> dict[str, Any]:
    await cluster.settled()
    return {name_of(node): node["spec"].get("podCIDRs") for node in await cluster.list(NODES)}


@pytest.mark.parametrize(
    ("cidr", "first", "second"),
    [
        ("10.244.0.0/16", "10.244.0.0/24", "10.244.1.0/24"),
        ("10.0.254.0/23", "10.0.254.0/24", "10.0.255.0/24"),
        ("fd00:1::/48", "fd00:1::/64", "fd00:1:0:1::/64"),
    ],
)
def test_blocks_follow_each_other(cidr: str, first: str, second: str) -> None:
    """/24 of an IPv4 network, /64 of an IPv6 one, in order."""
    blocks = a_range(cidr)

    assert [first, second] == [blocks.take(lambda _: False) for _ in range(2)]


def test_a_free_block_waits_for_its_turn() -> None:
    """What was given out last comes back last, and taken ones are passed over until none is left."""
    blocks, taken = a_range("10.0.0.0/22"), {"10.0.1.0/24"}

    given = [blocks.take(taken.__contains__) for _ in range(4)]

    assert ["10.0.0.0/24", "10.0.2.0/24", "10.0.3.0/24", "10.0.0.0/24"] == given
    with pytest.raises(NoBlockLeft, match="no remaining CIDRs"):
        blocks.take(lambda _: True)


@pytest.mark.parametrize(
    ("cidrs", "expected"),
    [
        (["10.0.1.0/24"], ["10.0.1.0/24"]),
        (["10.0.1.128/25"], ["10.0.1.0/24"]),
        (["10.0.2.0/23"], ["10.0.2.0/24", "10.0.3.0/24"]),
        (["10.0.0.0/8"], [f"10.0.{i}.0/24" for i in range(4)]),
        (["10.0.4.0/24", "fd00::/64", "nonsense"], []),
        (None, []),
    ],
)
def test_whatever_a_node_has_is_taken(cidrs: list[str] | None, expected: list[str]) -> None:
    """Blocks of other sizes take all that they touch; addresses outside the cluster's take none."""
    node = {"spec": {"podCIDRs": cidrs}}

    assert expected == taken_blocks(node, [a_range("10.0.0.0/22")])


@pytest.mark.parametrize(
    ("cidr", "why"),
    [
        ("x", "'x' is no network"),
        ("10.0.0.0/25", "cannot be cut into /24 blocks"),
        ("10.0.0.0/7", "use /8 to /24"),
        ("10.0.0.0/16,10.1.0.0/16", "names a family twice"),
    ],
)
def test_bad_ranges_are_refused(cidr: str, why: str) -> None:
    """The message says what would be right."""
    with pytest.raises(ValueError, match=why):
        parse_ranges(cidr)


def test_no_block_is_given_twice() -> None:
    """Each node has its own, in the order they came; one that brought a block keeps it; a restart changes nothing."""

    async def check(cluster: Cluster) -> dict[str, Any]:
        own = a_node("own")
        own["spec"]["podCIDRs"] = ["10.244.1.0/24"]
        await cluster.create(own)
        for name in ("a", "b"):
            await cluster.create(a_node(name))
        await cluster.settled()
        await cluster.stop("ipam")
        await cluster.delete(a_node("a"))
        for name in ("c", "d"):
            await cluster.create(a_node(name))
        cluster.start("ipam")
        return await blocks(cluster)

    expected = {"own": ["10.244.1.0/24"], "b": ["10.244.2.0/24"], "c": ["10.244.0.0/24"], "d": ["10.244.3.0/24"]}
    assert expected == run_cluster(check, processes=LOOPS)


def test_many_nodes_at_once() -> None:
    """Hundreds that come together, written by many workers, get a block each, and none is left out between them."""
    count = 200

    async def check(cluster: Cluster) -> dict[str, Any]:
        for number in range(count):
            await cluster.create(a_node(f"node-{number}"))
        return await blocks(cluster)

    found = run_cluster(check, processes=LOOPS)

    assert {f"10.244.{i}.0/24" for i in range(count)} == {block for (block,) in found.values()}


def test_more_nodes_than_blocks() -> None:
    """The one too many is told so, and gets the block of a node that goes."""

    def add_small(manager: Manager) -> None:
        node_ipam.add_to(manager, "10.0.0.0/24,fd00::/64")

    async def check(cluster: Cluster) -> tuple[dict[str, Any], list[Object], dict[str, Any]]:
        await cluster.create(a_node("first"))
        await cluster.create(a_node("second"))
        before = await blocks(cluster)
        events = await cluster.list(EVENTS)
        await cluster.delete(a_node("first"))
        await cluster.eventually(lambda: is_served(cluster), within_seconds=600)
        return before, events, await blocks(cluster)

    async def is_served(cluster: Cluster) -> bool:
        return bool((await cluster.read(a_node("second")))["spec"].get("podCIDR"))

    before, events, after = run_cluster(check, processes={"ipam": a_loop(add_small)})

    both = ["10.0.0.0/24", "fd00::/64"]
    assert {"first": both, "second": None} == before
    assert {"second": both} == after
    assert {("CIDRNotAvailable", "Node second status is now: CIDRNotAvailable")} == {
        (event["reason"], event["message"]) for event in events
    }
