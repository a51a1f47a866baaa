"""Counting, combining and dropping events, with client-go's numbers."""

from datetime import UTC, datetime, timedelta
from typing import Any

from kubeloop.runtime.event_correlator import Correlated, EventCorrelator, new_event

START = datetime(2026, 1, 1, tzinfo=UTC)
POD = {"kind": "Pod", "apiVersion": "v1", "namespace": "default", "name": "web", "uid": "u1"}


class Teller:
    """Tells a correlator events and answers as the server would."""

    def __init__(self) -> None:
        self.correlator = EventCorrelator()
        self.now = START
        self._suffix = 0

    def tell(self, message: str, reason: str = "Pulled", about: dict[str, Any] = POD) -> Correlated | None:
        self._suffix += 1
        event = new_event(about, "kubelet", "node-1", "Normal", reason, message, self.now, self._suffix)
        correlated = self.correlator.correlate(event, self.now)
        if correlated is not None:
            self.correlator.written(correlated, correlated.event)
        return correlated


def test_a_repeat_raises_the_count() -> None:
    """The same event again is a patch of the first: count, last time and message."""
    teller = Teller()
    teller.tell("image pulled")
    teller.now += timedelta(minutes=1)

    repeat = teller.tell("image pulled")

    assert repeat is not None
    assert "web.1" == repeat.event["metadata"]["name"]
    assert {"count": 2, "lastTimestamp": "2026-01-01T00:01:00Z", "message": "image pulled"} == repeat.patch


def test_events_about_another_object_are_new() -> None:
    """Object, reason and message each make an event of its own."""
    teller = Teller()
    teller.tell("a")

    others = [teller.tell("b"), teller.tell("a", reason="Failed"), teller.tell("a", about={**POD, "uid": "u2"})]

    assert [None, None, None] == [other.patch if other else "dropped" for other in others]


def test_similar_events_are_combined_from_the_tenth_on() -> None:
    """Ten messages of one reason within ten minutes: from then on one event stands for all."""
    teller = Teller()
    first = [teller.tell(f"message {i}") for i in range(9)]

    tenth, eleventh = teller.tell("message 9"), teller.tell("message 10")

    assert [f"message {i}" for i in range(9)] == [each.event["message"] for each in first if each]
    assert tenth is not None and eleventh is not None
    assert "(combined from similar events): message 9" == tenth.event["message"]
    assert tenth.patch is None
    assert {"count": 2, "message": "(combined from similar events): message 10"}.items() <= (
        eleventh.patch or {}
    ).items()


def test_after_ten_quiet_minutes_nothing_is_similar() -> None:
    """Messages further apart than ten minutes are not combined."""
    teller = Teller()
    for i in range(20):
        teller.now += timedelta(minutes=11)
        told = teller.tell(f"message {i}")

    assert told is not None
    assert "message 19" == told.event["message"]


def test_a_chatty_source_is_cut() -> None:
    """25 events about one object at once, then one every five minutes; other objects are not affected."""
    teller = Teller()

    at_once = [teller.tell("again and again") for _ in range(30)]
    other = teller.tell("hello", about={**POD, "name": "other"})
    teller.now += timedelta(minutes=5)
    later = [teller.tell("again and again") for _ in range(2)]

    assert 25 == sum(each is not None for each in at_once)
    assert other is not None
    assert [True, False] == [each is not None for each in later]
