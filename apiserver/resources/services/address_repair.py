"""The repair of cluster IPs: every address of a Service has its IPAddress, and every IPAddress has its Service.

The two are two writes, between which a server can die. Services are looked at when they change, and again an IPAddress
some time after it came: by then its Service is stored, or nobody will store it. What is found is told as an event.
pkg/registry/core/service/ipallocator/controller/repairip.go, v1.36.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import NamedTuple

import structlog

from apiserver.registry.context import Machinery
from apiserver.registry.own_events import typed, warn
from apiserver.resources.services import cluster_ips, facts
from apiserver.resources.services.cluster_ips import GROUP, IP_ADDRESSES
from apiserver.storage.interface import Change, Compacted, StorageError
from apiserver.watch.broadcast import TooSlow
from kubeloop.apimachinery.addresses import parse_ip
from kubeloop.apimachinery.errors import AlreadyExists, ApiError
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, labels_of, name_of, namespace_of, uid_of
from kubeloop.apimachinery.service_addresses import FAMILY_LABEL, family_of, is_managed
from kubeloop.apimachinery.times import parse_time

log = structlog.get_logger("apiserver")

SERVICES = "services"
REPORTER = "ipallocator-repair-controller"
# How long a Service may take to follow its address: as long as a request may last.
GRACE = timedelta(seconds=60)
# How long a write that came to nothing may take to give its address back.
REVERT_GRACE = timedelta(seconds=5)

_RETRY_SECONDS = 1.0
_ON_SERVICE, _ON_ADDRESS = "ClusterIPAllocation", "IPAddressAllocation"


class _Look(NamedTuple):
    """What is to be looked at, and when (monotonic seconds)."""

    at: float
    resource: str
    namespace: str
    name: str


class AddressRepair:
    """`check_all` before the first request, then `run` for as long as the server.

    What is to be looked at again is kept in a heap: at most one entry for each change of a Service or an IPAddress
    within the last minute, and one for each that cannot be repaired just now.
    """

    def __init__(self, machinery: Machinery) -> None:
        self._machinery = machinery
        self._cache, self._cluster, self._clock = machinery.cache, machinery.cluster, machinery.clock
        self._again: list[_Look] = []
        self._has_more = asyncio.Event()
        self._told: dict[str, set[tuple[str, str]]] = {}  # uid -> what was said of lasting trouble, and is not repeated
        self._checked_at = 0

    async def check_all(self) -> None:
        """Look at every Service, then at every IPAddress."""
        self._checked_at = self._cache.revision
        for resource in (SERVICES, IP_ADDRESSES):
            for stored in self._cache.list(resource):
                await self._look(resource, stored.key.namespace, stored.key.name)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow(SERVICES, self._service_changed))
            tasks.create_task(self._follow(IP_ADDRESSES, self._address_changed))
            tasks.create_task(self._look_again())

    async def _follow(self, resource: str, changed: Callable[[Change], Awaitable[None]]) -> None:
        since = self._checked_at
        while True:
            try:
                with self._cache.watch(resource, since=since) as watcher:
                    while True:
                        for change in await watcher.next_batch():
                            await changed(change)
                            since = change.revision
            except (TooSlow, Compacted):  # what was missed is found by looking at everything
                since = self._cache.revision
                await self._clock.sleep(_RETRY_SECONDS)
                await self.check_all()

    async def _service_changed(self, change: Change) -> None:
        if change.current is not None:
            await self._look(SERVICES, change.key.namespace, change.key.name)
            return
        assert change.previous is not None, "what is removed was there"
        service = change.previous.object()
        self._told.pop(uid_of(service), None)
        for ip in facts.addresses_of(facts.spec_of(service)):
            self._later(IP_ADDRESSES, "", str(parse_ip(ip)), REVERT_GRACE.total_seconds())

    async def _address_changed(self, change: Change) -> None:
        if change.current is not None:
            await self._look(IP_ADDRESSES, "", change.key.name)
            return
        assert change.previous is not None, "what is removed was there"
        parent = cluster_ips.parent_of(change.previous.object())
        if parent.get("resource") == SERVICES:
            await self._look(SERVICES, parent.get("namespace", ""), parent.get("name", ""))

    async def _look_again(self) -> None:
        while True:
            self._has_more.clear()
            if not self._again:
                await self._has_more.wait()
            # An earlier one may come meanwhile: it waits a second at most.
            await self._clock.sleep(min(max(self._again[0].at - self._clock.monotonic(), 0), _RETRY_SECONDS))
            while self._again and self._again[0].at <= self._clock.monotonic():
                due = heapq.heappop(self._again)
                await self._look(due.resource, due.namespace, due.name)

    def _later(self, resource: str, namespace: str, name: str, seconds: float) -> None:
        heapq.heappush(self._again, _Look(self._clock.monotonic() + seconds, resource, namespace, name))
        self._has_more.set()

    async def _look(self, resource: str, namespace: str, name: str) -> None:
        """Look at what is there now; where mending it fails, again later."""
        obj = self._cluster.reader.get(resource, namespace, name)
        if obj is None:
            return
        try:
            if resource == SERVICES:
                await self._check_service(typed("v1", "Service", obj))
            else:
                await self._check_address(typed(f"{GROUP}/v1", "IPAddress", obj))
        except (ApiError, StorageError) as error:
            log.warning("a cluster IP is not repaired", resource=resource, name=name, error=str(error))
            self._later(resource, namespace, name, _RETRY_SECONDS)

    # -- a Service ------------------------------------------------------------------------------------------------

    async def _check_service(self, service: Object) -> None:
        for ip in facts.addresses_of(facts.spec_of(service)):
            address = parse_ip(ip)
            if address is None:
                note = f"Cluster IP {ip} is not a valid IP; please recreate Service"
                await self._tell_once(service, "ClusterIPNotValid", "ClusterIPValidation", note)
            elif not cluster_ips.is_within_any_range(self._cluster, address):
                note = (
                    f"Cluster IP [{family_of(ip)}]: {address} is not within any configured Service CIDR; "
                    "please recreate service"
                )
                await self._tell_once(service, "ClusterIPOutOfRange", _ON_SERVICE, note)
            else:
                await self._check_service_address(service, str(address))

    async def _check_service_address(self, service: Object, ip: str) -> None:
        family, found = family_of(ip), self._cluster.reader.get(IP_ADDRESSES, "", ip)
        where = f"{namespace_of(service)}/{name_of(service)}"
        if found is None:
            note = f"Cluster IP [{family}]: {ip} is not allocated; repairing"
            await self._tell(service, "ClusterIPNotAllocated", _ON_SERVICE, note)
            await self._create(ip, service)
        elif not cluster_ips.belongs_to(found, service) and not (holder := self._holder(found)):
            note = f"the ClusterIP [{family}]: {ip} for Service {where} has a wrong reference; repairing"
            await self._tell(service, "ClusterIPNotAllocated", _ON_SERVICE, note)
            await self._recreate(ip, service)
        elif not cluster_ips.belongs_to(found, service):
            if ip in facts.addresses_of(facts.spec_of(holder or {})):
                note = f"Cluster IP [{family}]:{ip} was assigned to multiple services; please recreate service"
                await self._tell_once(service, "ClusterIPAlreadyAllocated", _ON_SERVICE, note)
        elif not is_managed(found) or labels_of(found).get(FAMILY_LABEL) != family:
            await self._recreate(ip, service)

    def _holder(self, ip_address: ReadOnlyObject) -> Object | None:
        """The Service an IPAddress names, if there is such a one."""
        parent = cluster_ips.parent_of(ip_address)
        if not cluster_ips.is_of_a_service(ip_address):
            return None
        return self._cluster.reader.get(SERVICES, parent.get("namespace", ""), parent.get("name", ""))

    async def _recreate(self, ip: str, service: Object) -> None:
        await self._cluster.delete(GROUP, "IPAddress", "", ip)
        await self._create(ip, service)

    async def _create(self, ip: str, service: Object) -> None:
        try:
            await self._cluster.create(GROUP, "IPAddress", cluster_ips.ip_address_object(ip, service))
        except AlreadyExists:
            self._later(SERVICES, namespace_of(service), name_of(service), _RETRY_SECONDS)

    # -- an IPAddress ---------------------------------------------------------------------------------------------

    async def _check_address(self, address: Object) -> None:
        """Those of others are left alone."""
        if not is_managed(address):
            return
        name, parent = name_of(address), cluster_ips.parent_of(address)
        where = f"IPAddress: {name} for Service {parent.get('namespace', '')}/{parent.get('name', '')}"
        age = self._clock.now() - parse_time(address["metadata"]["creationTimestamp"])
        if not cluster_ips.is_of_a_service(address):
            shown = "&ParentReference{" + "".join(
                f"{key.capitalize()}:{parent.get(key, '')}," for key in ("group", "resource", "namespace", "name")
            )
            note = f"IPAddress {name} appears to have been modified, not referencing a Service {shown}}}: cleaning up"
            await self._remove(address, "IPAddressNotAllocated", note)
        elif (service := self._holder(address)) is None:
            if age <= GRACE:
                self._later(IP_ADDRESSES, "", name, (GRACE - age).total_seconds() + _RETRY_SECONDS)
            else:
                await self._remove(address, "IPAddressNotAllocated", f"{where} appears to have leaked: cleaning up")
        elif name not in {str(parse_ip(ip)) for ip in facts.addresses_of(facts.spec_of(service))}:
            grace = GRACE if not facts.needs_cluster_ip(facts.spec_of(service)) else REVERT_GRACE
            if age < grace:
                self._later(IP_ADDRESSES, "", name, (grace - age).total_seconds() + _RETRY_SECONDS)
            else:
                await self._remove(address, "IPAddressWrongReference", f"{where} has a wrong reference; cleaning up")

    async def _remove(self, address: Object, reason: str, note: str) -> None:
        await self._tell(address, reason, _ON_ADDRESS, note)
        await self._cluster.delete(GROUP, "IPAddress", "", name_of(address))

    # -- telling --------------------------------------------------------------------------------------------------

    async def _tell(self, about: Object, reason: str, action: str, note: str) -> None:
        log.error("cluster IPs and Services did not fit", reason=reason, note=note)
        await warn(self._cluster, about, reason, action, note, reporter=REPORTER, now=self._clock.now())

    async def _tell_once(self, about: Object, reason: str, action: str, note: str) -> None:
        """Of trouble that only the user can mend."""
        told = self._told.setdefault(uid_of(about), set())
        if (reason, note) not in told:
            told.add((reason, note))
            await self._tell(about, reason, action, note)
