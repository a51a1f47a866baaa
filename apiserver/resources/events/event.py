"""Events. One stored kind, two ways in: core/v1 asks little, events.k8s.io/v1 asks for everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    Errors,
    check_dns_subdomain,
    check_immutable,
    check_qualified_name,
)
from apiserver.resources.internal_types import as_internal
from apiserver.resources.kinds import PlainKind
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

MAX_SHORT = 128
MAX_MESSAGE = 1024
OBJECT_FIELDS = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_OBJECT_SELECTORS = tuple(f"{of}.{name}" for of in ("involvedObject", "regarding") for name in OBJECT_FIELDS)
CORE_SELECTABLE = frozenset(
    {*(f"involvedObject.{name}" for name in OBJECT_FIELDS), "reason", "reportingComponent", "source", "type"}
)
SELECTABLE = frozenset({*(f"regarding.{name}" for name in OBJECT_FIELDS), "reason", "reportingController", "type"})
# Stored field -> how the other version's refusals call it; in the order they are looked at.
FIXED = (
    ("involvedObject", "involvedObject"),
    ("reason", "reason"),
    ("message", "message"),
    ("source", "source"),
    ("firstTimestamp", "firstTimestamp"),
    ("lastTimestamp", "lastTimestamp"),
    ("count", "count"),
    ("reason", "reason"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingComponent", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)
# How the fields of FIXED print that are structs, and those that are never absent.
STRUCTS = {"involvedObject": "ObjectReference", "related": "ObjectReference", "source": "EventSource"}
UNSET_VALUES: Mapping[str, Any] = {
    "count": 0,
    **dict.fromkeys(("reason", "message", "type", "action", "reportingComponent", "reportingInstance"), ""),
}


class CoreEventStrategy(PlainKind):
    allow_create_on_update = True
    can_have_dependents = False
    rechecks_change = False
    looks_at_metadata = False
    reporter = "reportingComponent"

    def validate_name(self, name: str, is_prefix: bool) -> Sequence[str]:
        """Old clients name events as they like."""
        return validation.path_segment_errors(name, is_prefix)

    def default(self, obj: Object) -> None:
        obj.setdefault("involvedObject", {})
        obj.setdefault("source", {})
        for name in ("firstTimestamp", "lastTimestamp", "eventTime"):
            obj.setdefault(name, None)
        for name in ("reportingComponent", "reportingInstance"):
            obj.setdefault(name, "")

    def check(self, obj: Object, errors: Errors) -> None:
        namespace = obj["metadata"].get("namespace", "")
        involved = (obj.get("involvedObject") or NO_FIELDS).get("namespace", "")
        homeless = ("", "default", "kube-system") if obj.get("eventTime") else ("", "default")
        if (not involved and namespace not in homeless) or (
            involved and not obj.get("eventTime") and involved != namespace
        ):
            errors.append(field.invalid("involvedObject.namespace", involved, "does not match event.namespace"))
        if obj.get("eventTime"):
            self._check_new_fields(obj, errors)
        check_dns_subdomain(namespace, "namespace", errors)

    def _check_new_fields(self, obj: Object, errors: Errors) -> None:
        reporter = obj.get("reportingComponent", "")
        if not reporter:
            errors.append(field.required(self.reporter))
        check_qualified_name(reporter, self.reporter, errors)
        for name in ("reportingInstance", "action", "reason"):
            if not obj.get(name):
                errors.append(field.required(name))
            _check_length(obj.get(name, ""), MAX_SHORT, name, errors)
        _check_length(obj.get("message", ""), MAX_MESSAGE, "message", errors)

    def selectable_fields(self, obj: Object) -> Mapping[str, str]:
        """Under the names of both versions, whichever wrote it: an event is found through either."""
        involved, reporter = obj.get("involvedObject") or NO_FIELDS, obj.get("reportingComponent", "")
        told = [involved.get(name, "") for name in OBJECT_FIELDS]
        return {
            **dict(zip(_OBJECT_SELECTORS, [*told, *told], strict=True)),
            "reason": obj.get("reason", ""),
            "reportingComponent": reporter,
            "reportingController": reporter,
            "source": (obj.get("source") or NO_FIELDS).get("component") or reporter,
            "type": obj.get("type", ""),
        }

    @property
    def selectable_field_names(self) -> frozenset[str]:
        return CORE_SELECTABLE


class EventStrategy(CoreEventStrategy):
    """events.k8s.io/v1. Objects arrive in the stored form, that of core/v1."""

    rechecks_change = True
    looks_at_metadata = True
    reporter = "reportingController"

    def validate_name(self, name: str, is_prefix: bool) -> Sequence[str]:
        return validation.dns_subdomain_errors(name, is_prefix)

    def check(self, obj: Object, errors: Errors) -> None:
        super().check(obj, errors)
        _check_series(obj.get("series"), errors)
        if not obj.get("eventTime"):
            errors.append(field.required("eventTime"))
        if obj.get("type") not in ("Normal", "Warning"):
            errors.append(field.invalid("type", "", f"has invalid value: {obj.get('type', '')}"))
        for name in ("firstTimestamp", "lastTimestamp", "count", "source"):
            if obj.get(name):
                errors.append(field.invalid(name, "", "needs to be unset"))

    @property
    def selectable_field_names(self) -> frozenset[str]:
        return SELECTABLE

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        super().check(new, errors)
        if new.get("series") != old.get("series"):
            _check_series(new.get("series"), errors)
        for name, reported in FIXED:
            if new.get(name) != old.get(name):
                check_immutable(_as_printed(name, new), _as_printed(name, old), reported, errors)


def _as_printed(name: str, event: Json) -> Any:
    """A field as a refusal shows it: structs under their Go names, counts and texts never absent."""
    if name in STRUCTS:
        struct = as_internal(STRUCTS[name], event.get(name))
        return as_internal(STRUCTS[name], NO_FIELDS) if struct is None and name != "related" else struct
    value = event.get(name)
    return UNSET_VALUES.get(name) if value is None else value


def _check_length(text: str, maximum: int, path: str, errors: Errors) -> None:
    if len(text.encode()) > maximum:
        errors.append(field.invalid(path, "", f"can have at most {maximum} characters"))


def _check_series(series: Json | None, errors: Errors) -> None:
    if series is None:
        return
    if series.get("count", 0) < 2:
        errors.append(field.invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(field.required("series.lastObservedTime"))


CORE_EVENT = CoreEventStrategy()
EVENT = EventStrategy()
