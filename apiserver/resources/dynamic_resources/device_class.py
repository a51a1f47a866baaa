"""DeviceClasses: sorts of devices, by selectors and with parameters for their drivers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver.resources.checks import Errors
from apiserver.resources.dynamic_resources.device_checks import (
    MAX_CONFIGURATIONS,
    MAX_SELECTORS,
    check_configuration,
    check_list,
    check_selector,
)
from apiserver.resources.kinds import SpecKind
from apiserver.resources.resource_names import is_extended
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object


class DeviceClassStrategy(SpecKind):
    rechecks_object = True
    returns_object_on_delete = True

    def validate_name(self, name: str, is_prefix: bool) -> Sequence[str]:
        """Of a prefix only what is made from it is looked at."""
        return () if is_prefix else validation.long_name_errors(name)

    def blank_status(self, obj: Object) -> Any:
        return None

    def default(self, obj: Object) -> None:
        obj.setdefault("spec", {})

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        check_list(spec.get("selectors"), MAX_SELECTORS, check_selector, "spec.selectors", errors)
        check_list(spec.get("config"), MAX_CONFIGURATIONS, check_configuration, "spec.config", errors)
        name = spec.get("extendedResourceName")
        if name is not None and not is_extended(name):
            reason = "must be a valid extended resource name"
            errors.append(field.invalid("spec.extendedResourceName", name, reason))


DEVICE_CLASS = DeviceClassStrategy()
