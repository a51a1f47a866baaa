"""node-ipam-controller: gives every node a block of the cluster's pod addresses, one for each address family.

spec.podCIDRs never changes once it is set, so it is written only where it is empty. What is taken is read off the nodes
themselves, which is why a restart gives out nothing twice; a block that came free is used again only after all others
have had their turn. pkg/controller/nodeipam/ipam (range allocator), v1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network

import structlog

from kubeloop.apimachinery.addresses import parse_cidr
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, is_being_deleted
from kubeloop.apimachinery.resource import NODES
from kubeloop.client.api import STRATEGIC, Api
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For

log = structlog.get_logger(__name__)

Network = IPv4Network | IPv6Network

DEFAULT_CLUSTER_CIDR = "10.244.0.0/16"
_BLOCK_PREFIXES = {4: 24, 6: 64}
_MAX_BLOCK_BITS = 16
_TAKEN = "pod-block"
_WORKERS = 30  # cidrUpdateWorkers of upstream


def add_to(manager: Manager, cluster_cidr: str = DEFAULT_CLUSTER_CIDR) -> None:
    ranges = [Range(network) for network in parse_ranges(cluster_cidr)]
    nodes = manager.informer(NODES)
    nodes.add_index(_TAKEN, lambda node: taken_blocks(node, ranges))
    reconciler = NodeIpamReconciler(manager.api, nodes, ranges, manager.event_recorder("cidrAllocator"))
    manager.add(Controller("cidrallocator_node", reconciler, [For(nodes)], workers=_WORKERS))


def parse_ranges(cluster_cidr: str) -> list[Network]:
    """The networks of --cluster-cidr: one, or one of each family; ValueError says what is wrong with them."""
    networks: list[Network] = []
    for text in cluster_cidr.split(","):
        network = parse_cidr(text)
        if network is None:
            raise ValueError(f"--cluster-cidr: {text!r} is no network: write it as {DEFAULT_CLUSTER_CIDR}")
        prefix = _BLOCK_PREFIXES[network.version]
        if not 0 <= prefix - network.prefixlen <= _MAX_BLOCK_BITS:
            fewest = prefix - _MAX_BLOCK_BITS
            raise ValueError(
                f"--cluster-cidr: {network} cannot be cut into /{prefix} blocks: use /{fewest} to /{prefix}"
            )
        networks.append(network)
    if len({network.version for network in networks}) != len(networks):
        raise ValueError(f"--cluster-cidr: {cluster_cidr!r} names a family twice: give one network, or one of each")
    return networks


class NoBlockLeft(Exception):
    """As many nodes as there are blocks."""

    def __init__(self) -> None:
        super().__init__("CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range")


class Range:
    """One of the cluster's networks, cut into blocks."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._shift = network.max_prefixlen - _BLOCK_PREFIXES[network.version]
        self._size = network.num_addresses >> self._shift
        self._next = 0
        self._spelled: dict[int, str] = {}  # the blocks looked at so far: networks are slow to make

    def take(self, is_taken: Callable[[str], bool]) -> str:
        """The next block after the one given out last that is free."""
        for i in range(self._size):
            number = (self._next + i) % self._size
            block = self._block(number)
            if not is_taken(block):
                self._next = (number + 1) % self._size
                return block
        raise NoBlockLeft

    def blocks_in(self, network: Network) -> Iterable[str]:
        """The blocks that share addresses with `network`."""
        if network.version != self.network.version or not self._overlaps(network):
            return ()
        first = max(self._number(network, 0), 0)
        last = min(self._number(network, -1), self._size - 1)
        return (self._block(number) for number in range(first, last + 1))

    def _overlaps(self, network: Network) -> bool:
        return int(network[0]) <= int(self.network[-1]) and int(self.network[0]) <= int(network[-1])

    def _number(self, network: Network, end: int) -> int:
        return (int(network[end]) - int(self.network[0])) >> self._shift

    def _block(self, number: int) -> str:
        block = self._spelled.get(number)
        if block is None:
            address = int(self.network[0]) + (number << self._shift)
            block = self._spelled[number] = str(type(self.network)((address, _BLOCK_PREFIXES[self.network.version])))
        return block


def taken_blocks(node: ReadOnlyObject, ranges: Sequence[Range]) -> list[str]:
    """The blocks that a node has in use, whoever gave them to it."""
    parsed = (parse_cidr(text) for text in _pod_cidrs(node))
    networks = [network for network in parsed if network is not None]
    return [block for network in networks for one in ranges for block in one.blocks_in(network)]


def _pod_cidrs(node: ReadOnlyObject) -> Sequence[str]:
    return (node.get("spec") or {}).get("podCIDRs") or ()


class NodeIpamReconciler:
    """Many workers may write, but blocks are chosen and noted in one go: no two nodes get the same."""

    def __init__(self, api: Api, nodes: Informer, ranges: Sequence[Range], recorder: EventRecorder) -> None:
        self._api, self._nodes, self._ranges, self._recorder = api, nodes, ranges, recorder
        # Chosen and not yet seen in the cache, by node: also after a write whose answer was lost, which is then
        # repeated with the same blocks.
        self._given: dict[str, list[str]] = {}
        self._given_blocks: set[str] = set()  # all of those: thousands, while thousands of nodes come
        self._is_full = False  # found out once, not by every node that waits; until a block comes free
        nodes.add_handler(self._on_change)

    async def reconcile(self, key: ObjectKey) -> Result:
        node = self._nodes.get(key)
        if node is None or _pod_cidrs(node):
            blocks = self._given.pop(key.name, None)
            if blocks is not None:
                self._given_blocks.difference_update(blocks)
                self._is_full = False
            return DONE
        if not is_being_deleted(node):
            await self._assign(node, key.name)
        return DONE

    async def _assign(self, node: ReadOnlyObject, name: str) -> None:
        try:
            blocks = self._given.get(name) or self._free_blocks()
            self._given[name] = blocks
            self._given_blocks.update(blocks)
        except NoBlockLeft as error:
            await self._tell(node, name, "CIDRNotAvailable")
            raise ApiError(f"failed to allocate cidr from cluster cidr: {error}") from error
        try:
            patch = {"spec": {"podCIDR": blocks[0], "podCIDRs": blocks}}
            await self._api.patch(NODES, name, patch, patch_type=STRATEGIC)
        except NotFound:
            return  # deleted meanwhile
        except ApiError:
            await self._tell(node, name, "CIDRAssignmentFailed")
            raise
        log.info("pod addresses assigned", node=name, blocks=blocks)

    def _on_change(self, delta: Delta) -> None:
        old, new = delta
        if old is not None and _pod_cidrs(old) and (new is None or _pod_cidrs(new) != _pod_cidrs(old)):
            self._is_full = False

    def _free_blocks(self) -> list[str]:
        if self._is_full:
            raise NoBlockLeft

        def is_taken(block: str) -> bool:
            return block in self._given_blocks or bool(self._nodes.by_index(_TAKEN, block))

        try:
            return [one.take(is_taken) for one in self._ranges]
        except NoBlockLeft:
            self._is_full = True
            raise

    async def _tell(self, node: ReadOnlyObject, name: str, reason: str) -> None:
        await self._recorder.event(node, "Normal", reason, f"Node {name} status is now: {reason}")
