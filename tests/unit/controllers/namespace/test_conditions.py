"""What a terminating namespace says of itself."""

from datetime import timedelta

from controllers.namespace.conditions import Findings, updated
from kubeloop.apimachinery.resource import CONFIG_MAPS, DEPLOYMENTS
from tests.unit.controllers.workloads import NOW, seconds_ago


def test_nothing_amiss() -> None:
    """Five conditions, all False, in the order that people know."""
    conditions = updated([], Findings(), NOW)

    assert [
        ("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered"),
        ("NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions"),
        ("NamespaceDeletionContentFailure", "False", "ContentDeleted"),
        ("NamespaceContentRemaining", "False", "ContentRemoved"),
        ("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers"),
    ] == [(c["type"], c["status"], c["reason"]) for c in conditions]


def test_what_is_left_is_told() -> None:
    """By resource and by finalizer, sorted."""
    findings = Findings(
        "no discovery",
        ["b failed", "a failed"],
        {DEPLOYMENTS: 2, CONFIG_MAPS: 1},
        {"example.com/b": 1, "example.com/a": 2},
    )

    messages = {c["type"]: c["message"] for c in updated([], findings, NOW) if c["status"] == "True"}

    assert {
        "NamespaceDeletionDiscoveryFailure": "no discovery",
        "NamespaceDeletionContentFailure": "Failed to delete all resource types, 2 remaining: a failed, b failed",
        "NamespaceContentRemaining": (
            "Some resources are remaining:"
            " configmaps. has 1 resource instances, deployments.apps has 2 resource instances"
        ),
        "NamespaceFinalizersRemaining": (
            "Some content in the namespace has finalizers remaining:"
            " example.com/a in 2 resource instances, example.com/b in 1 resource instances"
        ),
    } == messages


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    """Other messages do not count as a transition, and an unchanged round changes nothing."""
    before = updated([], Findings(remaining={CONFIG_MAPS: 2}), NOW)

    after = updated(before, Findings(remaining={CONFIG_MAPS: 1}), NOW + timedelta(seconds=60))

    assert {seconds_ago(0)} == {c["lastTransitionTime"] for c in after}
    assert after == updated(after, Findings(remaining={CONFIG_MAPS: 1}), NOW + timedelta(seconds=90))
