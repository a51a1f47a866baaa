"""The health of an object, kind by kind."""

from __future__ import annotations

from typing import Any

import pytest

from examples.operators.gitops.health import DEGRADED, HEALTHY, MISSING, PROGRESSING, health_of, worst

ROLLED_OUT = {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3}
READY_SET = {"observedGeneration": 2, "readyReplicas": 3, "updatedReplicas": 3, "updateRevision": "b"}
DAEMONS = {"observedGeneration": 2, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 2}


def with_condition(type_: str, status: str = "True", **fields: str) -> dict[str, Any]:
    return {"conditions": [{"type": type_, "status": status, **fields}]}


def container(state: str, **fields: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "c", "state": {state: fields}}]}


LATE = with_condition("Progressing", "False", reason="ProgressDeadlineExceeded", message="timed out")


@pytest.mark.parametrize(
    ("group", "kind", "spec", "status", "expected"),
    [
        ("apps", "Deployment", {"replicas": 3}, ROLLED_OUT, (HEALTHY, "")),
        ("apps", "Deployment", {"replicas": 0}, {"observedGeneration": 2}, (HEALTHY, "")),
        ("apps", "Deployment", {"replicas": 3}, {**ROLLED_OUT, "observedGeneration": 1}, (PROGRESSING, "waiting for")),
        ("apps", "Deployment", {}, {"observedGeneration": 2}, (PROGRESSING, "0 of 1 new replicas have been updated")),
        ("apps", "Deployment", {"replicas": 3}, {**ROLLED_OUT, "replicas": 4}, (PROGRESSING, "1 old replicas are")),
        (
            "apps",
            "Deployment",
            {"replicas": 3},
            {**ROLLED_OUT, "availableReplicas": 2},
            (PROGRESSING, "2 of 3 updated"),
        ),
        ("apps", "Deployment", {"replicas": 3}, {**ROLLED_OUT, **LATE}, (DEGRADED, "timed out")),
        ("apps", "Deployment", {"paused": True}, {}, (HEALTHY, "paused")),
        ("apps", "StatefulSet", {"replicas": 3}, {**READY_SET, "currentRevision": "b"}, (HEALTHY, "")),
        ("apps", "StatefulSet", {"replicas": 3}, {**READY_SET, "readyReplicas": 2}, (PROGRESSING, "2 of 3 replicas")),
        ("apps", "StatefulSet", {"replicas": 3}, {**READY_SET, "updatedReplicas": 1}, (PROGRESSING, "1 of 3 replicas")),
        (
            "apps",
            "StatefulSet",
            {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}},
            {**READY_SET, "updatedReplicas": 1, "currentRevision": "a"},
            (HEALTHY, ""),
        ),
        (
            "apps",
            "StatefulSet",
            {"replicas": 3, "updateStrategy": {"type": "OnDelete"}},
            {**READY_SET, "updatedReplicas": 1},
            (HEALTHY, ""),
        ),
        ("apps", "DaemonSet", {}, DAEMONS, (HEALTHY, "")),
        ("apps", "DaemonSet", {}, {**DAEMONS, "updatedNumberScheduled": 1}, (PROGRESSING, "1 of 2 pods have been")),
        ("apps", "DaemonSet", {}, {**DAEMONS, "numberAvailable": 1}, (PROGRESSING, "1 of 2 pods are available")),
        ("batch", "Job", {}, {}, (PROGRESSING, "running")),
        ("batch", "Job", {}, with_condition("Complete"), (HEALTHY, "")),
        ("batch", "Job", {"suspend": True}, with_condition("Suspended"), (HEALTHY, "suspended")),
        ("batch", "Job", {}, with_condition("Failed", message="too many failures"), (DEGRADED, "too many failures")),
        ("", "PersistentVolumeClaim", {}, {"phase": "Pending"}, (PROGRESSING, "not bound")),
        ("", "PersistentVolumeClaim", {}, {"phase": "Bound"}, (HEALTHY, "")),
        ("", "PersistentVolumeClaim", {}, {"phase": "Lost"}, (DEGRADED, "its volume is lost")),
        ("", "Pod", {}, {"phase": "Pending"}, (PROGRESSING, "")),
        ("", "Pod", {}, {"phase": "Running", **with_condition("Ready")}, (HEALTHY, "")),
        ("", "Pod", {}, {"phase": "Running", **with_condition("Ready", "False")}, (PROGRESSING, "not ready")),
        ("", "Pod", {"restartPolicy": "Never"}, {"phase": "Running"}, (PROGRESSING, "running to its end")),
        ("", "Pod", {}, {"phase": "Succeeded"}, (HEALTHY, "")),
        ("", "Pod", {}, {"phase": "Failed", **container("terminated", exitCode=3)}, (DEGRADED, "exit code 3")),
        (
            "",
            "Pod",
            {},
            {"phase": "Pending", **container("waiting", reason="ErrImagePull")},
            (DEGRADED, "ErrImagePull"),
        ),
        (
            "",
            "Pod",
            {},
            {"phase": "Running", **container("waiting", reason="CrashLoopBackOff", message="back-off 10s")},
            (DEGRADED, "back-off 10s"),
        ),
        ("", "Pod", {}, {"phase": "Pending", **container("waiting", reason="ContainerCreating")}, (PROGRESSING, "")),
        ("", "Service", {}, {}, (HEALTHY, "")),
        ("", "Service", {"type": "LoadBalancer"}, {}, (PROGRESSING, "waiting for a load balancer")),
        ("", "Service", {"type": "LoadBalancer"}, {"loadBalancer": {"ingress": [{"ip": "::1"}]}}, (HEALTHY, "")),
        ("apiextensions.k8s.io", "CustomResourceDefinition", {}, {}, (PROGRESSING, "not established yet")),
        ("apiextensions.k8s.io", "CustomResourceDefinition", {}, with_condition("Established"), (HEALTHY, "")),
        (
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            {},
            with_condition("NamesAccepted", "False", message="taken"),
            (DEGRADED, "taken"),
        ),
        ("", "ConfigMap", {}, {}, (HEALTHY, "")),
        ("example.com", "Deployment", {}, {}, (HEALTHY, "")),
    ],
)
def test_each_kind_has_its_rule(
    group: str, kind: str, spec: dict[str, Any], status: dict[str, Any], expected: tuple[str, str]
) -> None:
    """What its controller reports decides; kinds of no rule are healthy."""
    health = health_of({"metadata": {"generation": 2}, "spec": spec, "status": status}, group, kind)

    assert expected == (health.status, health.message[: len(expected[1])])


def test_what_is_missing_or_leaving_is_not_healthy() -> None:
    """Of whatever kind."""
    assert MISSING == health_of(None, "", "ConfigMap").status
    assert PROGRESSING == health_of({"metadata": {"deletionTimestamp": "now"}}, "", "ConfigMap").status


def test_an_application_is_as_its_worst_object() -> None:
    """Healthy where it has none."""
    assert [HEALTHY, MISSING, DEGRADED, PROGRESSING] == [
        worst([]),
        worst([PROGRESSING, MISSING, HEALTHY]),
        worst([DEGRADED, MISSING]),
        worst([HEALTHY, PROGRESSING]),
    ]
