"""What the status of a quota has to be, and which changes of objects call for counting again.

Pure; pkg/controller/resourcequota and pkg/quota/v1/install, v1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from kubeloop.apimachinery import quota as quotas_of
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.pod_resources import quantities
from kubeloop.apimachinery.quantity import is_equal

Objects = Sequence[ReadOnlyObject]


def hard_of(quota: ReadOnlyObject) -> Mapping[str, str]:
    """The limits that are asked for."""
    return (quota.get("spec") or {}).get("hard") or {}


def counted(quota: ReadOnlyObject) -> list[str]:
    """The resources whose objects have to be counted for the quota, by their storage names."""
    return [name for name in quotas_of.counted_resources(hard_of(quota)) if name not in quotas_of.IGNORED]


def counts(quota: ReadOnlyObject, resource: str) -> bool:
    """Whether objects of the resource count for the quota, whatever its scopes say."""
    return bool(quotas_of.evaluator_of(resource).matching(hard_of(quota)))


def status(quota: ReadOnlyObject, objects: Mapping[str, Objects], now: datetime) -> Object:
    """The status after a recount. What counts objects that are not among `objects` keeps the usage it had."""
    hard, scopes = hard_of(quota), quotas_of.scopes_of(quota)
    used = quantities((quota.get("status") or {}).get("used"))
    for resource, found in objects.items():
        used |= quotas_of.total_usage(hard, scopes, quotas_of.evaluator_of(resource), found, now)
    return {"hard": dict(hard), "used": {name: str(used[name]) for name in sorted(used) if name in hard}}


def is_up_to_date(quota: ReadOnlyObject, wanted: Object) -> bool:
    """Whether the stored status says the same; amounts may be spelled differently."""
    current = quota.get("status") or {}
    return all(
        current.get(field) is not None
        and current[field].keys() == wanted[field].keys()
        and all(is_equal(current[field][name], amount) for name, amount in wanted[field].items())
        for field in ("hard", "used")
    )


def has_new_limits(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    """Whether a change of the quota is one of its limits. Status changes are admission's charges, or our own."""
    return hard_of(old) != hard_of(new)


def is_counted_otherwise(
    quota: ReadOnlyObject, resource: str, old: ReadOnlyObject, new: ReadOnlyObject, now: datetime
) -> bool:
    """Whether a change of an object changes what it costs, or whether it falls under the quota's scopes."""
    evaluator = quotas_of.evaluator_of(resource)
    if evaluator.usage(old, now) != evaluator.usage(new, now):
        return True
    return any(evaluator.in_scope(scope, old) != evaluator.in_scope(scope, new) for scope in quotas_of.scopes_of(quota))
