"""What was found out about a Certificate, and the status that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from examples.operators.certificate.api import ISSUING, READY
from examples.operators.certificate.authority import Authority, Obstacle
from examples.operators.certificate.inspection import Cause, Held, renewal_time
from examples.operators.certificate.model import Wanted
from kubeloop.apimachinery.conditions import Condition, conditions_of, get_condition
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.times import format_time


@dataclass(frozen=True, slots=True)
class Finding:
    """`cause` is None where all is well; an `obstacle` may be there without mattering yet."""

    wanted: Wanted
    held: Held | None = None
    authority: Authority | None = None
    cause: Cause | None = None
    obstacle: Obstacle | None = None

    @property
    def is_ready(self) -> bool:
        return self.cause is None or not self.cause.is_urgent

    @property
    def may_issue(self) -> bool:
        return self.cause is not None and self.obstacle is None

    @property
    def renewal(self) -> datetime | None:
        return renewal_time(self.wanted, self.held, self.authority) if self.held else None

    @property
    def next_look(self) -> datetime | None:
        """When time alone changes what there is to say."""
        if self.held is None or not self.is_ready:
            return None
        return self.held.ends_at if self.cause else self.renewal or self.held.ends_at


def status_of(found: Finding) -> tuple[Object, Sequence[Condition]]:
    """The fields of the status, and its conditions; None takes a field away."""
    held, renewal = found.held, found.renewal
    fields = {
        "notBefore": format_time(held.starts_at) if held else None,
        "notAfter": format_time(held.ends_at) if held else None,
        "renewalTime": format_time(renewal) if renewal else None,
        "serialNumber": f"{held.certificate.serial_number:x}" if held else None,
        "revision": held.revision if held else found.wanted.issued_before or None,
    }
    return fields, (_ready(found), _issuing(found))


def reason_of(obj: ReadOnlyObject, condition_type: str) -> str:
    """What was last said of it."""
    return (get_condition(conditions_of(obj), condition_type) or {}).get("reason") or ""


def _ready(found: Finding) -> Condition:
    why = found.obstacle or found.cause
    if found.is_ready or why is None:
        until = format_time(found.held.ends_at) if found.held else ""
        return _condition(READY, True, "Ready", f"Secret {found.wanted.secret_name} is good until {until}")
    return _condition(READY, False, why.reason, why.message)


def _issuing(found: Finding) -> Condition:
    if found.cause is None:
        return _condition(ISSUING, False, "UpToDate", "nothing is to be issued now")
    why = found.obstacle or found.cause
    return _condition(ISSUING, found.obstacle is None, why.reason, why.message)


def _condition(type_: str, is_true: bool, reason: str, message: str) -> Condition:
    return {"type": type_, "status": "True" if is_true else "False", "reason": reason, "message": message}
