"""GET with watch: a stream of events that starts at a revision and ends with its time, its client or its slowness.

The events of a batch go out in one send, and JSON events are encoded once for all watchers. A client that cannot keep
up is cut off (`TooSlow`) and resumes from the last revision it saw. One task a watch waits for the client to hang up.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from apiserver.handlers.call import Call
from apiserver.handlers.deadlines import USUAL
from apiserver.handlers.encoding import as_table, object_of, printed_of
from apiserver.handlers.negotiation import STREAMS_ONLY, YAML
from apiserver.handlers.response import NOT_KEPT, Receive, Send
from apiserver.handlers.warning_headers import warning_headers
from apiserver.printing.table import check_include_object, partial_metadata
from apiserver.registry.catalog import Kind
from apiserver.registry.listing import revision_complaint
from apiserver.registry.options import ListOptions
from apiserver.registry.selection import Selection, select
from apiserver.registry.shown_changes import shown_changes
from apiserver.storage.interface import Change, Compacted, Stored
from apiserver.watch.broadcast import TooSlow, Watcher
from apiserver.watch.cache import WatchCache
from apiserver.watch.events import EventEncoding
from apiserver.watch.selection import event_type
from kubeloop.apimachinery.errors import ApiError, BadRequest, Expired, InternalError, NotAcceptable, Timeout
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.numbers import parse_uint

BOOKMARK_SECONDS = 60.0
# The last bookmark comes so long before the end, that the next watch begins where this one was.
LAST_BOOKMARK_SECONDS = 2.0
# How many initial objects go out in one send, so that a large collection does not stand in memory twice.
CHUNK = 500
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"

EncodeEvent = Callable[[Change, str], bytes]


async def watch(
    call: Call,
    options: ListOptions,
    encoding: EventEncoding,
    receive: Receive,
    send: Send,
    min_seconds: float = USUAL.min_watch_seconds,
) -> None:
    """Open the stream and feed it until it ends.

    Without timeoutSeconds it ends after `min_seconds`, times 1 to 2 by chance.
    """
    kind = call.target.kind
    selection = select(kind, options.label_selector, options.field_selector)
    name = _watched_name(call, selection)
    since = _since(options.resource_version)
    stream = _Stream(call, options, selection, encoding, send, min_seconds)
    try:
        watcher, initial = await _open(call, options, name, since)
    except (Compacted, Timeout) as error:
        # Once the request is understood, whatever is wrong is told in the stream.
        await stream.start()
        await stream.fail(error)
        await stream.finish()
        return
    with watcher:
        await stream.start()
        try:
            async with asyncio.TaskGroup() as tasks:
                hang_up = tasks.create_task(_wait_for_hang_up(receive, stream, watcher))
                await stream.run(watcher, initial)
                hang_up.cancel()
        except* OSError:
            stream.is_open = False  # the client hung up in the middle of a send
    await stream.finish()


def _watched_name(call: Call, selection: Selection) -> str:
    """The one object that is watched, or "" for all; a path that names one bears no selector of others."""
    name, selected = call.target.name, selection.fields
    if name and not selected.is_empty and selected.exact_value("metadata.name") != name:
        raise BadRequest("fieldSelector metadata.name doesn't match requested name")
    return name or selection.name


def _since(version: str) -> int:
    if version and (complaint := revision_complaint(version)):
        raise ApiError(complaint, code=500)
    return parse_uint(version or "0")


async def _open(call: Call, options: ListOptions, name: str, since: int) -> tuple[Watcher, Sequence[Stored] | None]:
    """The watcher, and the objects that make its initial events (None where it resumes from a version).

    Compacted where it resumes from too long ago, Timeout where it is to begin with a state that is yet to come.
    """
    cache, kind, namespace = call.registry.machinery.cache, call.target.kind, call.target.namespace
    initial_wanted = options.send_initial_events
    if since and not initial_wanted:
        return cache.watch(kind.storage, namespace, name, since), None
    await cache.fresh()
    if since:
        await call.registry.lister.wait_for(since)
    watcher = cache.watch(kind.storage, namespace, name)
    if initial_wanted is False:
        return watcher, None
    return watcher, _current(cache, kind, namespace, name)


def _current(cache: WatchCache, kind: Kind, namespace: str, name: str) -> Sequence[Stored]:
    items = cache.list(kind.storage, namespace)
    return [stored for stored in items if stored.key.name == name] if name else items


async def _wait_for_hang_up(receive: Receive, stream: _Stream, watcher: Watcher) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.is_open = False
    watcher.interrupt()


class _Stream:
    """One response that goes on."""

    def __init__(
        self,
        call: Call,
        options: ListOptions,
        selection: Selection,
        encoding: EventEncoding,
        send: Send,
        min_seconds: float,
    ) -> None:
        if call.form.media_type == YAML:
            raise NotAcceptable(STREAMS_ONLY)
        if call.form.transform == "Table":
            check_include_object(call.include_object)
        self._call, self._options, self._send = call, options, send
        self._kind = call.target.kind
        self._matches = None if selection.is_everything else selection.matches
        self._encoding, self._min_seconds = encoding, min_seconds
        self._encode = self._encoder(encoding)
        self._first_table = True
        self.is_open = True

    async def start(self) -> None:
        headers = [
            (b"content-type", b"application/json"),
            NOT_KEPT,
            *warning_headers(self._call.warnings.texts),
        ]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": b"", "more_body": True})

    async def run(self, watcher: Watcher, initial: Sequence[Stored] | None) -> None:
        """Initial events, then changes as they come; ends with its time, its client or an ERROR event."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds()
        try:
            if initial is not None:
                await self._send_initial(initial, watcher)
            next_bookmark = _next_bookmark(loop.time(), deadline)
            while self.is_open and loop.time() < deadline:
                batch = await self._next_batch(watcher, min(next_bookmark, deadline))
                await self._send_events(batch)
                if loop.time() >= next_bookmark:
                    next_bookmark = _next_bookmark(loop.time(), deadline)
                    if self._options.allow_watch_bookmarks:
                        await self._write(self._bookmark(watcher.revision))
        except TooSlow:
            return  # it resumes from the last revision it saw
        except Compacted as error:
            await self.fail(error)
        except ApiError as error:  # of a conversion webhook
            await self.fail(InternalError.because(error.message))

    async def fail(self, error: Compacted | ApiError) -> None:
        """The ERROR event a watch ends with."""
        if isinstance(error, Compacted):
            error = Expired(f"too old resource version: {error.revision} ({error.oldest})")
        await self._write(orjson.dumps({"type": "ERROR", "object": error.to_status()}) + b"\n")

    async def finish(self) -> None:
        if self.is_open:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def _seconds(self) -> float:
        """How long the stream lasts; timeoutSeconds=0 is as good as none."""
        if self._options.timeout_seconds:
            return float(self._options.timeout_seconds)
        return self._min_seconds * (1 + self._call.registry.machinery.rng.random())

    async def _next_batch(self, watcher: Watcher, until: float) -> Sequence[Change]:
        try:
            async with asyncio.timeout_at(until):
                return await watcher.next_batch()
        except TimeoutError:
            return ()

    async def _send_events(self, batch: Sequence[Change]) -> None:
        failure = None
        if self._kind.versioning is not None and batch:
            is_selective = self._matches is not None
            batch, failure = await shown_changes(self._kind.versioning, batch, is_selective=is_selective)
        chunks = []
        for change in batch:
            kind_of_event = event_type(change, self._matches)
            if kind_of_event is not None:
                chunks.append(self._encode(change, kind_of_event))
        if chunks:
            self._encoding.sent(self._kind.resource, len(chunks))
            await self._write(b"".join(chunks))
        if failure is not None:
            raise failure

    async def _send_initial(self, items: Sequence[Stored], watcher: Watcher) -> None:
        if self._kind.versioning is not None:
            items = await self._kind.versioning.shown(items)
        wanted = items if self._matches is None else [stored for stored in items if self._matches(stored)]
        self._encoding.sent(self._kind.resource, len(wanted))
        for start in range(0, len(wanted), CHUNK):
            await self._write(
                b"".join(self._encode(_as_added(stored), "ADDED") for stored in wanted[start : start + CHUNK])
            )
        if self._options.send_initial_events and self._options.allow_watch_bookmarks:
            await self._write(self._bookmark(watcher.revision, initial_events_end=True))

    async def _write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    def _encoder(self, encoding: EventEncoding) -> EncodeEvent:
        if not self._call.form.transform and self._kind.conversion is None:
            head = self._kind.head
            if self._kind.versioning is not None:
                return lambda change, kind_of_event: encoding.encode(
                    change,
                    kind_of_event,  # type: ignore[arg-type]
                    head,
                    _shown(change, kind_of_event).body,
                )
            return lambda change, kind_of_event: encoding.encode(change, kind_of_event, head)  # type: ignore[arg-type]
        return self._encode_parsed

    def _encode_parsed(self, change: Change, kind_of_event: str) -> bytes:
        stored = _shown(change, kind_of_event)
        shown = Stored(stored.key, change.revision, stored.body, stored.labels, stored.fields)
        made = printed_of if self._call.form.transform else object_of
        return self._event(kind_of_event, made(self._kind, shown))

    def _event(self, kind_of_event: str, obj: Object) -> bytes:
        return orjson.dumps({"type": kind_of_event, "object": self._transformed(obj)}) + b"\n"

    def _transformed(self, obj: Object) -> Any:
        form = self._call.form
        if form.transform == "Table":
            meta = {"resourceVersion": obj["metadata"]["resourceVersion"]}
            # The row of the bookmark that ends the initial events always says so.
            include = self._call.include_object
            if include == "None" and _ends_initial_events(obj):
                include = "Metadata"
            shown = as_table(self._kind, [obj], meta, form, self._call.now(), include)
            if not self._first_table:
                shown["columnDefinitions"] = None
            self._first_table = False
            return shown
        return partial_metadata(obj, form.version) if form.transform else obj

    def _bookmark(self, revision: int, initial_events_end: bool = False) -> bytes:
        metadata: Object = {"resourceVersion": str(revision)}
        if initial_events_end:
            metadata["annotations"] = {_INITIAL_EVENTS_END: "true"}
        resource = self._kind.resource
        bare = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return self._event("BOOKMARK", bare if self._kind.is_custom else self._with_zeros(bare))

    def _with_zeros(self, bare: Object) -> Object:
        """The object of a bookmark of a built-in kind: all that its type always writes, empty."""
        resource = self._kind.resource
        codec = self._call.registry.machinery.schema.codec(resource.group, resource.version, resource.kind)
        zero = codec.decode(bare).object
        self._kind.strategy.add_zeros(zero)
        return zero


def _next_bookmark(now: float, deadline: float) -> float:
    """When a bookmark is due, in the time of the loop; after the last one, never."""
    at = min(now + BOOKMARK_SECONDS, deadline - LAST_BOOKMARK_SECONDS)
    return at if at > now else math.inf


def _shown(change: Change, kind_of_event: str) -> Stored:
    """The object an event shows."""
    stored = change.previous if kind_of_event == "DELETED" else change.current
    assert stored is not None
    return stored


def _as_added(stored: Stored) -> Change:
    return Change(stored.revision, stored.key, stored, None)


def _ends_initial_events(obj: Object) -> bool:
    return _INITIAL_EVENTS_END in (obj["metadata"].get("annotations") or ())
