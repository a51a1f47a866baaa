"""The flags of every loop process."""

import argparse

import pytest

from kubeloop.runtime import flags


@pytest.mark.parametrize(
    ("text", "seconds"), [("15s", 15), ("1m30s", 90), ("500ms", 0.5), ("1h", 3600), ("0", 0), ("1.5s", 1.5)]
)
def test_durations_are_go_durations(text: str, seconds: float) -> None:
    """What kube-controller-manager takes for a duration is taken here."""
    assert seconds == flags.duration(text)


@pytest.mark.parametrize("text", ["", "15", "s", "1s1", "-1s", "1 s"])
def test_other_durations_are_refused(text: str) -> None:
    """A duration without a unit, as in Go, is a mistake that is explained."""
    with pytest.raises(argparse.ArgumentTypeError, match="write it as 15s"):
        flags.duration(text)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [([], True), (["--leader-elect"], True), (["--leader-elect=false"], False), (["--no-leader-elect"], False)],
)
def test_leader_election_can_be_turned_off_in_both_ways(arguments: list[str], expected: bool) -> None:
    """Go's --leader-elect=false and --no-leader-elect mean the same; it is on by default."""
    assert expected == flags.parser("kube-scheduler").parse_args(arguments).leader_elect
