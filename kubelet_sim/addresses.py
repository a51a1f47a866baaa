"""Pod addresses: each node has a block, each pod of the process its own address from its node's block.

Addresses of pods that existed before are claimed from their statuses. A block that is used up gives out nothing; the
pod limit of a node is far below that.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from functools import lru_cache

from kubelet_sim.settings import Settings

_FIRST_HOST = 2  # .0 is the network, .1 the bridge
_POD_BLOCK_BITS = 8


class Exhausted(Exception):
    """A node has no pod address left."""


class PodAddresses:
    def __init__(self, settings: Settings) -> None:
        self._network = ipaddress.ip_network(settings.pod_cidr)
        self._block_bits = max(_POD_BLOCK_BITS, (settings.node_pods + _FIRST_HOST).bit_length())
        self._owners: dict[str, str] = {}  # address -> pod uid
        self._by_uid: dict[str, str] = {}
        self._next: dict[str, int] = {}  # block -> where to look first: addresses are not used again at once

    def block(self, index: int) -> str:
        """The block of the node number `index`, where nobody assigned it one."""
        first = int(self._network.network_address) + (index << self._block_bits)
        return f"{ipaddress.ip_address(first)}/{self._network.max_prefixlen - self._block_bits}"

    def claim(self, uid: str, address: str) -> None:
        """A pod has this address already."""
        self._owners[address] = uid
        self._by_uid[uid] = address

    def allocate(self, uid: str, block: str) -> str:
        """The pod's address; the same one if it is asked for again."""
        if uid in self._by_uid:
            return self._by_uid[uid]
        for address in self._candidates(block):
            if address not in self._owners:
                self.claim(uid, address)
                return address
        raise Exhausted(f"no address is left in {block}")

    def release(self, uid: str) -> None:
        address = self._by_uid.pop(uid, None)
        if address is not None:
            del self._owners[address]

    def _candidates(self, block: str) -> Iterator[str]:
        network = _network(block)
        hosts = network.num_addresses - _FIRST_HOST - 1
        start = self._next.get(block, 0)
        for i in range(hosts):
            offset = (start + i) % hosts
            self._next[block] = offset + 1
            yield str(network[offset + _FIRST_HOST])


@lru_cache(maxsize=8192)  # a block a node; full: the least recent is read again
def _network(block: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(block)


def node_address(settings: Settings, index: int) -> str:
    """The InternalIP of the node number `index`."""
    return str(ipaddress.ip_network(settings.node_cidr)[index + _FIRST_HOST])
