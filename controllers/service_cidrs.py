"""service-cidr-controller: keeps the ranges that cluster IPs come from for as long as an address depends on them.

Every ServiceCIDR gets a finalizer and becomes Ready. One that is deleted goes when all its addresses lie in others as
well, and then ten seconds later, so that no server gives out another one of it meanwhile.
pkg/controller/servicecidrs, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubeloop.apimachinery.addresses import parse_ip
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, is_being_deleted, key_of, name_of
from kubeloop.apimachinery.resource import IP_ADDRESSES, SERVICE_CIDRS
from kubeloop.apimachinery.service_addresses import READY, AddressRange, is_managed, ranges_of
from kubeloop.apimachinery.times import format_time, parse_time
from kubeloop.client.api import APPLY, Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.finalizers import ensure_finalizer, remove_finalizer
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, RequeueAfter, Result
from kubeloop.runtime.source import For, Watches

NAME = "service-cidr-controller"
FINALIZER = "networking.k8s.io/service-cidr-finalizer"
DELETION_GRACE_SECONDS = 10.0

_READY_MESSAGE = "Kubernetes Service CIDR is ready"
_TERMINATING, _BLOCKED_MESSAGE = (
    "Terminating",
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
)


def add_to(manager: Manager) -> None:
    ranges, addresses = manager.informer(SERVICE_CIDRS), manager.informer(IP_ADDRESSES)
    reconciler = ServiceRanges(manager.api, ranges, addresses, manager.event_recorder(NAME), manager.clock)
    sources = [
        For(ranges),
        Watches(ranges, reconciler.overlapping, [is_never_an_update]),
        Watches(addresses, reconciler.containing, [is_never_an_update]),
    ]
    manager.add(Controller(NAME, reconciler, sources, workers=5))


class ServiceRanges:
    """Keys are ServiceCIDRs."""

    def __init__(self, api: Api, ranges: Informer, addresses: Informer, recorder: EventRecorder, clock: Clock) -> None:
        self._api, self._ranges, self._addresses = api, ranges, addresses
        self._recorder, self._clock = recorder, clock

    async def reconcile(self, key: ObjectKey) -> Result:
        service_cidr = self._ranges.get(key)
        if service_cidr is None:
            return DONE
        if is_being_deleted(service_cidr):
            return await self._finish(service_cidr)
        await ensure_finalizer(self._api, SERVICE_CIDRS, service_cidr, FINALIZER)
        try:
            await self._judge(service_cidr, "True", "", _READY_MESSAGE)
        except ApiError:
            message = "The ServiceCIDR Status can not be set to Ready=True"
            await self._recorder.event(service_cidr, "Warning", "KubernetesServiceCIDRError", message)
            raise
        return DONE

    async def _finish(self, service_cidr: Object) -> Result:
        """Let it go, if nothing depends on it and every server had the time to hear that it is being deleted."""
        if not self._is_dispensable(service_cidr):
            await self._judge(service_cidr, "False", _TERMINATING, _BLOCKED_MESSAGE)
            return DONE
        since = self._clock.now() - parse_time(service_cidr["metadata"]["deletionTimestamp"])
        if (left := DELETION_GRACE_SECONDS - since.total_seconds()) > 0:
            return RequeueAfter(left)
        await remove_finalizer(self._api, SERVICE_CIDRS, service_cidr, FINALIZER)
        return DONE

    def _is_dispensable(self, service_cidr: ReadOnlyObject) -> bool:
        """Whether other ServiceCIDRs contain it, or at least every address that was given out of it."""
        own = ranges_of(service_cidr)
        others = [
            found for obj in self._ranges.list() if key_of(obj) != key_of(service_cidr) for found in ranges_of(obj)
        ]
        if all(any(is_part_of(found, other) for other in others) for found in own):
            return True
        given = map(parse_ip, map(name_of, filter(is_managed, self._addresses.list())))
        held = (address for address in given if address is not None and any(found.holds(address) for found in own))
        return all(any(other.holds(address) for other in others) for address in held)

    async def _judge(self, service_cidr: ReadOnlyObject, status: str, reason: str, message: str) -> None:
        found = get_condition(conditions_of(service_cidr), READY)
        wanted = {"type": READY, "status": status, "reason": reason, "message": message}
        if found is not None and all((found.get(name) or "") == value for name, value in wanted.items()):
            return
        applied = {
            "apiVersion": SERVICE_CIDRS.api_version,
            "kind": SERVICE_CIDRS.kind,
            "metadata": {"name": name_of(service_cidr)},
            "status": {"conditions": [{**wanted, "lastTransitionTime": format_time(self._clock.now())}]},
        }
        try:
            await self._api.patch(
                SERVICE_CIDRS,
                name_of(service_cidr),
                applied,
                patch_type=APPLY,
                subresource="status",
                field_manager=NAME,
                force=True,
            )
        except NotFound:
            return

    def overlapping(self, service_cidr: ReadOnlyObject) -> Iterable[ObjectKey]:
        """One that comes or goes may hold or free others."""
        own = ranges_of(service_cidr)
        for obj in self._ranges.list():
            if any(a.network.overlaps(b.network) for a in ranges_of(obj) for b in own if is_same_family(a, b)):
                yield key_of(obj)

    def containing(self, ip_address: ReadOnlyObject) -> Iterable[ObjectKey]:
        """Those whose deletion an address may hold back."""
        address = parse_ip(name_of(ip_address)) if is_managed(ip_address) else None
        if address is not None:
            yield from (key_of(obj) for obj in self._ranges.list() if any(r.holds(address) for r in ranges_of(obj)))


def is_never_an_update(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    """Passes what comes and what goes."""
    return False


def is_same_family(one: AddressRange, other: AddressRange) -> bool:
    return one.network.version == other.network.version


def is_part_of(inner: AddressRange, outer: AddressRange) -> bool:
    return (
        is_same_family(inner, outer)
        and inner.network.overlaps(outer.network)
        and outer.network.prefixlen <= inner.network.prefixlen
    )
