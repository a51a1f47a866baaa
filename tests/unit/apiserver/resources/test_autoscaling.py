"""HorizontalPodAutoscalers: one stored kind, two versions, and nothing lost between them."""

from __future__ import annotations

import pytest

from apiserver.resources.conversions import CONVERSIONS
from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import KindOnTrial

V1 = KindOnTrial("autoscaling/v1", "HorizontalPodAutoscaler")
V2 = KindOnTrial("autoscaling/v2", "HorizontalPodAutoscaler")
FROM_STORED = CONVERSIONS["autoscaling", "v1", "HorizontalPodAutoscaler"].from_stored
TO_STORED = CONVERSIONS["autoscaling", "v1", "HorizontalPodAutoscaler"].to_stored

TARGET = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}


def cpu(percent: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def autoscaler(**spec: object) -> Object:
    return {"spec": {"scaleTargetRef": TARGET, "maxReplicas": 5, **spec}}


def test_without_metrics_four_fifths_of_the_cpu_are_aimed_at() -> None:
    """An autoscaler that names no metric gets one, and at least one replica."""
    actual = V2.created(autoscaler())["spec"]

    assert {"scaleTargetRef": TARGET, "minReplicas": 1, "maxReplicas": 5, "metrics": [cpu(80)]} == actual


def test_the_old_target_is_a_metric() -> None:
    """v1's CPU percentage is stored as v2's metric."""
    actual = V1.created(autoscaler(targetCPUUtilizationPercentage=60))["spec"]["metrics"]

    assert [cpu(60)] == actual


def test_the_metric_is_the_old_target() -> None:
    """v2's CPU metric reads as v1's percentage."""
    stored = V2.created(autoscaler(metrics=[cpu(70)]))

    actual = FROM_STORED(stored)["spec"]

    assert {
        "scaleTargetRef": TARGET,
        "minReplicas": 1,
        "maxReplicas": 5,
        "targetCPUUtilizationPercentage": 70,
    } == actual


PODS_METRIC: Object = {
    "type": "Pods",
    "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "10"}},
}
BEHAVIOR: Object = {"scaleDown": {"policies": [{"type": "Pods", "value": 4, "periodSeconds": 60}]}}


@pytest.mark.parametrize(
    "spec",
    [{"metrics": [PODS_METRIC]}, {"metrics": [PODS_METRIC, cpu(50)]}, {"behavior": BEHAVIOR}],
    ids=["other metric", "two metrics", "behavior"],
)
def test_what_the_old_version_cannot_say_survives_it(spec: Object) -> None:
    """Metrics and behaviour go through v1 and back unchanged, in annotations."""
    stored = V2.created(autoscaler(**spec))

    actual = TO_STORED(FROM_STORED(stored))

    assert stored["spec"] == actual["spec"]
    assert stored["metadata"] == actual["metadata"]


def test_the_target_of_an_autoscaler_may_change_and_its_bounds_must_fit() -> None:
    """More replicas at least than at most are refused."""
    actual = V2.create_errors(autoscaler(minReplicas=6))

    assert ["spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`"] == actual


def test_rules_without_a_policy_are_refused() -> None:
    """No policies at all are filled in; an empty list of them is a mistake."""
    absent = V2.create_errors(autoscaler(behavior={"scaleUp": {}}))
    empty = V2.create_errors(autoscaler(behavior={"scaleUp": {"policies": []}}))

    assert [] == absent
    assert ["spec.behavior.scaleUp.policies: Required value: must specify at least one Policy"] == empty


@pytest.mark.parametrize(
    ("target", "refusal"),
    [
        ({"kind": "ReplicationController", "apiVersion": "v1"}, ""),
        ({"kind": "ReplicationController"}, ""),
        ({"kind": "Deployment", "apiVersion": "v1"}, "apiVersion must specify API group"),
        ({"kind": "Deployment", "apiVersion": "/v1"}, "apiVersion must specify API group"),
        ({"kind": "ReplicationController", "apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
    ],
)
def test_only_a_replication_controller_has_no_group(target: Object, refusal: str) -> None:
    """All else that can be scaled is in a group, which the target must name."""
    actual = V2.create_errors(autoscaler(scaleTargetRef={"name": "d", **target}))

    at = f'spec.scaleTargetRef.apiVersion: Invalid value: "{target.get("apiVersion", "")}": '
    assert ([at + refusal] if refusal else []) == actual
