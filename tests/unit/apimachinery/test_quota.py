"""What objects cost in a quota. Facts: pkg/quota/v1/evaluator/core (v1.36)."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.quota import (
    concerns,
    counted_resources,
    evaluator_of,
    missing_constraints,
    scopes_of,
    total_usage,
)
from kubeloop.apimachinery.times import parse_time

NOW = parse_time("2026-01-02T00:00:00Z")


def usage(resource: str, obj: Object) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in evaluator_of(resource).usage(obj, NOW).items()}


def a_pod(**fields: Any) -> Object:
    resources = {"requests": {"cpu": "1", "example.com/gpu": "2"}, "limits": {"memory": "1Gi"}}
    return {"metadata": {}, "spec": {"containers": [{"name": "c", "resources": resources}]}, **fields}


RUNNING = {
    "count/pods": "1",
    "pods": "1",
    "cpu": "1",
    "requests.cpu": "1",
    "requests.example.com/gpu": "2",
    "limits.memory": "1Gi",
}
DELETED = "2026-01-01T23:59:00Z"


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (a_pod(), RUNNING),
        (a_pod(status={"phase": "Succeeded"}), {"count/pods": "1"}),
        (a_pod(status={"phase": "Failed"}), {"count/pods": "1"}),
        (a_pod(metadata={"deletionTimestamp": DELETED, "deletionGracePeriodSeconds": 30}), {"count/pods": "1"}),
        (a_pod(metadata={"deletionTimestamp": DELETED, "deletionGracePeriodSeconds": 90}), RUNNING),
    ],
)
def test_what_a_pod_costs(pod: Object, expected: dict[str, str]) -> None:
    """A finished pod, or one overdue to be gone, is only counted."""
    assert expected == usage("pods", pod)


def test_devices_of_a_class_count_for_the_pod_that_asks_for_them() -> None:
    """They are asked for as an extended resource named after the class, in Kubernetes' own domain."""
    pod = a_pod()
    pod["spec"]["containers"][0]["resources"] = {"requests": {"deviceclass.resource.kubernetes.io/gpu": "2"}}

    assert {
        "count/pods": "1",
        "pods": "1",
        "requests.deviceclass.resource.kubernetes.io/gpu": "2",
    } == usage("pods", pod)


@pytest.mark.parametrize(
    ("spec", "load_balancers", "node_ports"),
    [
        ({"type": "ClusterIP", "ports": [{}, {}]}, "0", "0"),
        ({"type": "NodePort", "ports": [{}, {}]}, "0", "2"),
        ({"type": "LoadBalancer", "ports": [{}, {}]}, "1", "2"),
        (
            {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [{"nodePort": 1}, {}]},
            "1",
            "1",
        ),
    ],
)
def test_what_a_service_costs(spec: Object, load_balancers: str, node_ports: str) -> None:
    """Node ports are counted by intent: they are not handed out yet."""
    expected = {
        "count/services": "1",
        "services": "1",
        "services.loadbalancers": load_balancers,
        "services.nodeports": node_ports,
    }
    assert expected == usage("services", {"spec": spec})


def test_what_a_claim_costs() -> None:
    """Storage in whole bytes, once in all and once for its class; an expansion under way counts."""
    claim = {
        "spec": {"storageClassName": "gold", "resources": {"requests": {"storage": "1500m"}}},
        "status": {"allocatedResources": {"storage": "1Gi"}},
    }

    expected = {
        "persistentvolumeclaims": "1",
        "count/persistentvolumeclaims": "1",
        "requests.storage": "1Gi",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
        "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
    }
    assert expected == usage("persistentvolumeclaims", claim)
    assert "2" == usage("persistentvolumeclaims", {"spec": claim["spec"]})["requests.storage"]


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("secrets", {"count/secrets": "1", "secrets": "1"}),
        ("deployments.apps", {"count/deployments.apps": "1"}),
        ("widgets.example.com", {"count/widgets.example.com": "1"}),
    ],
)
def test_most_objects_are_only_counted(resource: str, expected: dict[str, str]) -> None:
    """A few under an old name, too."""
    assert expected == usage(resource, {})


