"""What a plugin answers: a Status, or None where it has no objection.

None is the success of upstream's framework: nearly every call ends in it, and a plain None costs nothing.
Statuses that never vary are module constants of their plugin, so the filter loop allocates nothing either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum


class Code(IntEnum):
    """The meanings of upstream's codes (kube-scheduler/framework, v1.36)."""

    ERROR = 1  # the plugin failed; the pod is tried again after a backoff
    UNSCHEDULABLE = 2  # not on this node now; removing pods from it might help
    UNRESOLVABLE = 3  # not on this node, and preemption would not help
    WAIT = 4  # Permit only: hold the pod back
    SKIP = 5  # PreFilter, PreScore, Bind: this plugin has nothing to do for this pod
    PENDING = 6  # the cycle is done, but the pod waits for something outside


@dataclass(frozen=True, slots=True)
class Status:
    """A refusal, an error or a skip, with the plugin it came from."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    @property
    def is_rejected(self) -> bool:
        """Whether it is an answer about the pod, not a failure of the plugin."""
        return self.code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING)

    def of(self, plugin: str) -> Status:
        """The same, said by `plugin`."""
        return self if self.plugin == plugin else replace(self, plugin=plugin)


def name_of_code(status: Status | None) -> str:
    """As upstream prints codes."""
    return "Success" if status is None else _NAMES[status.code]


_NAMES = {
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}
SKIP = Status(Code.SKIP)


def unschedulable(*reasons: str) -> Status:
    return Status(Code.UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    return Status(Code.UNRESOLVABLE, reasons)


def failed(reason: str) -> Status:
    return Status(Code.ERROR, (reason,))
