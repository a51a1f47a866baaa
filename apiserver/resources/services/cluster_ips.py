"""Cluster IPs: chosen from the ready ServiceCIDRs, and taken by creating the IPAddress of that name.

So it is the storage that gives an address out once, however many servers there are, and whoever wants to know what is
taken lists IPAddresses. pkg/registry/core/service/ipallocator, v1.36. An address costs one write; finding a free one
costs a look at the cache for each that is taken, beginning at a random place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.registry.cluster import Cluster
from apiserver.resources.checks import NO_FIELDS, NO_ITEMS
from kubeloop.apimachinery import addresses, field
from kubeloop.apimachinery.addresses import Address
from kubeloop.apimachinery.errors import AlreadyExists, ApiError, InternalError, Invalid
from kubeloop.apimachinery.meta import Object, is_being_deleted, name_of, namespace_of
from kubeloop.apimachinery.service_addresses import (
    FAMILY_LABEL,
    MANAGED_BY_LABEL,
    MANAGER,
    AddressRange,
    family_of,
    is_ready,
    ranges_of,
)

Json = Mapping[str, Any]

GROUP = "networking.k8s.io"
SERVICE_CIDRS, IP_ADDRESSES = f"servicecidrs.{GROUP}", f"ipaddresses.{GROUP}"

ALREADY_ALLOCATED = "provided IP is already allocated"
WRONG_NETWORK = "the provided network does not match the current range"


def configured_families(cluster: Cluster) -> tuple[str, ...]:
    """The IP families of this cluster, its default one first."""
    return tuple(family_of(cidr.partition("/")[0]) for cidr in cluster.service_ranges)


def is_within_any_range(cluster: Cluster, address: Address) -> bool:
    """Whether some ServiceCIDR has it, be it one that gives out nothing any more."""
    return any(found.holds(address) for obj in cluster.reader.list(SERVICE_CIDRS) for found in ranges_of(obj))


async def take(cluster: Cluster, service: Json, wanted: str, *, dry_run: bool) -> None:
    """Take the address a Service asks for; Invalid where that cannot be."""
    address = addresses.parse_ip(wanted)
    ranges = _ready_ranges(cluster, family_of(wanted))
    if not any(address is not None and found.holds(address) for found in ranges):
        raise _invalid(service, f" {wanted}", _not_in_range(wanted, ranges) if dry_run else WRONG_NETWORK)
    if dry_run:
        return
    try:
        await cluster.create(GROUP, "IPAddress", ip_address_object(str(address), service))
    except AlreadyExists:
        raise _invalid(service, f" {wanted}", ALREADY_ALLOCATED) from None
    except ApiError as error:
        raise _invalid(service, f" {wanted}", error.message) from error


async def take_any(cluster: Cluster, service: Json, family: str, *, dry_run: bool) -> str:
    """Take a free address. A dry run is shown the network's own one, which nobody has."""
    ranges = _ready_ranges(cluster, family)
    if dry_run and ranges:
        return str(ranges[0].network.network_address)
    for found in ranges:
        for candidate in found.candidates(cluster.rng):
            if cluster.reader.get(IP_ADDRESSES, "", candidate) is not None:
                continue
            try:
                await cluster.create(GROUP, "IPAddress", ip_address_object(candidate, service))
            except AlreadyExists:
                continue  # another write was faster
            except ApiError as error:
                raise _invalid(service, "", error.message) from error
            return candidate
    name = field.go_quote(name_of(service))
    raise InternalError.because(f"failed to allocate a serviceIP for Service {name}: range is full")


async def give_back(cluster: Cluster, service: Json, ip: str) -> None:
    """Free the address, unless it came to belong to somebody else."""
    address = addresses.parse_ip(ip)
    if address is None:
        return
    await cluster.fresh()
    found = cluster.reader.get(IP_ADDRESSES, "", str(address))
    if found is not None and belongs_to(found, service):
        await cluster.delete(GROUP, "IPAddress", "", str(address))


def ip_address_object(name: str, service: Json) -> Object:
    """The IPAddress that says who has an address."""
    parent = {"group": "", "resource": "services", "namespace": namespace_of(service), "name": name_of(service)}
    return {
        "metadata": {"name": name, "labels": {FAMILY_LABEL: family_of(name), MANAGED_BY_LABEL: MANAGER}},
        "spec": {"parentRef": {key: value for key, value in parent.items() if value}},
    }


def parent_of(ip_address: Json) -> Json:
    parent: Json = (ip_address.get("spec") or NO_FIELDS).get("parentRef") or NO_FIELDS
    return parent


def is_of_a_service(ip_address: Json) -> bool:
    parent = parent_of(ip_address)
    return not parent.get("group") and parent.get("resource") == "services"


def belongs_to(ip_address: Json, service: Json) -> bool:
    parent = parent_of(ip_address)
    owner = (parent.get("namespace", ""), parent.get("name"))
    return is_of_a_service(ip_address) and owner == (namespace_of(service), name_of(service))


def _ready_ranges(cluster: Cluster, family: str) -> list[AddressRange]:
    return [
        found
        for obj in cluster.reader.list(SERVICE_CIDRS)
        if is_ready(obj) and not is_being_deleted(obj)
        for found in ranges_of(obj)
        if f"IPv{found.network.version}" == family
    ]


def _not_in_range(wanted: str, ranges: Sequence[AddressRange]) -> str:
    valid = f"The range of valid IPs is {ranges[0].network if ranges else ''}"
    return f"the provided IP ({wanted}) is not in the valid range. {valid}"


def _invalid(service: Json, which: str, reason: str) -> Invalid:
    value = list(service["spec"].get("clusterIPs") or NO_ITEMS)
    error = field.invalid("spec.clusterIPs", value, f"failed to allocate IP{which}: {reason}")
    return Invalid.of("Service", "", name_of(service), [error])
