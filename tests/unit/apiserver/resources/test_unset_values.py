"""Values that were never set: how they print in a refusal, and where an empty one is not an unset one."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import KindOnTrial

TEMPLATE: Object = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "n:1"}]},
}
WORKLOAD: Object = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}


@pytest.mark.parametrize(
    ("kind", "strategy", "expected"),
    [
        (
            "Deployment",
            {"strategy": {"type": "Odd", "rollingUpdate": {"maxSurge": 1}}},
            'spec.strategy: Unsupported value: {"Type":"Odd","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":1}}: '
            'supported values: "Recreate", "RollingUpdate"',
        ),
        (
            "DaemonSet",
            {"updateStrategy": {"type": "Odd", "rollingUpdate": {}}},
            'spec.updateStrategy: Unsupported value: {"Type":"Odd","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":0}}: '
            'supported values: "RollingUpdate", "OnDelete"',
        ),
        (
            "StatefulSet",
            {"updateStrategy": {"type": "Odd", "rollingUpdate": {}}},
            'spec.updateStrategy: Invalid value: {"Type":"Odd","RollingUpdate":{"Partition":0,"MaxUnavailable":null}}: '
            "must be 'RollingUpdate' or 'OnDelete'",
        ),
    ],
)
def test_a_strategy_of_no_type_shows_all_its_numbers(kind: str, strategy: Object, expected: str) -> None:
    """A rolling update prints as a struct: numbers that were not set are 0."""
    actual = KindOnTrial("apps/v1", kind).create_errors({"spec": {**WORKLOAD, **strategy}})

    assert [expected] == actual


def test_an_empty_protocol_of_a_slice_is_a_value_of_its_own() -> None:
    """A port of an EndpointSlice is TCP where it says nothing, and refused where it says nothing at all but so."""
    slices = KindOnTrial("discovery.k8s.io/v1", "EndpointSlice")
    body = {"addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"]}]}

    defaulted = slices.created({**body, "ports": [{"port": 80}]})["ports"]
    refused = slices.create_errors({**body, "ports": [{"port": 80, "protocol": ""}]})

    assert [{"name": "", "port": 80, "protocol": "TCP"}] == defaulted
    assert ['ports[0].protocol: Unsupported value: "": supported values: "SCTP", "TCP", "UDP"'] == refused


def test_the_overhead_of_a_runtime_class_is_as_fine_as_it_says() -> None:
    """Unlike the resource lists of core kinds it is not rounded up to thousandths."""
    actual = KindOnTrial("node.k8s.io/v1", "RuntimeClass").created(
        {"handler": "a", "overhead": {"podFixed": {"cpu": "0.0001"}}}
    )

    assert {"podFixed": {"cpu": "100u"}} == actual["overhead"]


def test_a_condition_has_a_type_and_looks_at_a_generation_that_is() -> None:
    """A condition without type has no valid name, and none was made for a generation below zero."""
    budgets = KindOnTrial("policy/v1", "PodDisruptionBudget")
    condition = {
        "status": "True",
        "reason": "R",
        "message": "",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
        "observedGeneration": -1,
    }

    actual = budgets.change_errors(budgets.created({"spec": {}}), {"status": {"conditions": [condition]}}, "status")

    path = "status.conditions[0]"
    assert f'{path}.type: Invalid value: "": name part must be non-empty' == actual[0]
    assert f"{path}.observedGeneration: Invalid value: -1: must be greater than or equal to zero" == actual[-1]
    assert len(actual) == 3
