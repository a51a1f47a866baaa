"""Priority classes: values up to a billion are the users', the two system classes stand above."""

from __future__ import annotations

from datetime import datetime

from apiserver.resources.checks import Errors, check_choice, check_immutable
from apiserver.resources.filling import fill
from apiserver.resources.kinds import PlainKind
from kubeloop.apimachinery import field
from kubeloop.apimachinery.errors import Forbidden
from kubeloop.apimachinery.meta import Object

HIGHEST_OF_USERS = 1_000_000_000
SYSTEM_PREFIX = "system-"
SYSTEM_VALUES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")


class PriorityClassStrategy(PlainKind):
    def default(self, obj: Object) -> None:
        fill(obj, {"preemptionPolicy": "PreemptLowerPriority"})

    def prepare_for_create(self, obj: Object) -> None:
        obj["metadata"]["generation"] = 1

    def check(self, obj: Object, errors: Errors) -> None:
        if obj["metadata"].get("name", "").startswith(SYSTEM_PREFIX):
            if why := _system_class_error(obj):
                reason = f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only"
                errors.append(field.forbidden("metadata.name", f"{reason}. error: {why}"))
        elif obj.get("value", 0) > HIGHEST_OF_USERS:
            reason = f"maximum allowed value of a user defined priority is {HIGHEST_OF_USERS}"
            errors.append(field.forbidden("value", reason))
        if "preemptionPolicy" in obj:
            check_choice(obj["preemptionPolicy"], PREEMPTION_POLICIES, "preemptionPolicy", errors)

    def begin_deletion(self, obj: Object, now: datetime) -> Object | None:
        """The system's own classes stay."""
        if (name := obj["metadata"]["name"]) in SYSTEM_VALUES:
            reason = "this is a system priority class and cannot be deleted"
            raise Forbidden.of("priorityclasses", "scheduling.k8s.io", name, reason)
        return None

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        if new.get("value", 0) != old.get("value", 0):
            errors.append(field.forbidden("value", "may not be changed in an update."))
        check_immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy", errors)


def _system_class_error(obj: Object) -> str:
    """Why this is not one of the system's own classes; "" where it is."""
    name = obj["metadata"]["name"]
    value = SYSTEM_VALUES.get(name)
    if value is None:
        return f"{name} is not a known system priority class"
    if obj.get("value", 0) != value:
        return f"value of {name} PriorityClass must be {value}"
    if obj.get("globalDefault"):
        return f"globalDefault of {name} PriorityClass must be false"
    return ""


PRIORITY_CLASS = PriorityClassStrategy()
