"""APIServices: which server answers for a group and version; without a service it is this one."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_dns_subdomain,
    check_one_of,
    check_required,
    check_with,
)
from apiserver.resources.filling import fill
from apiserver.resources.kinds import PlainKind, carry_over
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

STATUSES = ("True", "False", "Unknown")
HIGHEST_GROUP_PRIORITY = 20_000
HIGHEST_VERSION_PRIORITY = 1000
LOCAL = {
    "type": "Available",
    "status": "True",
    "reason": "Local",
    "message": "Local APIServices are always available",
}


class APIServiceStrategy(PlainKind):
    rechecks_object = True
    allow_unconditional_update = False
    checks_finalizer_domains = False

    def validate_name(self, name: str, is_prefix: bool) -> Sequence[str]:
        return validation.path_segment_errors(name)

    def default(self, obj: Object) -> None:
        if (service := obj.setdefault("spec", {}).get("service")) is not None:
            fill(service, {"port": 443})

    def prepare_for_create(self, obj: Object) -> None:
        """What this server answers itself is there at once."""
        obj["status"] = {}
        if "service" not in obj["spec"]:
            since = obj["metadata"].get("creationTimestamp")
            obj["status"]["conditions"] = [{**LOCAL, "lastTransitionTime": since}]

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        group, version = spec.get("group", ""), spec.get("version", "")
        wanted = f"{version}.{group}"
        name = obj["metadata"].get("name", "")
        if name and name != wanted and not validation.path_segment_errors(name):
            reason = f'must be `spec.version+"."+spec.group`: {go_quote(wanted)}'
            errors.append(field.invalid("metadata.name", name, reason))
        if not group and version != "v1":
            reason = "only v1 may have an empty group and it better be legacy kube"
            errors.append(field.required("spec.group", reason))
        if group:
            check_dns_subdomain(group, "spec.group", errors)
        check_with(validation.dns1035_label_errors(version), version, "spec.version", errors)
        _check_priorities(spec, "spec", errors)
        _check_server(spec, "spec", errors)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        carry_over(new, old, "status")

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        for i, condition in enumerate((new.get("status") or NO_FIELDS).get("conditions") or NO_ITEMS):
            check_one_of(condition.get("status", ""), STATUSES, f"status.conditions[{i}].status", errors)


def _check_priorities(spec: Json, path: str, errors: Errors) -> None:
    for name, highest in (
        ("groupPriorityMinimum", HIGHEST_GROUP_PRIORITY),
        ("versionPriority", HIGHEST_VERSION_PRIORITY),
    ):
        priority = spec.get(name, 0)
        if not 0 < priority <= highest:
            reason = f"must be positive and less than {highest}"
            errors.append(field.invalid(f"{path}.{name}", priority, reason))


def _check_server(spec: Json, path: str, errors: Errors) -> None:
    service, bundle, insecure = spec.get("service"), spec.get("caBundle"), spec.get("insecureSkipTLSVerify", False)
    at = f"{path}.insecureSkipTLSVerify"
    if service is None:
        if bundle:
            size = len(base64.b64decode(bundle))
            reason = "local APIServices may not have a caBundle"
            errors.append(field.invalid(f"{path}.caBundle", f"{size} bytes", reason))
        if insecure:
            reason = "local APIServices may not have insecureSkipTLSVerify"
            errors.append(field.invalid(at, insecure, reason))
        return
    check_required(service.get("namespace"), f"{path}.service.namespace", errors)
    check_required(service.get("name"), f"{path}.service.name", errors)
    if reasons := validation.port_errors(service.get("port", 0)):
        reason = f"port is not valid: {', '.join(reasons)}"
        errors.append(field.invalid(f"{path}.service.port", service.get("port", 0), reason))
    if insecure and bundle:
        errors.append(field.invalid(at, insecure, "may not be true if caBundle is present"))


API_SERVICE = APIServiceStrategy()
