"""Signs of life, and what a silent node's conditions say."""

from typing import Any

import pytest

from controllers.node_lifecycle.health import Health, is_silent, observe, silent_conditions
from controllers.node_lifecycle.settings import Settings
from kubeloop.apimachinery.meta import Object

CREATED, BEAT, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z", "2026-01-01T00:10:00Z"
NEVER = None


def a_node(heartbeat: str | None, *conditions: Object) -> Object:
    ready = [] if heartbeat is NEVER else [{"type": "Ready", "status": "True", "lastHeartbeatTime": heartbeat}]
    return {"metadata": {"name": "n", "creationTimestamp": CREATED}, "status": {"conditions": [*ready, *conditions]}}


def a_lease(second: int) -> Object:
    return {"spec": {"renewTime": f"2026-01-01T00:00:{second:02}.000000Z"}}


@pytest.mark.parametrize(
    ("before", "heartbeat", "lease", "seen_at"),
    [
        (None, BEAT, None, 1000),
        (None, NEVER, None, 930),
        (Health(940, NEVER), NEVER, None, 940),
        (Health(940, NEVER), BEAT, None, 1000),
        (Health(940, CREATED), BEAT, None, 1000),
        (Health(940, BEAT), BEAT, None, 940),
        (Health(940, BEAT), NEVER, None, 940),
        (Health(940, BEAT), BEAT, a_lease(5), 1000),
        (Health(940, NEVER), NEVER, a_lease(5), 1000),
        (Health(940, BEAT, a_lease(5)["spec"]["renewTime"]), BEAT, a_lease(5), 940),
        (Health(940, BEAT, a_lease(5)["spec"]["renewTime"]), BEAT, a_lease(4), 940),
        (Health(940, BEAT, a_lease(5)["spec"]["renewTime"]), BEAT, a_lease(6), 1000),
        (Health(940, BEAT, a_lease(5)["spec"]["renewTime"]), BEAT, None, 940),
    ],
)
def test_signs_of_life(before: Health | None, heartbeat: str | None, lease: Object | None, seen_at: float) -> None:
    """A new heartbeat or a renewed lease is one; a node that never reported is waited for from its creation."""
    health = observe(before, a_node(heartbeat), lease, now=1000, age_seconds=70)

    assert seen_at == health.seen_at


@pytest.mark.parametrize(
    ("heartbeat", "silent_for", "expected"),
    [(BEAT, 50, False), (BEAT, 50.1, True), (NEVER, 60, False), (NEVER, 60.1, True)],
)
def test_patience(heartbeat: str | None, silent_for: float, expected: bool) -> None:
    """50 seconds, or 60 for a kubelet that has yet to report."""
    assert expected == is_silent(Health(1000, heartbeat), 1000 + silent_for, Settings())


def test_conditions_of_a_silent_node() -> None:
    """What was reported turns Unknown, what never was is added as Unknown, what is not the kubelet's stays."""
    network = {"type": "NetworkUnavailable", "status": "False"}
    disk = {"type": "DiskPressure", "status": "Unknown", "reason": "Older", "lastTransitionTime": CREATED}

    conditions = silent_conditions(a_node(BEAT, network, disk), NOW)

    stopped: dict[str, Any] = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
    never: dict[str, Any] = {"reason": "NodeStatusNeverUpdated", "message": "Kubelet never posted node status."}
    never |= {"status": "Unknown", "lastHeartbeatTime": CREATED, "lastTransitionTime": NOW}
    assert [
        {"type": "Ready", "status": "Unknown", "lastHeartbeatTime": BEAT, "lastTransitionTime": NOW, **stopped},
        network,
        disk,
        {"type": "MemoryPressure", **never},
        {"type": "PIDPressure", **never},
    ] == conditions
