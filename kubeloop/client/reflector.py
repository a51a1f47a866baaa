"""List and watch for ever: what keeps a store equal to what the server has.

A list (in pages) fixes a resourceVersion; the watch goes on from there. A cut watch resumes at the last version seen,
bookmarks included; a 410 means the server has forgotten that version, and only then everything is listed anew.
Events that a resumed watch tells again are known by their versions and left out.
Follows the life cycle of client-go's tools/cache/reflector.go (v1.36); a list is always a consistent one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import NamedTuple

import structlog

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, Expired, NotFound
from kubeloop.apimachinery.meta import Object, is_older, key_of, metadata
from kubeloop.apimachinery.resource import Resource
from kubeloop.client import unmanaged
from kubeloop.client.api import Api
from kubeloop.client.store import Delta, Store
from kubeloop.client.watching import ADDED, BOOKMARK, DELETED, MODIFIED

log = structlog.get_logger(__name__)

PAGE_SIZE = 500
# The server ends a watch after this long; twice as long at most, so that watches do not all end at once.
MIN_WATCH_SECONDS = 300
_FIRST_BACKOFF_SECONDS = 0.2
_MAX_BACKOFF_SECONDS = 2.0  # the server is next door: what it costs to ask is less than what waiting does
# A watch this short without one event means trouble: back off rather than spin.
_SHORT_WATCH_SECONDS = 1.0


class Scope(NamedTuple):
    """Which objects of a resource are mirrored."""

    resource: Resource
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    metadata_only: bool = False

    def __str__(self) -> str:
        contents = "metadata" if self.metadata_only else ""
        parts = [str(self.resource), self.namespace, self.label_selector, self.field_selector, contents]
        return " ".join(part for part in parts if part)


class Reflector:
    """Mirrors one scope into a store and tells `notify` of every step, after the store has taken it.

    `listed` is called after each list: whatever came and went between the last watch and it, nobody will tell.
    Without `managed_fields` objects are kept without these: of a pod they are half of all it consists of.
    """

    def __init__(
        self,
        api: Api,
        scope: Scope,
        store: Store,
        notify: Callable[[Sequence[Delta]], None],
        clock: Clock,
        rng: random.Random,
        listed: Callable[[], None] = lambda: None,
        *,
        managed_fields: bool = True,
    ) -> None:
        self._api, self._scope, self._store, self._notify, self._listed = api, scope, store, notify, listed
        self._clock, self._rng, self._managed_fields = clock, rng, managed_fields
        self._backoff_seconds = 0.0
        self.resource_version = ""  # of the last list, event or bookmark; "" asks for a list

    async def run(self) -> None:
        """Until cancelled. Refusals and cuts are logged and tried again after a jittered backoff."""
        while True:
            try:
                if not self.resource_version:
                    await self._list()
                await self._watch()
                self._backoff_seconds = 0.0
                continue
            except Expired as error:
                log.info("resource version expired, listing anew", scope=str(self._scope), reason=error.message)
                self.resource_version = ""
            except ApiError as error:
                self._log_failure(error)
            await self._clock.sleep(self._next_backoff())

    async def _list(self) -> None:
        objects: list[Object] = []
        continue_token = ""
        resource, namespace, label_selector, field_selector, metadata_only = self._scope
        while True:
            page = await self._api.list(
                resource,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=PAGE_SIZE,
                continue_token=continue_token,
                metadata_only=metadata_only,
            )
            if not self._managed_fields:
                for obj in page["items"]:
                    unmanaged.drop(obj)
            objects += page["items"]
            continue_token = metadata(page).get("continue") or ""
            if not continue_token:
                break
        self._notify(self._store.replace(objects))
        self.resource_version = metadata(page).get("resourceVersion") or ""
        self._listed()

    async def _watch(self) -> None:
        """One watch, to its end."""
        began = self._clock.monotonic()
        seen_any = False
        events = self._api.watch(
            self._scope.resource,
            self._scope.namespace,
            resource_version=self.resource_version,
            label_selector=self._scope.label_selector,
            field_selector=self._scope.field_selector,
            timeout_seconds=int(MIN_WATCH_SECONDS * (1 + self._rng.random())),
            bookmarks=True,
            metadata_only=self._scope.metadata_only,
            managed_fields=self._managed_fields,
        )
        async with aclosing(events):
            async for kind, obj in events:
                seen_any = True
                if kind in (ADDED, MODIFIED):
                    self._put(obj)
                elif kind == DELETED:
                    self._delete(obj)
                elif kind != BOOKMARK:
                    log.error("unknown watch event", scope=str(self._scope), type=kind)
                self.resource_version = metadata(obj).get("resourceVersion") or self.resource_version
        if not seen_any and self._clock.monotonic() - began < _SHORT_WATCH_SECONDS:
            raise ApiError("very short watch: it ended at once, without an event")

    def _put(self, obj: Object) -> None:
        """An object never goes back in time: loops rely on having seen what they saw. Only a list may say otherwise."""
        delta = self._store.advance(obj)
        if delta is not None:
            self._notify([delta])

    def _delete(self, last: Object) -> None:
        """The event carries the object as it was at the end, which may be newer than what the store has."""
        key = key_of(last)
        known = self._store.get(key)
        if known is None or is_older(last, known):
            return  # it was made anew since
        self._store.remove(key)
        self._notify([Delta(last, None)])

    def _log_failure(self, error: ApiError) -> None:
        """A line when trouble begins; that it goes on is a detail."""
        tell = log.debug if self._backoff_seconds else log.warning
        if isinstance(error, NotFound):
            tell("this kind is not served; trying on", scope=str(self._scope))
        else:
            tell("list or watch failed", scope=str(self._scope), error=error.message, code=error.code)

    def _next_backoff(self) -> float:
        self._backoff_seconds = min(max(self._backoff_seconds * 2, _FIRST_BACKOFF_SECONDS), _MAX_BACKOFF_SECONDS)
        return self._backoff_seconds * (1 + self._rng.random())
