"""The bytes of watch events, encoded once and shared by every watcher that sends the same ones."""

from __future__ import annotations

from apiserver.storage.interface import Change
from apiserver.watch.selection import EventType

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
        self._encoded: dict[tuple[int, EventType, bytes], bytes] = {}

    def encode(self, change: Change, event_type: EventType, head: bytes = b"{") -> bytes:
        """One line of a watch stream. `head` opens the object, as in `Stored.encode`.

        DELETED shows the version before, at the revision of the change.
        """
        key = (change.revision, event_type, head)
        encoded = self._encoded.get(key)
        if encoded is None:
            shown = change.previous if event_type == "DELETED" else change.current
            assert shown is not None  # event_type() never says otherwise
            encoded = b"%b%b}\n" % (_OPENINGS[event_type], shown.encode(head, change.revision))
            if len(self._encoded) >= self._max_remembered:
                del self._encoded[next(iter(self._encoded))]
            self._encoded[key] = encoded
        return encoded
