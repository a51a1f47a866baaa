"""Keeps repeated events from flooding the cluster: equal ones become a count, similar ones one, chatty sources are cut.

Pure but for the memory it keeps. Semantics of EventCorrelator in client-go's tools/record/events_cache.go (v1.36).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.times import format_time

MAX_REMEMBERED = 4096  # each memory is bounded; the least recently used is forgotten and simply counts from 1 again
MAX_SIMILAR_EVENTS = 10
SIMILAR_WITHIN_SECONDS = 600.0
SPAM_BURST = 25
SPAM_REFILL_PER_SECOND = 1 / 300

Remembered = TypeVar("Remembered")
Key = tuple[Hashable, ...]


@dataclass(slots=True)
class Correlated:
    """What is to be written: a new event, or (where `patch` is set) a change of one that exists."""

    event: Object
    key: Key
    patch: Object | None


@dataclass(slots=True)
class _Similar:
    messages: dict[str, None]
    last: datetime


@dataclass(slots=True)
class _Tokens:
    left: float
    at: datetime


@dataclass(slots=True)
class _Written:
    name: str
    count: int
    first_timestamp: str


@dataclass(slots=True)
class _Memory(Generic[Remembered]):
    entries: OrderedDict[Key, Remembered] = field(default_factory=OrderedDict)

    def get(self, key: Key) -> Remembered | None:
        found = self.entries.get(key)
        if found is not None:
            self.entries.move_to_end(key)
        return found

    def set(self, key: Key, value: Remembered) -> None:
        self.entries[key] = value
        self.entries.move_to_end(key)
        if len(self.entries) > MAX_REMEMBERED:
            self.entries.popitem(last=False)


class EventCorrelator:
    def __init__(self) -> None:
        self._similar: _Memory[_Similar] = _Memory()
        self._written: _Memory[_Written] = _Memory()
        self._tokens: _Memory[_Tokens] = _Memory()

    def correlate(self, event: Object, now: datetime) -> Correlated | None:
        """None: the source has said enough about this object for now."""
        source = _source_key(event)
        event, key = self._aggregate(event, source, now)
        correlated = self._count(event, key)
        return correlated if self._has_token(source, now) else None

    def written(self, correlated: Correlated, answer: Object) -> None:
        """The server's answer names the event that later repeats will patch."""
        record = _Written(name_of(answer), answer.get("count") or 1, answer.get("firstTimestamp") or "")
        self._written.set(correlated.key, record)

    def _aggregate(self, event: Object, source: Key, now: datetime) -> tuple[Object, Key]:
        """From the tenth message of one reason within ten minutes on, they share one event."""
        key = (*source, event["reason"])
        record = self._similar.get(key)
        if record is None or (now - record.last).total_seconds() > SIMILAR_WITHIN_SECONDS:
            record = _Similar({}, now)
            self._similar.set(key, record)
        record.messages[event["message"]] = None
        record.last = now
        if len(record.messages) < MAX_SIMILAR_EVENTS:
            return event, (*source, event["involvedObject"].get("fieldPath", ""), event["reason"], event["message"])
        del record.messages[next(iter(record.messages))]
        return {**event, "message": f"(combined from similar events): {event['message']}"}, key

    def _count(self, event: Object, key: Key) -> Correlated:
        """An event seen before is told again by raising its count."""
        record = self._written.get(key)
        if record is None:
            self._written.set(key, _Written(name_of(event), 1, event["firstTimestamp"]))
            return Correlated(event, key, None)
        record.count += 1
        repeated = {
            **event,
            "metadata": {**event["metadata"], "name": record.name},
            "firstTimestamp": record.first_timestamp,
            "count": record.count,
        }
        patch = {"count": record.count, "lastTimestamp": event["lastTimestamp"], "message": event["message"]}
        return Correlated(repeated, key, patch)

    def _has_token(self, source: Key, now: datetime) -> bool:
        """25 events at once about one object, then one every five minutes."""
        tokens = self._tokens.get(source)
        if tokens is None:
            tokens = _Tokens(SPAM_BURST, now)
            self._tokens.set(source, tokens)
        refilled = (now - tokens.at).total_seconds() * SPAM_REFILL_PER_SECOND
        tokens.left, tokens.at = min(SPAM_BURST, tokens.left + refilled), now
        is_allowed = tokens.left >= 1
        if is_allowed:
            tokens.left -= 1
        return is_allowed


def _source_key(event: Object) -> Key:
    source, about = event["source"].get, event["involvedObject"].get
    return (
        source("component", ""),
        source("host", ""),
        about("kind", ""),
        about("namespace", ""),
        about("name", ""),
        about("uid", ""),
        about("apiVersion", ""),
        event["type"],
    )


def new_event(
    about: Object, component: str, host: str, event_type: str, reason: str, message: str, now: datetime, suffix: int
) -> Object:
    """A core/v1 Event as client-go's recorder makes it; `about` is an object reference."""
    timestamp = format_time(now)
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": f"{about['name']}.{suffix:x}", "namespace": about.get("namespace") or "default"},
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "source": {"component": component, **({"host": host} if host else {})},
        "firstTimestamp": timestamp,
        "lastTimestamp": timestamp,
        "count": 1,
        "type": event_type,
        "eventTime": None,
        "reportingComponent": component,
        "reportingInstance": host,
    }
