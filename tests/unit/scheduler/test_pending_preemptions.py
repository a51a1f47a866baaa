"""A pod whose victims are being removed is not tried again before the last of them was asked to go."""

from __future__ import annotations

import pytest

from controllers.scheduler.pending_preemptions import PendingPreemptions
from kubeloop.apimachinery.meta import Object
from kubeloop.testing.builders import a_pod
from tests.unit.scheduler.scene import info


def a_victim(uid: str = "v", is_going: bool = False) -> Object:
    pod = a_pod("victim").on("a")
    pod["metadata"] |= {"uid": uid} | ({"deletionTimestamp": "2026-01-01T00:00:00Z"} if is_going else {})
    return pod


def test_it_is_pending_from_begin_to_end() -> None:
    """While there are others to ask first, no look at a victim shortens it."""
    pending = PendingPreemptions()

    assert "vip" not in pending
    pending.begin("vip")
    assert "vip" in pending
    pending.end("vip")
    assert "vip" not in pending


@pytest.mark.parametrize(
    ("cached", "expected"),
    [
        (a_victim(), True),
        (a_victim(is_going=True), False),
        (a_victim("another"), False),
        (None, False),
    ],
    ids=["still there", "on its way out", "made anew", "gone"],
)
def test_the_last_victim_tells_whether_it_is_done(cached: Object | None, expected: bool) -> None:
    """Its end may be heard of before the request for it is answered, and has to find the preemptor waiting."""
    pending = PendingPreemptions(lambda key: cached if key.name == "victim" else None)
    pending.begin("vip")

    pending.wait_for_last("vip", info(a_victim()))

    assert expected == ("vip" in pending)
