"""ResourceQuota: a write is charged to every quota that concerns it, or refused where one would be exceeded.

It runs last, so that only what everything else accepts is charged. Charges are booked before the object is stored; for
one that is then not stored after all (the name was taken) they stay until the quota loop recounts, as they really do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from weakref import WeakValueDictionary

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Plugin
from apiserver.admission.quota_ledger import RESOURCE_QUOTAS, Ledger
from apiserver.storage.reader import Reader
from kubeloop.apimachinery import quota as quotas_of
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import STALE, Conflict
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, name_of
from kubeloop.apimachinery.pod_resources import Quantities, add, quantities
from kubeloop.apimachinery.quantity import ZERO
from kubeloop.apimachinery.quota import Evaluator

# Another writer of the same quota (the quota loop) may be faster so many times before the write fails.
_RETRIES = 3


class ResourceQuota(Plugin):
    operations = frozenset({CREATE, UPDATE})

    def __init__(self, reader: Reader, ledger: Ledger, clock: Clock) -> None:
        self._reader = reader
        self._ledger = ledger
        self._clock = clock
        # One charge at a time in a namespace: two at once would only chase each other's revisions.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def validate(self, attributes: Attributes) -> None:
        resource = str(attributes.resource)
        if not attributes.namespace or attributes.object is None or resource in quotas_of.IGNORED:
            return
        if not _handles(attributes, resource) or not self._has_quotas(attributes.namespace):
            return
        lock = self._locks.setdefault(attributes.namespace, asyncio.Lock())
        async with lock:
            await self._charge(attributes, quotas_of.evaluator_of(resource))

    def _has_quotas(self, namespace: str) -> bool:
        return next(iter(self._reader.list(RESOURCE_QUOTAS, namespace)), None) is not None

    async def _charge(self, attributes: Attributes, evaluator: Evaluator) -> None:
        """Book what the write costs; where somebody else changed a quota meanwhile, once more on the newer one."""
        overtaken: set[str] | None = None  # None: nothing is booked yet
        for _ in range(_RETRIES + 1):
            quotas = await self._ledger.quotas(attributes.namespace)
            if overtaken is not None:
                quotas = [one for one in quotas if name_of(one) in overtaken]
            charges = self._charges(quotas, attributes, evaluator)
            if attributes.dry_run:
                return
            overtaken = await self._book(charges)
            if not overtaken:
                return
        raise Conflict.of(RESOURCE_QUOTAS, "", min(overtaken or ("",)), STALE)

    async def _book(self, charges: Sequence[tuple[Object, Quantities]]) -> set[str]:
        """Store the new usage of each quota; the names of those that somebody else changed meanwhile."""
        overtaken = set()
        for quota, used in charges:
            status = {**(quota.get("status") or {}), "used": {name: str(used[name]) for name in sorted(used)}}
            try:
                await self._ledger.save({**quota, "status": status})
            except Conflict:
                overtaken.add(name_of(quota))
        return overtaken

    def _charges(
        self, quotas: Iterable[Object], attributes: Attributes, evaluator: Evaluator
    ) -> list[tuple[Object, Quantities]]:
        """The quotas this write changes, each with what is used then; Forbidden where one would be exceeded."""
        obj, old = attributes.object or {}, attributes.old_object
        concerned = [one for one in quotas if quotas_of.concerns(one, evaluator, obj)]
        for quota in concerned:
            _check_countable(quota, evaluator, attributes)
        if not concerned:
            return []
        now = self._clock.now()
        usage = evaluator.usage(obj, now)
        negative = sorted(name for name, quantity in usage.items() if quantity < ZERO)
        if negative:
            raise attributes.forbidden(f"quota usage is negative for resource(s): {','.join(negative)}")
        growth = usage if old is None else _growth(usage, evaluator.usage(old, now))
        charges = []
        for quota in concerned:
            is_counted_already = old is not None and quotas_of.concerns(quota, evaluator, old)
            charge = _without_zeros(growth if is_counted_already else usage)
            hard = quantities((quota.get("status") or {}).get("hard"))
            charge = {name: quantity for name, quantity in charge.items() if name in hard}
            if charge:
                charges.append((quota, _used_after(quota, charge, hard, attributes)))
        return charges


def _handles(attributes: Attributes, resource: str) -> bool:
    """Whether this kind of write can change what the object costs."""
    is_create = attributes.operation == CREATE
    if resource == quotas_of.PODS:
        return _handles_pod(attributes)
    if resource == quotas_of.CLAIMS and attributes.subresource == "status":
        return _claim_status_counts(attributes.object or {}, attributes.old_object or {})
    if attributes.subresource:
        return False
    return is_create or resource in (quotas_of.CLAIMS, quotas_of.SERVICES, quotas_of.RESOURCE_CLAIMS)


def _handles_pod(attributes: Attributes) -> bool:
    if attributes.subresource == "resize":
        return attributes.operation == UPDATE
    if attributes.subresource:
        return False
    if attributes.operation == CREATE:
        return True
    old = attributes.old_object or {}
    return quotas_of.is_terminating(old) != quotas_of.is_terminating(attributes.object or {})


def _claim_status_counts(claim: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    status, before = claim.get("status") or {}, old.get("status") or {}
    fields = ("allocatedResources", "currentVolumeAttributesClassName", "modifyVolumeStatus")
    return any(status.get(field) != before.get(field) for field in fields)


def _check_countable(quota: ReadOnlyObject, evaluator: Evaluator, attributes: Attributes) -> None:
    """The object states what the quota counts, and the quota loop has counted before."""
    status = quota.get("status") or {}
    names = evaluator.matching(status.get("hard") or ())
    if str(attributes.resource) == quotas_of.PODS:
        missing = quotas_of.missing_constraints(attributes.object or {}, names)
        if missing:
            raise attributes.forbidden(f"failed quota: {name_of(quota)}: {missing}")
    used = status.get("used") or {}
    if any(name not in used for name in names):
        raise attributes.forbidden(f"status unknown for quota: {name_of(quota)}, resources: {','.join(sorted(names))}")


def _used_after(quota: ReadOnlyObject, charge: Quantities, hard: Quantities, attributes: Attributes) -> Quantities:
    used = quantities((quota.get("status") or {}).get("used"))
    after = add(used, charge)
    exceeded = sorted(name for name in charge if hard[name] < after[name])
    if exceeded and attributes.subresource != "status":
        raise attributes.forbidden(
            f"exceeded quota: {name_of(quota)}, requested: {_shown(charge, exceeded)}, "
            f"used: {_shown(used, exceeded)}, limited: {_shown(hard, exceeded)}"
        )
    return after


def _growth(usage: Quantities, before: Quantities) -> Quantities:
    """What is used more than before; what is used less counts as nothing, the quota loop gives it back."""
    return {name: max(quantity - before.get(name, ZERO), ZERO) for name, quantity in usage.items()}


def _without_zeros(usage: Quantities) -> Quantities:
    return {name: quantity for name, quantity in usage.items() if not quantity.is_zero}


def _shown(amounts: Quantities, names: Sequence[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names if name in amounts)
