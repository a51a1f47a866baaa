"""Which news of a pod are but the echo of a status that this process wrote: they ask for nothing.

A watch tells every version of an object, in order. What others write comes as news of its own, so the version that the
server gave to our own write differs from the one before it in nothing but that. After a list this need not hold:
whoever listens looks at everything then.

News that come while a write has no answer yet may be its echo or not: they are held back until the answer says so.
"""

from __future__ import annotations

from kubeloop.apimachinery.meta import ObjectKey


class Echoes:
    """At most two entries for each pod that this process writes of: gone with the pod (`forget`)."""

    def __init__(self) -> None:
        self._written: dict[ObjectKey, str] = {}  # the version of the last write that asks for no other look
        self._held_back: dict[ObjectKey, set[str]] = {}  # of each write under way: the versions heard of meanwhile

    def write_begins(self, key: ObjectKey) -> None:
        self._held_back[key] = set()

    def write_ends(self, key: ObjectKey, version: str = "") -> bool:
        """`version`: what the write made, where it asks for no other look. Whether what was held back does."""
        held_back = self._held_back.pop(key)
        if version:
            self._written[key] = version
        return bool(held_back - {version})

    def is_echo(self, key: ObjectKey, version: str) -> bool:
        """Whether the news of this version are to be left out (for now)."""
        held_back = self._held_back.get(key)
        if held_back is not None:
            held_back.add(version)
            return True
        return self._written.get(key) == version

    def forget(self, key: ObjectKey) -> None:
        self._written.pop(key, None)
