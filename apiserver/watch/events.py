"""The bytes of watch events, encoded once and shared by every watcher that sends the same ones."""

from __future__ import annotations

from collections.abc import Iterator

from apiserver.storage.interface import Change
from apiserver.watch.selection import EventType
from kubeloop.apimachinery.exposition import COUNTER, Family, Sample
from kubeloop.apimachinery.resource import Resource

_OPENINGS: dict[str, bytes] = {
    event_type: b'{"type":"%b","object":' % event_type.encode() for event_type in ("ADDED", "MODIFIED", "DELETED")
}


class EventEncoding:
    """Encodes changes, and remembers the newest encodings.

    Watchers of one change run close together, so a short memory is enough. Full: the oldest encoding is dropped and
    would be made again.
    """

    def __init__(self, *, max_remembered: int = 2_000) -> None:
        self._max_remembered = max_remembered
        # One key names one text: a revision is one change, whichever predicate made it an event of this type.
        self._encoded: dict[tuple[int, EventType, bytes, bytes], bytes] = {}
        self._sent: dict[tuple[str, str, str], int] = {}  # (group, version, resource): as many as are served

    def sent(self, resource: Resource, count: int) -> None:
        """So many events went to a watcher."""
        key = (resource.group, resource.version, resource.plural)
        self._sent[key] = self._sent.get(key, 0) + count

    def families(self) -> Iterator[Family]:
        names = ("group", "version", "resource")
        samples = [Sample(dict(zip(names, key, strict=True)), count) for key, count in self._sent.items()]
        yield Family("apiserver_watch_events_total", COUNTER, "[ALPHA] Number of events sent in watch clients", samples)

    def encode(self, change: Change, event_type: EventType, head: bytes = b"{", variant: bytes = b"") -> bytes:
        """One line of a watch stream. `head` opens the object, as in `Stored.encode`.

        DELETED shows the version before, at the revision of the change. `variant` tells objects apart that one change
        may show under one head: those of custom kinds, whose definition may have become another.
        """
        key = (change.revision, event_type, head, variant)
        encoded = self._encoded.get(key)
        if encoded is None:
            shown = change.previous if event_type == "DELETED" else change.current
            assert shown is not None  # event_type() never says otherwise
            encoded = b"%b%b}\n" % (_OPENINGS[event_type], shown.encode(head, change.revision))
            if len(self._encoded) >= self._max_remembered:
                del self._encoded[next(iter(self._encoded))]
            self._encoded[key] = encoded
        return encoded
