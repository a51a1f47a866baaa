"""What a Service is given before it is stored: IP families, cluster IPs and node ports.

`ServiceAllocator.allocate` runs before the Service is validated, as upstream does, and must therefore expect any
values. pkg/registry/core/service/storage/alloc.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from apiserver.registry.cluster import NOTHING, Allocation, Cluster
from apiserver.resources.checks import NO_ITEMS
from apiserver.resources.services import cluster_ips, facts
from apiserver.resources.services.ip_families import settle_ip_families
from apiserver.resources.services.node_ports import PortAllocator, needs_ports
from apiserver.storage.interface import StorageError
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

log = structlog.get_logger("apiserver")


@dataclass(frozen=True, slots=True)
class Given:
    """What one write of a Service took and what it gives up."""

    cluster: Cluster
    service: Json
    taken: Sequence[str]  # cluster IPs
    given_up: Sequence[str]
    release_ports: Callable[[], None]

    async def commit(self) -> None:
        self.release_ports()
        await give_back(self.cluster, self.service, self.given_up)

    async def revert(self) -> None:
        self.release_ports()
        await give_back(self.cluster, self.service, self.taken)


class ServiceAllocator:
    """Fills in what a Service needs, and says what becomes of it when the write has ended."""

    def __init__(self, ports: PortAllocator) -> None:
        self._ports = ports

    async def allocate(self, new: Object, old: Json | None, cluster: Cluster, dry_run: bool) -> Allocation:
        """Raises Invalid where a wish cannot be met. A dry run takes nothing."""
        _bring_into_line(new, old)
        settle_ip_families(new, old, cluster_ips.configured_families(cluster))
        given_up = [] if dry_run else _given_up(new, old)
        taken: list[str] = []
        try:
            await _take_addresses(new, _missing(new, old), cluster, taken, dry_run=dry_run)
            release_ports = await self._take_ports(new, old, cluster, dry_run)
        except BaseException:
            await give_back(cluster, new, taken)
            raise
        if not taken and not given_up and release_ports is None:
            return NOTHING
        return Given(cluster, new, taken, given_up, release_ports or _nothing)

    async def _take_ports(
        self, new: Object, old: Json | None, cluster: Cluster, dry_run: bool
    ) -> Callable[[], None] | None:
        if not needs_ports(new, old):
            return None
        await cluster.fresh()  # what was reserved may be stored by now, and has to be seen there
        return self._ports.allocate(new, old, cluster.reader.list("services"), dry_run)


async def give_back(cluster: Cluster, service: Json, ips: Sequence[str]) -> None:
    """Free addresses. What fails is left to the repair, which finds them without a Service."""
    for ip in ips:
        try:
            await cluster_ips.give_back(cluster, service, ip)
        except (ApiError, StorageError) as error:
            log.warning("a cluster IP is left behind", address=ip, error=str(error))


async def _take_addresses(
    service: Object, places: Sequence[int], cluster: Cluster, taken: list[str], *, dry_run: bool
) -> None:
    """Take an address for each of these places in `clusterIPs`, noting in `taken` what was got so far."""
    spec = service["spec"]
    for place in places:
        family, ips = spec["ipFamilies"][place], list(spec.get("clusterIPs") or NO_ITEMS)
        wanted = ips[place] if place < len(ips) else ""
        if wanted:
            await cluster_ips.take(cluster, service, wanted, dry_run=dry_run)
        else:
            wanted = await cluster_ips.take_any(cluster, service, family, dry_run=dry_run)
        if not dry_run:
            taken.append(wanted)
        spec["clusterIPs"] = [*ips[:place], wanted, *ips[place + 1 :]]
        if place == 0:
            spec["clusterIP"] = wanted


def _missing(new: Json, old: Json | None) -> range:
    """The places in `clusterIPs` for which there is no address yet, by the families that are settled."""
    spec, before = facts.spec_of(new), facts.spec_of(old or {})
    count = len(spec.get("ipFamilies") or NO_ITEMS)
    if not facts.needs_cluster_ip(spec) or facts.is_headless(spec):
        return range(0)
    if old is None or not facts.needs_cluster_ip(before):
        return range(count)
    was_single = len(before.get("ipFamilies") or NO_ITEMS) == 1
    return range(1, 2) if was_single and count == 2 and not facts.is_headless(before) else range(0)


def _given_up(new: Json, old: Json | None) -> Sequence[str]:
    """The addresses that end with this change: all of them with the type, the second one with its family."""
    spec, before = facts.spec_of(new), facts.spec_of(old or {})
    held = facts.addresses_of(before)
    if not facts.needs_cluster_ip(spec):
        return held
    is_reduced = len(spec.get("ipFamilies") or NO_ITEMS) == 1 and len(before.get("ipFamilies") or NO_ITEMS) == 2
    return held[1:] if is_reduced else ()


def _nothing() -> None:
    """Where no ports are reserved."""


def _bring_into_line(new: Object, old: Json | None) -> None:
    """What a client left out of an update stays as it was; `clusterIP` and `clusterIPs` say the same."""
    spec = new["spec"]
    if old is None:
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        return
    before = facts.spec_of(old)
    if facts.needs_cluster_ip(before) and facts.needs_cluster_ip(spec):
        if not spec.get("clusterIP") and before.get("clusterIP"):
            spec["clusterIP"] = before["clusterIP"]
        if not spec.get("clusterIPs") and before.get("clusterIPs"):
            spec["clusterIPs"] = list(before["clusterIPs"])
    if facts.needs_node_ports(before) and facts.needs_node_ports(spec):
        _keep_node_ports(spec, before)
    if facts.needs_health_check_port(before) and facts.needs_health_check_port(spec):
        spec["healthCheckNodePort"] = spec.get("healthCheckNodePort") or before.get("healthCheckNodePort", 0)
    _follow_single_address(spec, before)


def _keep_node_ports(spec: Object, before: Json) -> None:
    """A port that keeps its name keeps its node port, unless another port asks for that one now."""
    used = set(facts.node_ports(before)) & set(facts.node_ports(spec))
    by_name = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or NO_ITEMS}
    for port in spec.get("ports") or NO_ITEMS:
        kept = by_name.get(port.get("name", ""), 0)
        if not port.get("nodePort") and kept and kept not in used:
            port["nodePort"] = kept


def _follow_single_address(spec: Object, before: Json) -> None:
    """Clients that know only `clusterIP` change both by changing it."""
    single, old_single = spec.get("clusterIP", ""), before.get("clusterIP", "")
    if before.get("clusterIPs") and not spec.get("clusterIPs") and single == old_single:
        spec["clusterIPs"] = list(before["clusterIPs"])
    if single == old_single or list(spec.get("clusterIPs") or ()) != list(before.get("clusterIPs") or ()):
        return
    if single:
        spec["clusterIPs"] = [single]
    elif old_single:
        spec.pop("clusterIPs", None)
