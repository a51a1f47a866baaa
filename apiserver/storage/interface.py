"""What the API server asks of its storage: a log of changes with one global, gapless revision counter.

The registry writes through `Storage.write`; the watch tail reads through `changes_after`. Nothing above this folder
knows that a database exists. `revision` is storage's word for what the wire calls resourceVersion.

Serialise once: an object is kept as the JSON bytes that follow its resourceVersion, so that a new revision, a list, a
get and a thousand watchers are served by joining bytes, never by parsing. See `Stored.encode`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import orjson

from kubeloop.apimachinery.values import value

# resourceVersion is written where Go has it, behind `"uid":"…",`, which encode_body always has in this form.
_UID = b'"uid":"'
_UID_LENGTH = len(_UID) + 36 + len(b'",')


_METADATA_ORDER = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
_METADATA_RANKS = {field: rank for rank, field in enumerate(_METADATA_ORDER)}


class Key(NamedTuple):
    """Names one stored object. `resource` is the storage resource ("pods", "deployments.apps")."""

    resource: str
    namespace: str  # "" for cluster-scoped objects
    name: str

    @property
    def path(self) -> str:
        """What lists are sorted by within a resource: as in etcd, where `a-b/x` comes before `a/x`."""
        return f"{self.namespace}/{self.name}"


@value
class Value:
    """An object on its way into storage: its encoded body, and what selectors may ask of it without parsing."""

    body: bytes  # from encode_body
    labels: Mapping[str, str]
    fields: Mapping[str, str]  # selectable fields, "metadata.name" and "metadata.namespace" left out: the key has them


@value
class Stored:
    """One object at one revision. Immutable, shared by every reader."""

    key: Key
    revision: int
    body: bytes
    labels: Mapping[str, str]
    fields: Mapping[str, str]

    def encode(self, head: bytes = b"{", revision: int | None = None) -> bytes:
        """The object's JSON text. `head` opens it: `{` alone or `{"kind":"Pod","apiVersion":"v1",`.

        `revision` overrides the resourceVersion shown: a DELETED event has the last body at the deletion's revision.
        """
        shown = self.revision if revision is None else revision
        body = self.body
        at = body.find(_UID)  # the first one is the object's own: only names stand before it
        if at < 0:
            return b'%b"metadata":{"resourceVersion":"%d",%b' % (head, shown, body)
        at += _UID_LENGTH
        return b'%b"metadata":{%b"resourceVersion":"%d",%b' % (head, body[:at], shown, body[at:])

    def object(self) -> dict[str, Any]:
        """The object, freshly parsed (so the caller may change it), without kind and apiVersion unless stored so."""
        return orjson.loads(self.encode())


def encode_body(obj: Mapping[str, Any]) -> bytes:
    """The JSON text that follows `"metadata":{`, without resourceVersion: metadata, then the other fields.

    metadata must hold at least one field besides resourceVersion (each object has a name). It is written in Go order,
    so nothing but names stands before its uid, which is 36 characters long and never the last field; a field that
    ObjectMeta does not have is a KeyError, as no decoder lets one through.
    """
    sent = obj["metadata"]
    metadata = {k: sent[k] for k in sorted(sent, key=_METADATA_RANKS.__getitem__) if k != "resourceVersion"}
    rest = {k: v for k, v in obj.items() if k != "metadata"}
    body = orjson.dumps(metadata)[1:]
    return body + b"," + orjson.dumps(rest)[1:] if rest else body + b"}"


@value
class Write:
    """One compare-and-swap.

    `expected`: 0, the key must be absent; n, its current revision must be n; None, whatever is there.
    `value`: None deletes. `keep_history=False` (Leases, heartbeats) lets the log forget the new version once another
    such write replaces it: a watcher that resumes from before sees the newest only. A version at which labels or
    fields changed is never forgotten, so selectors miss nothing.
    """

    key: Key
    expected: int | None
    value: Value | None
    keep_history: bool = True


@value
class Change:
    """One committed step of the log: created (no previous), modified, or deleted (no current)."""

    revision: int
    key: Key
    current: Stored | None
    previous: Stored | None


class StorageError(Exception):
    """The tree: KeyExists, RevisionMismatch, Compacted, StorageUnavailable."""


class KeyExists(StorageError):
    """expected=0, and the key is there."""


class RevisionMismatch(StorageError):
    """The key's revision is not the expected one; `current` is None where the key is absent."""

    def __init__(self, current: Stored | None) -> None:
        super().__init__(f"current revision is {current.revision if current else 'none'}")
        self.current = current


class Compacted(StorageError):
    """The log no longer reaches back to `revision`; `oldest` is the first it can answer for."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} is compacted, the oldest is {oldest}")
        self.revision, self.oldest = revision, oldest


class StorageUnavailable(StorageError):
    """The write was not stored and nothing was lost: disk full, read-only, database gone. The text says which."""


class Storage(Protocol):
    """The contract suite in tests/contract/storage_suite.py holds for every implementation."""

    @property
    def head(self) -> int:
        """The revision of the newest change committed, as far as this process knows."""
        ...

    @property
    def compacted(self) -> int:
        """Changes up to this revision may be gone: watches resume only from it or later."""
        ...

    async def start(self) -> None: ...

    async def close(self) -> None:
        """Finish the writes under way, then close."""
        ...

    async def write(self, write: Write) -> Change:
        """Commit one change; on return it survives kill -9. Concurrent callers share a commit (group commit).

        Raises KeyExists, RevisionMismatch (both leave everything as it was), StorageUnavailable.
        Deleting an absent key is a RevisionMismatch with current None.
        """
        ...

    async def snapshot(self) -> tuple[int, Sequence[Stored]]:
        """Every current object, and the revision they are current at."""
        ...

    async def range_at(self, resource: str, namespace: str, revision: int) -> Sequence[Stored]:
        """The objects of a resource (namespace "": all) as they were at `revision`, in key order. Raises Compacted."""
        ...

    async def changes_after(self, revision: int, limit: int) -> Sequence[Change]:
        """The next changes in revision order, at most `limit`. Raises Compacted where revision < compacted."""
        ...

    async def wait_for_changes(self, after: int) -> None:
        """Return once a change newer than `after` is committed (by this process, or seen by polling)."""
        ...

    async def compact(self, revision: int) -> None:
        """Forget what was replaced or deleted at or before `revision`; current objects stay."""
        ...
