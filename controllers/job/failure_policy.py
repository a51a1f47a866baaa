"""spec.podFailurePolicy: what a failed pod means to its Job. Pure.

The first rule that matches a pod decides (pkg/controller/job/pod_failure_policy.go, v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubeloop.apimachinery.conditions import conditions_of
from kubeloop.apimachinery.meta import ReadOnlyObject, name_of, namespace_of

IGNORE, FAIL_JOB, FAIL_INDEX = "Ignore", "FailJob", "FailIndex"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The action of the rule that matched, "" where none did; for FailJob, the message that says so."""

    action: str = ""
    message: str = ""

    @property
    def is_counted(self) -> bool:
        """Whether the failure counts towards the backoff limits."""
        return self.action != IGNORE


def judge(policy: ReadOnlyObject | None, pod: ReadOnlyObject) -> Judgement:
    for index, rule in enumerate((policy or {}).get("rules") or ()):
        finding = _finding(rule, pod)
        if finding:
            message = f"{finding} matching {rule['action']} rule at index {index}"
            return Judgement(rule["action"], message if rule["action"] == FAIL_JOB else "")
    return Judgement()


def _finding(rule: ReadOnlyObject, pod: ReadOnlyObject) -> str:
    """What of the pod matches the rule; "" where nothing does."""
    requirement = rule.get("onExitCodes")
    if requirement is not None:
        status = _container_with_code(pod, requirement)
        if status is None:
            return ""
        code = status["state"]["terminated"]["exitCode"]
        return f"Container {status.get('name')} for pod {_full_name(pod)} failed with exit code {code}"
    condition = _matching_condition(pod, rule.get("onPodConditions") or ())
    return f"Pod {_full_name(pod)} has condition {condition['type']}" if condition else ""


def _container_with_code(pod: ReadOnlyObject, requirement: ReadOnlyObject) -> ReadOnlyObject | None:
    status = pod.get("status") or {}
    container, wanted = requirement.get("containerName"), requirement.get("operator") == "In"
    for entry in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
        code = ((entry.get("state") or {}).get("terminated") or {}).get("exitCode") or 0
        is_asked_for = container is None or container == entry.get("name")
        if is_asked_for and code != 0 and (code in (requirement.get("values") or ())) == wanted:
            return entry
    return None


def _matching_condition(pod: ReadOnlyObject, patterns: Sequence[ReadOnlyObject]) -> ReadOnlyObject | None:
    wanted = {(pattern.get("type"), pattern.get("status")) for pattern in patterns}
    return next((c for c in conditions_of(pod) if (c.get("type"), c.get("status")) in wanted), None)


def _full_name(pod: ReadOnlyObject) -> str:
    return f"{namespace_of(pod)}/{name_of(pod)}"