def test_devices_count_by_class() -> None:
    """Of alternatives the largest number counts."""
    requests = [
        {"name": "a", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}},
        {
            "name": "b",
            "firstAvailable": [{"deviceClassName": "gpu", "count": 1}, {"deviceClassName": "gpu", "count": 3}],
        },
    ]

    shown = usage("resourceclaims.resource.k8s.io", {"spec": {"devices": {"requests": requests}}})

    assert {"count/resourceclaims.resource.k8s.io": "1", "gpu.deviceclass.resource.k8s.io/devices": "5"} == shown


@pytest.mark.parametrize(
    ("resource", "hard", "expected"),
    [
        ("pods", ["requests.cpu", "secrets", "requests.nvidia.com/gpu"], ["requests.cpu", "requests.nvidia.com/gpu"]),
        ("pods", ["requests.kubernetes.io/x", "hugepages-2Mi"], ["hugepages-2Mi"]),
        (
            "persistentvolumeclaims",
            ["requests.storage", "g.storageclass.storage.k8s.io/requests.storage", "pods"],
            ["g.storageclass.storage.k8s.io/requests.storage", "requests.storage"],
        ),
        ("configmaps", ["configmaps", "count/configmaps", "count/secrets"], ["configmaps", "count/configmaps"]),
    ],
)
def test_which_names_count_a_resource(resource: str, hard: list[str], expected: list[str]) -> None:
    """Each evaluator knows its own names in a quota."""
    assert expected == evaluator_of(resource).matching(hard)


@pytest.mark.parametrize(
    ("spec", "is_concerned"),
    [
        ({}, True),
        ({"scopes": ["NotBestEffort"]}, True),
        ({"scopes": ["BestEffort"]}, False),
        ({"scopes": ["NotBestEffort", "Terminating"]}, False),
        ({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}}, False),
    ],
)
def test_all_scopes_must_hold(spec: Object, is_concerned: bool) -> None:
    """A quota without scopes concerns every pod."""
    quota = {"spec": spec, "status": {"hard": {"pods": "1"}}}

    assert is_concerned == concerns(quota, evaluator_of("pods"), a_pod())


@pytest.mark.parametrize(
    ("operator", "values", "name", "expected"),
    [
        ("In", ["high"], "high", True),
        ("In", ["high"], "low", False),
        ("In", ["high"], "", False),
        ("NotIn", ["high"], "low", True),
        ("NotIn", ["high"], "", True),
        ("NotIn", ["high"], "high", False),
        ("Exists", [], "low", True),
        ("Exists", [], "", False),
        ("DoesNotExist", [], "", True),
    ],
)
def test_a_scope_selects_priority_classes(operator: str, values: list[str], name: str, expected: bool) -> None:
    """By operator, as label selectors do."""
    scope = {"scopeName": "PriorityClass", "operator": operator, "values": values}

    assert expected == evaluator_of("pods").in_scope(scope, {"spec": {"priorityClassName": name}})


def test_a_recount_adds_up_what_is_in_scope() -> None:
    """Names that nothing costs are zero; what the quota does not limit is left out."""
    quota = {"spec": {"scopes": ["NotTerminating"]}}
    pods = [a_pod(), a_pod(), a_pod(spec={"activeDeadlineSeconds": 1, "containers": []})]
    hard = ["pods", "requests.cpu", "limits.cpu", "secrets"]

    total = total_usage(hard, scopes_of(quota), evaluator_of("pods"), pods, NOW)

    assert {"limits.cpu": "0", "pods": "2", "requests.cpu": "2"} == {name: str(total[name]) for name in total}


def test_containers_must_state_what_is_counted() -> None:
    """Of CPU and memory only, and not where the pod states it as a whole."""
    spec = {"containers": [{"name": "b"}, {"name": "a"}]}
    whole = {**spec, "resources": {"requests": {"cpu": "1"}}}
    required = ["requests.cpu", "limits.memory", "pods", "requests.ephemeral-storage"]

    assert "must specify limits.memory for: a,b; requests.cpu for: a,b" == missing_constraints({"spec": spec}, required)
    assert "" == missing_constraints({"spec": whole}, required)


def test_which_resources_a_quota_counts() -> None:
    """By every name they have in quotas."""
    hard = ["requests.cpu", "secrets", "count/deployments.apps", "services.nodeports", "count/pods"]

    assert ["deployments.apps", "pods", "secrets", "services"] == counted_resources(hard)
