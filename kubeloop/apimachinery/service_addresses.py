"""What the API server and the service-cidr-controller both know of the addresses of Services.

An IPAddress is named as the address and labelled by whom it was given out; ServiceCIDRs say which addresses there are.
pkg/api/servicecidr and pkg/registry/core/service/ipallocator, v1.36.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from ipaddress import ip_address
from typing import Any

from kubeloop.apimachinery.addresses import Address, Network, parse_cidr, parse_ip
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.meta import labels_of

Json = Mapping[str, Any]

SERVICE_RANGE = "10.96.0.0/16"  # where nothing else is said
READY = "Ready"  # the condition of a ServiceCIDR
FAMILY_LABEL, MANAGED_BY_LABEL = "ipaddress.kubernetes.io/ip-family", "ipaddress.kubernetes.io/managed-by"
MANAGER = "ipallocator.k8s.io"

# The lower part of a range is left to those who ask for a certain address: a sixteenth of it, within these bounds.
_FEWEST_STATIC, _MOST_STATIC, _STATIC_PART = 16, 256, 16


@dataclass(frozen=True)
class AddressRange:
    """What can be given out of one CIDR: not the network's own address, nor the last one of IPv4 (broadcast)."""

    network: Network

    @property
    def first(self) -> int:
        return int(self.network.network_address) + 1

    @cached_property
    def last(self) -> int:
        return int(self.network.broadcast_address) - (1 if self.network.version == 4 else 0)

    @cached_property
    def first_dynamic(self) -> int:
        size = self.network.num_addresses
        if size < _FEWEST_STATIC:
            return self.first
        return self.first + min(max(size // _STATIC_PART, _FEWEST_STATIC), _MOST_STATIC)

    def holds(self, address: Address) -> bool:
        return address.version == self.network.version and self.first <= int(address) <= self.last

    def candidates(self, rng: random.Random) -> Iterator[str]:
        """Every address once, the dynamic part first, each part from a random place on."""
        for first, last in ((self.first_dynamic, self.last), (self.first, self.first_dynamic - 1)):
            if last < first:
                continue
            start = rng.randint(first, last)
            for numbers in (range(start, last + 1), range(first, start)):
                yield from (str(_address(number, self.network.version)) for number in numbers)


@lru_cache(maxsize=1024)
def address_range(cidr: str) -> AddressRange | None:
    """None where `cidr` is no network."""
    network = parse_cidr(cidr)
    return AddressRange(network) if network is not None else None


def family_of(ip: str) -> str:
    """IPv4, IPv6, or "unknown" where `ip` is no address."""
    address = parse_ip(ip)
    return "unknown" if address is None else f"IPv{address.version}"


def ranges_of(service_cidr: Json) -> list[AddressRange]:
    cidrs: Sequence[str] = (service_cidr.get("spec") or {}).get("cidrs") or ()
    return [found for cidr in cidrs if (found := address_range(cidr)) is not None]


def is_ready(service_cidr: Json) -> bool:
    """Before anybody judged a range it counts as ready: a cluster without loops has addresses too."""
    condition = get_condition(conditions_of(service_cidr), READY)
    return condition is None or condition.get("status") == "True"


def is_managed(ip_address: Json) -> bool:
    return labels_of(ip_address).get(MANAGED_BY_LABEL) == MANAGER


def _address(number: int, version: int) -> Address:
    return ip_address(number.to_bytes(4 if version == 4 else 16))
