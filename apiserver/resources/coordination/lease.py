"""Leases: who holds what, renewed every few seconds, so only the newest version of each is kept."""

from __future__ import annotations

from apiserver.resources.checks import NO_FIELDS, Errors, check_not_negative
from apiserver.resources.kinds import PlainKind
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

# Fields of coordinated leader election, whose feature gate is off in v1.36.
DISABLED = ("strategy", "preferredHolder")


class LeaseStrategy(PlainKind):
    allow_create_on_update = True
    checks_finalizer_domains = False
    allow_unconditional_update = False
    keep_history = False

    def prepare_for_create(self, obj: Object) -> None:
        _drop_disabled_fields(obj)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        _drop_disabled_fields(new)

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj.get("spec") or NO_FIELDS
        duration = spec.get("leaseDurationSeconds")
        if duration is not None and duration <= 0:
            errors.append(field.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
        check_not_negative(spec.get("leaseTransitions", 0), "spec.leaseTransitions", errors)


def _drop_disabled_fields(obj: Object) -> None:
    spec = obj.get("spec") or {}
    for name in DISABLED:
        spec.pop(name, None)


LEASE = LeaseStrategy()
