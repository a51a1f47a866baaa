"""Taints and labels that a node should have."""

from typing import Any

import pytest

from controllers.node_lifecycle.labels import beta_labels
from controllers.node_lifecycle.taints import changed, no_execute_changes, no_schedule_changes
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.tolerations import TaintId

PREFIX = "node.kubernetes.io/"


def a_node(conditions: dict[str, str], *taints: str, **spec: Any) -> Object:
    """Taints are NoSchedule, of kubeloop's prefix unless they have a slash."""
    full = [{"key": key if "/" in key else PREFIX + key, "effect": "NoSchedule"} for key in taints]
    listed = [{"type": type_, "status": status} for type_, status in conditions.items()]
    return {"spec": {"taints": full, **spec}, "status": {"conditions": listed}}


@pytest.mark.parametrize(
    ("node", "added", "removed"),
    [
        (a_node({}, "not-ready"), [], {"not-ready"}),
        (a_node({"Ready": "True"}, "not-ready", "example.com/mine"), [], {"not-ready"}),
        (a_node({"Ready": "False"}), ["not-ready"], set()),
        (a_node({"Ready": "False"}, "not-ready"), [], set()),
        (a_node({"Ready": "Unknown"}, "not-ready"), ["unreachable"], {"not-ready"}),
        (a_node({"MemoryPressure": "True", "PIDPressure": "True"}), ["memory-pressure", "pid-pressure"], set()),
        (a_node({"DiskPressure": "Unknown"}, "disk-pressure"), [], {"disk-pressure"}),
        (a_node({"NetworkUnavailable": "True", "Other": "True"}), ["network-unavailable"], set()),
        (a_node({"Ready": "True"}, unschedulable=True), ["unschedulable"], set()),
        (a_node({"Ready": "True"}, "unschedulable"), [], {"unschedulable"}),
    ],
)
def test_no_schedule_taints_follow_the_conditions(node: Object, added: list[str], removed: set[str]) -> None:
    """Those that are missing are added, those whose reason is gone removed; other taints are none of ours."""

    def taints(keys: Any) -> list[TaintId]:
        return [TaintId(PREFIX + key, "NoSchedule") for key in keys]

    assert (taints(added), set(taints(removed))) == no_schedule_changes(node)


def test_no_execute_taints_exclude_each_other() -> None:
    """Not ready, unreachable, or neither."""
    not_ready, unreachable = (TaintId(PREFIX + key, "NoExecute") for key in ("not-ready", "unreachable"))

    changes = [no_execute_changes(status) for status in ("True", "False", "Unknown")]

    assert [
        ([], {not_ready, unreachable}),
        ([not_ready], {unreachable}),
        ([unreachable], {not_ready}),
    ] == changes


def test_what_stays_keeps_its_place_and_time() -> None:
    """New taints come last and carry the time; no change is None."""
    old = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "value": "x", "effect": "NoExecute", "timeAdded": "then"}]
    added = [TaintId("b", "NoExecute"), TaintId("b", "NoSchedule")]

    assert [old[1], {"key": "b", "effect": "NoSchedule", "timeAdded": "now"}] == changed(
        old, added, {TaintId("a", "NoSchedule")}, "now"
    )
    assert changed(old, added[:1], {TaintId("c", "NoSchedule")}, "now") is None


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"kubernetes.io/os": "linux"}, {"beta.kubernetes.io/os": "linux"}),
        ({"kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "amd64"}, {"beta.kubernetes.io/arch": "arm64"}),
        ({"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux"}, {}),
        ({"beta.kubernetes.io/os": "linux"}, {}),
    ],
)
def test_beta_labels_repeat_the_stable_ones(labels: dict[str, str], expected: dict[str, str]) -> None:
    """Missing and contradicting ones are written; a beta label alone is left alone."""
    assert expected == beta_labels(labels)
