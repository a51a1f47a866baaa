"""Probes and lifecycle hooks: exactly one action each, with sane numbers around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import (
    Check,
    Errors,
    check_exactly_one,
    check_not_negative,
    check_one_of,
    check_port_number_or_name,
    check_required,
    check_with,
)
from kubeloop.apimachinery import field, validation

Json = Mapping[str, Any]

HTTP_SCHEMES = ("HTTP", "HTTPS")
PROBE_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def check_container_handlers(container: Json, grace_period: int | None, path: str, errors: Errors) -> None:
    """Hooks and probes of a container that keeps running (not of a plain init container)."""
    if "lifecycle" in container:
        _check_lifecycle(container["lifecycle"], grace_period, f"{path}.lifecycle", errors)
    if "livenessProbe" in container:
        _check_deciding_probe(container["livenessProbe"], f"{path}.livenessProbe", errors)
    if "readinessProbe" in container:
        _check_readiness_probe(container["readinessProbe"], f"{path}.readinessProbe", errors)
    if "startupProbe" in container:
        _check_deciding_probe(container["startupProbe"], f"{path}.startupProbe", errors)


def _check_lifecycle(lifecycle: Json, grace_period: int | None, path: str, errors: Errors) -> None:
    def check_sleep(sleep: Json, at: str, errors: Errors) -> None:
        seconds = sleep.get("seconds", 0)
        if grace_period is not None and not 0 <= seconds <= grace_period:
            reason = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
            errors.append(field.invalid(at, seconds, reason))

    for name in ("postStart", "preStop"):
        if name in lifecycle:
            actions = (*HOOK_ACTIONS, ("sleep", check_sleep))
            check_exactly_one(lifecycle[name], actions, "handler type", f"{path}.{name}", errors)


def _check_deciding_probe(probe: Json, path: str, errors: Errors) -> None:
    """Liveness and startup: one success is enough, always."""
    _check_probe(probe, path, errors)
    if probe.get("successThreshold", 0) != 1:
        errors.append(field.invalid(f"{path}.successThreshold", probe.get("successThreshold", 0), "must be 1"))


def _check_readiness_probe(probe: Json, path: str, errors: Errors) -> None:
    _check_probe(probe, path, errors)
    if "terminationGracePeriodSeconds" in probe:
        at, value = f"{path}.terminationGracePeriodSeconds", probe["terminationGracePeriodSeconds"]
        errors.append(field.invalid(at, value, "must not be set for readinessProbes"))


def _check_probe(probe: Json, path: str, errors: Errors) -> None:
    check_exactly_one(probe, PROBE_ACTIONS, "handler type", path, errors)
    for name in PROBE_NUMBERS:
        check_not_negative(probe.get(name, 0), f"{path}.{name}", errors)
    grace_period = probe.get("terminationGracePeriodSeconds")
    if grace_period is not None and grace_period <= 0:
        at = f"{path}.terminationGracePeriodSeconds"
        errors.append(field.invalid(at, grace_period, "must be greater than 0"))


def _check_exec(action: Json, path: str, errors: Errors) -> None:
    check_required(action.get("command"), f"{path}.command", errors)


def _check_http_get(action: Json, path: str, errors: Errors) -> None:
    check_required(action.get("path"), f"{path}.path", errors)
    check_port_number_or_name(action.get("port", 0), f"{path}.port", errors)
    check_one_of(action.get("scheme", ""), HTTP_SCHEMES, f"{path}.scheme", errors)
    for header in action.get("httpHeaders") or ():
        name = header.get("name", "")
        check_with(validation.http_header_name_errors(name), name, f"{path}.httpHeaders", errors)


def _check_port(action: Json, path: str, errors: Errors) -> None:
    check_port_number_or_name(action.get("port", 0), f"{path}.port", errors)


HOOK_ACTIONS: tuple[tuple[str, Check], ...] = (
    ("exec", _check_exec),
    ("httpGet", _check_http_get),
    ("tcpSocket", _check_port),
)
PROBE_ACTIONS: tuple[tuple[str, Check], ...] = (*HOOK_ACTIONS, ("grpc", _check_port))
