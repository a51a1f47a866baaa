"""Allocations that the informer does not show yet: decided and not written, or written and not heard of.

All profiles of a scheduler share one, so that no two pods are ever given the same device.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from kubeloop.apimachinery.meta import Object, ObjectKey, is_older, key_of, uid_of


class Allocations:
    """A few entries a claim that is being allocated, or was and has not been heard of since."""

    def __init__(self) -> None:
        self._pending: dict[str, Object] = {}  # claims as they will be, by uid
        self._written: dict[ObjectKey, Object] = {}
        # Claims that were sent, and no answer came: their devices may be taken, until a newer version is seen.
        self._doubtful: dict[str, list[Object]] = {}

    def is_pending(self, claim: Object) -> bool:
        """Somebody is about to write it: whoever else wants the claim waits for that."""
        return uid_of(claim) in self._pending

    def begin(self, claim: Object, allocation: Object) -> None:
        status = {**(claim.get("status") or {}), "allocation": allocation}
        self._pending[uid_of(claim)] = {**claim, "status": status}

    def end(self, claim: Object) -> None:
        self._pending.pop(uid_of(claim), None)

    def note_sent(self, claim: Object) -> None:
        """Before it is known whether it was written."""
        self._doubtful.setdefault(uid_of(claim), []).append(claim)

    def note_refused(self, claim: Object) -> None:
        """What was sent last was not written."""
        self._doubtful[uid_of(claim)].pop()

    def note_written(self, claim: Object) -> None:
        self._written[key_of(claim)] = claim
        self._doubtful.pop(uid_of(claim), None)

    def newest(self, key: ObjectKey, seen: Object | None) -> Object | None:
        """What was written last, as long as what is seen is older."""
        written = self._written.get(key)
        if written is None:
            return seen
        if seen is None or uid_of(seen) != uid_of(written) or not is_older(seen, written):
            del self._written[key]
            return seen
        return written

    def all(self, seen: Iterable[Object], except_for: Collection[str] = ()) -> Iterator[Object]:
        """Every claim as it is, will be and may be; of those whose uids are in `except_for` not what may be."""
        uids, keys = set(), set()
        for claim in seen:
            uids.add(uid_of(claim))
            keys.add(key_of(claim))
            newest = self.newest(key_of(claim), claim) or claim
            self._believe(newest)
            yield newest
        yield from self._pending.values()
        for uid in self._doubtful.keys() - uids:
            del self._doubtful[uid]  # the claim is gone
        for key in self._written.keys() - keys:
            del self._written[key]
        for uid, claims in self._doubtful.items():
            if uid not in except_for:
                yield from claims

    def _believe(self, seen: Object) -> None:
        """What has been seen tells what became of all that was sent before."""
        if doubtful := self._doubtful.get(uid_of(seen)):
            self._doubtful[uid_of(seen)] = [claim for claim in doubtful if not is_older(claim, seen)]
