"""Nodes: what kubelets declare about themselves."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import KindOnTrial

NODES = KindOnTrial("v1", "Node")
SHAPE = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
    "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (["A", "B/c"], []),
        (
            ["B", "A", "A"],
            [
                'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
                'status.declaredFeatures[2]: Duplicate value: "A"',
            ],
        ),
        (["a b"], [f'status.declaredFeatures[0]: Invalid value: "a b": invalid feature name "a b": {SHAPE}']),
        (
            ["A" * 254],
            [
                f'status.declaredFeatures[0]: Invalid value: "{"A" * 254}": invalid feature name '
                f'"{"A" * 254}": must be no more than 253 characters'
            ],
        ),
    ],
)
def test_declared_features_are_sorted_names(features: list[str], expected: list[str]) -> None:
    """On creation and with a new status, each declared feature is a name, listed once, in order."""
    status = {"status": {"declaredFeatures": features}}
    old = NODES.created({})

    assert expected == NODES.create_errors(status)
    assert expected == NODES.change_errors(old, status, "status")


def test_swap_that_is_there_has_a_size() -> None:
    """A node with no swap says nothing of it, not zero."""
    status: Object = {"nodeInfo": {"swap": {"capacity": 0}}}

    actual = NODES.create_errors({"status": status})

    assert ["metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero"] == actual


def test_configuration_by_config_map_is_gone() -> None:
    """The old way to configure kubelets is dropped wherever it is sent."""
    source = {"configMap": {"name": "a", "namespace": "b", "kubeletConfigKey": "c"}}
    node = NODES.created({"spec": {"configSource": source}, "status": {"config": {"assigned": source}}})

    changed = NODES.changed(node, {"spec": {"configSource": source}})
    reported = NODES.changed(node, {"status": {"config": {"assigned": source}}}, "status")

    assert "configSource" not in node["spec"] | changed["spec"]
    assert "config" not in node["status"] | reported["status"]


def test_pod_ranges_that_are_none_have_no_family() -> None:
    """A node has one range of each IP family; whether it has cannot be told where one is no range."""
    actual = NODES.create_errors({"spec": {"podCIDRs": ["10.0.0.0/24", "x"]}})

    assert [
        'spec.podCIDRs[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[1]: "
        "<nil> (invalid CIDR address: x)",
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","x"]: may specify no more than one CIDR for each IP family',
    ] == actual
