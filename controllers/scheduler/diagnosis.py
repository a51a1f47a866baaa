"""Diagnosis: why a pod went where it went, or nowhere; and the message that says so.

A value: `schedule.schedule_one` returns it, the scheduler turns it into the FailedScheduling event and the PodScheduled
condition, and tools can show it node by node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from controllers.scheduler.interface import Nomination
from controllers.scheduler.status import Code, Status

UNSEEN = Status(Code.UNRESOLVABLE)  # of a node that nobody said anything about


@dataclass(slots=True)
class Diagnosis:
    """What was found out about one pod in one attempt."""

    total_nodes: int = 0
    node_statuses: dict[str, Status] = field(default_factory=dict)  # refused nodes: plugin and reasons
    absent: Status = UNSEEN  # what holds for every node neither refused nor feasible
    unschedulable_plugins: set[str] = field(default_factory=set)
    pending_plugins: set[str] = field(default_factory=set)
    pre_filter_message: str = ""
    post_filter_message: str = ""
    scores: dict[str, dict[str, int]] = field(default_factory=dict)  # node: plugin: weighted score

    def refuse(self, node_name: str, status: Status) -> None:
        self.node_statuses[node_name] = status
        self.note(status)

    def note(self, status: Status) -> None:
        """Remember whom to ask whether an event helps."""
        if status.plugin and status.is_rejected:
            self.unschedulable_plugins.add(status.plugin)
        if status.plugin and status.code is Code.PENDING:
            self.pending_plugins.add(status.plugin)

    @property
    def message(self) -> str:
        """`0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). preemption: …`."""
        message = f"0/{self.total_nodes} nodes are available:"
        if self.pre_filter_message:
            message += f" {self.pre_filter_message}."
        elif histogram := self._histogram():
            message += f" {', '.join(histogram)}."
        if self.post_filter_message:
            message += f" {self.post_filter_message}"
        return message

    def _histogram(self) -> list[str]:
        """How many nodes for each reason. The lines are sorted as text, as upstream sorts them."""
        return sorted(f"{count} {reason}" for reason, count in self.reasons().items())

    def reasons(self) -> Mapping[str, int]:
        reasons: Counter[str] = Counter()
        for status in self.node_statuses.values():
            reasons.update(status.reasons)
        unseen = self.total_nodes - len(self.node_statuses)
        if unseen > 0:
            for reason in self.absent.reasons:
                reasons[reason] += unseen
        return reasons


@dataclass(slots=True)
class Decision:
    """What became of one attempt: a node, or a status that says why there is none."""

    diagnosis: Diagnosis
    node_name: str = ""
    status: Status | None = None
    nomination: Nomination | None = None
    feasible_nodes: int = 0
    evaluated_nodes: int = 0

    @property
    def message(self) -> str:
        """Of a failure: the diagnosis where the pod did not fit, else what went wrong."""
        if self.status is not None and not self.status.reasons:
            return self.diagnosis.message
        return self.status.message if self.status is not None else ""
