"""ControllerRevisions: states a StatefulSet or DaemonSet can go back to."""

from __future__ import annotations

from apiserver.resources.checks import Errors, check_immutable, check_not_negative
from apiserver.resources.kinds import PlainKind
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object


class ControllerRevisionStrategy(PlainKind):
    rechecks_object = True

    def check(self, obj: Object, errors: Errors) -> None:
        check_not_negative(obj.get("revision", 0), "revision", errors)
        data = obj.get("data")
        if data is None:
            errors.append(field.required("data", "data is mandatory"))
        elif not isinstance(data, dict):
            errors.append(field.required("data", "data must be a valid JSON object"))

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        check_not_negative(new.get("revision", 0), "revision", errors)
        check_immutable(new.get("data"), old.get("data"), "data", errors)


CONTROLLER_REVISION = ControllerRevisionStrategy()
