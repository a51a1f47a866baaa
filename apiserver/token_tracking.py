"""When the tokens in Secrets were last used: a label of the Secret, and a config map that says since when it is kept.

legacy-serviceaccount-token-cleaner goes by both. `LegacyTokens` calls `used`; `server.py` runs the rest.
Facts: pkg/serviceaccount/legacy.go, pkg/controlplane/controller/legacytokentracking (v1.36).
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

import structlog

from apiserver.auth.authentication import MASTERS, User
from apiserver.registry.catalog import Kind
from apiserver.registry.context import SERVER, Context
from apiserver.registry.registry import Registry
from apiserver.storage.interface import Key
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, deep_copy, key_of, labels_of, uid_of
from kubeloop.tokens.legacy import LAST_USED, TRACKING, TRACKING_NAMESPACE, TRACKING_SINCE, day_of, is_day

log = structlog.get_logger(__name__)

_SYSTEM = User("system:apiserver", groups=(MASTERS,))


class TokenTracking:
    def __init__(self, registry: Registry, clock: Clock) -> None:
        self._registry, self._clock = registry, clock
        # Secrets to be labelled, and their uids. Full: the token is noted when it is used again.
        self._due: dict[Key, str] = {}
        self._has_due = asyncio.Event()

    def used(self, secret: ReadOnlyObject) -> None:
        """A token was used: its Secret is labelled, once a day. Tomorrow's label comes from a clock that is fast."""
        now = self._clock.now()
        if labels_of(secret).get(LAST_USED) in (day_of(now), day_of(now + timedelta(days=1))):
            return
        if len(self._due) < MAX_DUE:
            name = key_of(secret)
            self._due[Key(self._kind("Secret").storage, name.namespace, name.name)] = uid_of(secret)
            self._has_due.set()

    async def start(self) -> None:
        """Say since when uses are noted, where nobody has said it."""
        kind = self._kind("ConfigMap")
        found = self._registry.machinery.cache.get(Key(kind.storage, TRACKING_NAMESPACE, TRACKING))
        data = {TRACKING_SINCE: day_of(self._clock.now())}
        context = Context(_SYSTEM, TRACKING_NAMESPACE, TRACKING, field_manager=SERVER)
        if found is None:
            made: Object = {"metadata": {"name": TRACKING, "namespace": TRACKING_NAMESPACE}, "data": data}
            kind.strategy.default(made)
            await self._registry.store(kind).create(made, context)
        elif not is_day((found.object().get("data") or {}).get(TRACKING_SINCE, "")):
            mended = deep_copy(found.object())
            mended["data"] = {**(mended.get("data") or {}), **data}
            await self._registry.store(kind).update(mended, context)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._has_due.wait()
            self._has_due.clear()
            while self._due:
                await self._label(*self._due.popitem())

    async def _label(self, key: Key, uid: str) -> None:
        """What changed meanwhile is left alone: the next use labels it."""
        kind = self._kind("Secret")
        found = self._registry.machinery.cache.get(key)
        if found is None or found.object()["metadata"]["uid"] != uid:
            return
        secret = deep_copy(found.object())
        labels = secret["metadata"].setdefault("labels", {})
        labels[LAST_USED] = day_of(self._clock.now())
        context = Context(_SYSTEM, key.namespace, key.name, field_manager=SERVER)
        try:
            await self._registry.store(kind).update(secret, context)
        except ApiError as error:
            log.warning("use of a token not noted", secret=f"{key.namespace}/{key.name}", error=error.message)

    def _kind(self, name: str) -> Kind:
        kind = self._registry.catalog.by_kind("", name)
        assert kind is not None, f"{name} is in the catalog"
        return kind


MAX_DUE = 1000
