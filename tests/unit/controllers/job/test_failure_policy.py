"""What a failed pod means under a pod failure policy."""

from typing import Any

import pytest

from controllers.job.failure_policy import Judgement, judge
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.jobs import a_job_pod


def on_codes(action: str, operator: str, *values: int, container: str | None = None) -> Object:
    requirement: Object = {"operator": operator, "values": list(values)}
    if container:
        requirement["containerName"] = container
    return {"action": action, "onExitCodes": requirement}


def on_condition(action: str, type_: str, status: str = "True") -> Object:
    return {"action": action, "onPodConditions": [{"type": type_, "status": status}]}


def a_disrupted_pod(status: str = "True") -> Object:
    pod = a_job_pod("p", "Failed")
    pod["status"]["conditions"] = [{"type": "DisruptionTarget", "status": status}]
    return pod


FAILED_42 = a_job_pod("p", "Failed", code=42)


@pytest.mark.parametrize(
    ("rules", "pod", "action"),
    [
        ([], FAILED_42, ""),
        ([on_codes("Ignore", "In", 42)], FAILED_42, "Ignore"),
        ([on_codes("Count", "NotIn", 42)], FAILED_42, ""),
        ([on_codes("Count", "NotIn", 1)], FAILED_42, "Count"),
        ([on_codes("FailIndex", "In", 42, container="c")], FAILED_42, "FailIndex"),
        ([on_codes("FailIndex", "In", 42, container="other")], FAILED_42, ""),
        ([on_codes("Count", "NotIn", 1)], a_job_pod("p", "Failed", code=0), ""),
        ([on_codes("Ignore", "In", 1), on_codes("Count", "In", 42), on_codes("FailJob", "In", 42)], FAILED_42, "Count"),
        ([on_condition("Ignore", "DisruptionTarget")], a_disrupted_pod(), "Ignore"),
        ([on_condition("Ignore", "DisruptionTarget")], a_disrupted_pod("False"), ""),
        ([on_condition("Ignore", "DisruptionTarget")], FAILED_42, ""),
    ],
)
def test_the_first_rule_that_matches_decides(rules: list[Any], pod: Object, action: str) -> None:
    """By exit codes other than 0 of one container or all, or by conditions of the pod."""
    assert Judgement(action) == judge({"rules": rules}, pod)


@pytest.mark.parametrize(
    ("rule", "pod", "message"),
    [
        (
            on_codes("FailJob", "In", 42),
            FAILED_42,
            "Container c for pod default/p failed with exit code 42 matching FailJob rule at index 1",
        ),
        (
            on_condition("FailJob", "DisruptionTarget"),
            a_disrupted_pod(),
            "Pod default/p has condition DisruptionTarget matching FailJob rule at index 1",
        ),
    ],
)
def test_a_job_that_fails_says_why(rule: Object, pod: Object, message: str) -> None:
    """The message names container or condition, pod, code and rule."""
    assert message == judge({"rules": [on_codes("Count", "In", 7), rule]}, pod).message


def test_an_init_container_matches_too() -> None:
    """Exit codes of init containers are looked at after those of containers."""
    pod = a_job_pod("p", "Failed")
    pod["status"]["initContainerStatuses"] = [{"name": "init", "state": {"terminated": {"exitCode": 3}}}]

    assert "Container init" in judge({"rules": [on_codes("FailJob", "In", 3)]}, pod).message
