"""Conditions of a status."""

from __future__ import annotations

from kubeloop.apimachinery.conditions import get_condition, is_true, set_condition, without_condition

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
READY = {"type": "Ready", "status": "True", "reason": "Up", "lastTransitionTime": THEN}


def test_the_time_stays_while_the_status_does() -> None:
    """A new reason alone is no transition."""
    found = set_condition([READY], {"type": "Ready", "status": "True", "reason": "Fine"}, NOW)

    assert [{**READY, "reason": "Fine"}] == found


def test_a_flip_is_timed() -> None:
    """When the status flips the time is now, and the list given is left alone."""
    given = [{"type": "A", "status": "True"}, READY]

    found = set_condition(given, {"type": "Ready", "status": "False"}, NOW)

    assert [{"type": "A", "status": "True"}, {**READY, "status": "False", "lastTransitionTime": NOW}] == found
    assert "True" == given[1]["status"]


def test_a_new_condition_goes_to_the_end() -> None:
    """A type that was not there is appended with the time."""
    found = set_condition([READY], {"type": "New", "status": "True"}, NOW)

    assert {"type": "New", "status": "True", "lastTransitionTime": NOW} == found[-1]


def test_conditions_are_found_by_type() -> None:
    """Conditions are looked up and taken out by type."""
    assert READY == get_condition([READY], "Ready")
    assert get_condition([READY], "None") is None
    assert is_true([READY], "Ready")
    assert [] == without_condition([READY], "Ready")
