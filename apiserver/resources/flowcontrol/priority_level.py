"""PriorityLevelConfigurations: how many requests of a level run at once, and what becomes of the others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_FIELDS, Errors
from apiserver.resources.filling import fill, fill_empty
from apiserver.resources.flowcontrol.conditions import check_conditions, keep_metadata
from apiserver.resources.internal_types import as_internal
from apiserver.resources.kinds import SpecKind
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

TYPES = ("Exempt", "Limited")
RESPONSES = ("Queue", "Reject")
EXEMPT_DEFAULTS = {"nominalConcurrencyShares": 0, "lendablePercent": 0}
LIMITED_DEFAULTS = {"nominalConcurrencyShares": 30, "lendablePercent": 0}
QUEUING_DEFAULTS = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}
MAX_QUEUES = 10_000_000
MAX_HASH_BITS = 60
# Only for the beta version: says that a zero is meant.
ROUND_TRIP = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
# Those every server has; of `exempt` only the field of that name may change.
MANDATORY: Mapping[str, Json] = {
    "exempt": {"type": "Exempt"},
    "catch-all": {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0},
    },
}


class PriorityLevelStrategy(SpecKind):
    rechecks_change, rechecks_object = False, True

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        if (exempt := spec.get("exempt")) is not None:
            fill(exempt, EXEMPT_DEFAULTS)
        if (limited := spec.get("limited")) is not None:
            fill(limited, LIMITED_DEFAULTS)
            if (queuing := (limited.get("limitResponse") or {}).get("queuing")) is not None:
                fill_empty(queuing, QUEUING_DEFAULTS)

    def check(self, obj: Object, errors: Errors) -> None:
        name, spec = obj["metadata"].get("name", ""), obj["spec"]
        if ROUND_TRIP in (obj["metadata"].get("annotations") or NO_FIELDS):
            errors.append(field.forbidden("metadata.annotations", f"annotation '{ROUND_TRIP}' is forbidden"))
        _check_spec(spec, name, "spec", errors)
        _check_mandatory(spec, name, "spec", errors)
        check_conditions(obj, errors)

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        super().prepare_for_status_update(new, old)
        keep_metadata(new, old)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        check_conditions(new, errors)


def _check_spec(spec: Json, name: str, path: str, errors: Errors) -> None:
    kind, limited, exempt = spec.get("type", ""), spec.get("limited"), spec.get("exempt")
    if (name == "exempt") != (kind == "Exempt"):
        errors.append(field.invalid(f"{path}.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    if kind == "Exempt":
        if limited is not None:
            errors.append(field.forbidden(f"{path}.limited", "must be nil if the type is not Limited"))
        _check_shares(exempt or NO_FIELDS, f"{path}.exempt", errors)
        _check_lendable(exempt or NO_FIELDS, f"{path}.exempt", errors)
    elif kind == "Limited":
        if exempt is not None:
            errors.append(field.forbidden(f"{path}.exempt", "must be nil if the type is Limited"))
        if limited is None:
            errors.append(field.required(f"{path}.limited", "must not be empty when type is Limited"))
        else:
            _check_limited(limited, f"{path}.limited", errors)
    else:
        errors.append(field.not_supported(f"{path}.type", kind, TYPES))


def _check_limited(limited: Json, path: str, errors: Errors) -> None:
    _check_shares(limited, path, errors)
    _check_response(limited.get("limitResponse") or NO_FIELDS, f"{path}.limitResponse", errors)
    _check_lendable(limited, path, errors)
    borrowing = limited.get("borrowingLimitPercent", 0)
    if borrowing < 0:
        reason = "if specified, must be a non-negative integer"
        errors.append(field.invalid(f"{path}.borrowingLimitPercent", borrowing, reason))


def _check_shares(level: Json, path: str, errors: Errors) -> None:
    shares = level.get("nominalConcurrencyShares", 0)
    if shares < 0:
        errors.append(field.invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer"))


def _check_lendable(level: Json, path: str, errors: Errors) -> None:
    percent = level.get("lendablePercent", 0)
    if not 0 <= percent <= 100:
        errors.append(field.invalid(f"{path}.lendablePercent", percent, "must be between 0 and 100, inclusive"))


def _check_response(response: Json, path: str, errors: Errors) -> None:
    kind, queuing = response.get("type", ""), response.get("queuing")
    if kind == "Reject":
        if queuing is not None:
            reason = "must be nil if limited.limitResponse.type is not Limited"
            errors.append(field.forbidden(f"{path}.queuing", reason))
    elif kind == "Queue":
        if queuing is None:
            reason = "must not be empty if limited.limitResponse.type is Limited"
            errors.append(field.required(f"{path}.queuing", reason))
        else:
            _check_queuing(queuing, f"{path}.queuing", errors)
    else:
        errors.append(field.not_supported(f"{path}.type", kind, RESPONSES))


def _check_queuing(queuing: Json, path: str, errors: Errors) -> None:
    """A flow is dealt a hand of queues; deck and hand together must not use up its hash."""
    queues, hand, length = queuing["queues"], queuing["handSize"], queuing["queueLengthLimit"]
    if length <= 0:
        errors.append(field.invalid(f"{path}.queueLengthLimit", length, "must be positive"))
    if queues <= 0:
        errors.append(field.invalid(f"{path}.queues", queues, "must be positive"))
    elif queues > MAX_QUEUES:
        errors.append(field.invalid(f"{path}.queues", queues, f"must not be greater than {MAX_QUEUES}"))
    if hand <= 0:
        errors.append(field.invalid(f"{path}.handSize", hand, "must be positive"))
    elif hand > queues:
        errors.append(field.invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(math.log2(queues) * hand) > MAX_HASH_BITS:
        reason = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {MAX_HASH_BITS}"
        )
        errors.append(field.invalid(f"{path}.handSize", hand, reason))


def _check_mandatory(spec: Json, name: str, path: str, errors: Errors) -> None:
    if name not in MANDATORY:
        return
    fixed = {k: v for k, v in spec.items() if k != "exempt"} if name == "exempt" else spec
    if fixed != MANDATORY[name]:
        exception = " except the 'spec.exempt' field" if name == "exempt" else ""
        value = as_internal("PriorityLevelConfigurationSpec", spec)
        errors.append(field.invalid(path, value, f"spec of '{name}'{exception} must equal the fixed value"))


PRIORITY_LEVEL = PriorityLevelStrategy()
