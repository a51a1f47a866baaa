"""What a container that has ended leaves for people in its status."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.kubelet_sim.played_pod import PlayedPod, a_container, a_pod

LOGS = {"terminationMessagePolicy": "FallbackToLogsOnError"}


@pytest.mark.parametrize(
    ("script", "fields", "message"),
    [
        ("echo why > /dev/termination-log; exit 1", {}, "why\n"),
        ("echo done > /dev/termination-log", {}, "done\n"),
        ("echo why > /tmp/why; exit 1", {"terminationMessagePath": "/tmp/why"}, "why\n"),
        ("echo one; echo two >&2; exit 1", {}, None),
        ("echo one; echo two >&2; exit 1", LOGS, "one\ntwo\n"),
        ("echo one; exit 0", LOGS, None),
        ("echo log; echo why > /dev/termination-log; exit 1", LOGS, "why\n"),
        ("seq 100; exit 1", LOGS, "".join(f"{n}\n" for n in range(21, 101))),
        ("sleep 1; echo late > /dev/termination-log; sleep 1; exit 1", {}, "late\n"),
    ],
)
def test_a_message_is_what_was_written_for_it_or_the_end_of_the_log(
    script: str, fields: dict[str, str], message: str | None
) -> None:
    """The log of one that failed, where it asks for that and wrote nothing else: its last 80 lines."""
    played = PlayedPod(a_pod(a_container(command=["sh", "-c", script], **fields), restartPolicy="Never"))

    terminated = played.until(5)["containerStatuses"][0]["state"]["terminated"]

    assert message == terminated.get("message")


@pytest.mark.parametrize(("seconds", "message"), [(2, None), (4, "late\n")])
def test_what_a_container_had_no_time_to_write_is_not_there(seconds: int, message: str | None) -> None:
    """It is stopped before or after it wrote."""
    script = "sleep 3; echo late > /dev/termination-log; sleep 99"
    played = PlayedPod(a_pod(a_container(command=["sh", "-c", script])))
    played.until(seconds)

    played.delete()
    status: Any = played.until(seconds + 1)

    assert message == status["containerStatuses"][0]["state"]["terminated"].get("message")


def test_what_an_annotation_lets_a_container_log_counts() -> None:
    """Up to the moment of its end."""
    annotations = {
        "kubeloop.io/log": "starting\nafter 1s: no database\nafter 9s: ready",
        "kubeloop.io/exit-after": "2s",
    }
    pod = a_pod(a_container(**LOGS), annotations={**annotations, "kubeloop.io/exit-code": "3"}, restartPolicy="Never")

    terminated = PlayedPod(pod).until(5)["containerStatuses"][0]["state"]["terminated"]

    assert "starting\nno database\n" == terminated["message"]
