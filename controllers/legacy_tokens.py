"""legacy-serviceaccount-token-cleaner-controller: removes token Secrets that nobody has used for a year.

Only those that a cluster before 1.24 made of itself, which their account lists: those that somebody made by hand stay.
First they are marked, and refused from then on; a year later they go. What a pod mounts stays.
pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go, v1.36.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog

from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import Conflict, NotFound
from kubeloop.apimachinery.meta import (
    ObjectKey,
    ReadOnlyObject,
    annotations_of,
    is_being_deleted,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    resource_version_of,
    uid_of,
)
from kubeloop.apimachinery.pod_references import secret_names
from kubeloop.apimachinery.resource import CONFIG_MAPS, PODS, SECRETS, SERVICE_ACCOUNTS
from kubeloop.apimachinery.times import parse_time
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import RequeueAfter, Result
from kubeloop.tokens.legacy import (
    ACCOUNT_NAME,
    ACCOUNT_UID,
    INVALID_SINCE,
    LAST_USED,
    SECRET_TYPE,
    TRACKING,
    TRACKING_NAMESPACE,
    TRACKING_SINCE,
    day_of,
    is_day,
)

log = structlog.get_logger(__name__)

DEFAULT_SECONDS = 365 * 24 * 60 * 60.0
PASS_SECONDS = 24 * 60 * 60.0

ALL = ObjectKey("", "tokens")


def add_to(manager: Manager, legacy_token_seconds: float = DEFAULT_SECONDS) -> None:
    secrets = manager.informer(SECRETS, field_selector=f"type={SECRET_TYPE}")
    accounts, pods = manager.informer(SERVICE_ACCOUNTS), manager.informer(PODS)
    period = timedelta(seconds=legacy_token_seconds)
    controller = Controller(
        "legacy_token_cleaner", TokenCleaner(manager.api, manager.clock, secrets, accounts, pods, period)
    )
    manager.add(controller)
    controller.enqueue(ALL)


class TokenCleaner:
    """One key: a pass over all token Secrets, once a day. `period`: how long a token must not have been used."""

    def __init__(
        self, api: Api, clock: Clock, secrets: Informer, accounts: Informer, pods: Informer, period: timedelta
    ) -> None:
        self._api, self._clock, self._period = api, clock, period
        self._secrets, self._accounts, self._pods = secrets, accounts, pods

    async def reconcile(self, key: ObjectKey) -> Result:
        now = self._clock.now()
        if await self._is_tracked_long_enough(now):
            unused = (secret for secret in self._secrets.list() if self._is_unused(secret, now))
            for secret in unused:
                if self._was_made_by_a_cluster(secret) and not self._is_mounted(secret):
                    await self._retire(secret, now)
        return RequeueAfter(PASS_SECONDS)

    async def _is_tracked_long_enough(self, now: datetime) -> bool:
        try:
            tracking = await self._api.get(CONFIG_MAPS, TRACKING, TRACKING_NAMESPACE)
        except NotFound:
            return False
        since = (tracking.get("data") or {}).get(TRACKING_SINCE, "")
        # The first day does not count: it may have begun before.
        return is_day(since) and now >= parse_time(f"{since}T00:00:00Z") + timedelta(days=1) + self._period

    def _is_unused(self, secret: ReadOnlyObject, now: datetime) -> bool:
        last_used = labels_of(secret).get(LAST_USED)
        if last_used is not None and (not is_day(last_used) or last_used >= day_of(now - self._period)):
            return False
        created = parse_time(secret["metadata"]["creationTimestamp"])
        return created < now - self._period and not is_being_deleted(secret)

    def _was_made_by_a_cluster(self, secret: ReadOnlyObject) -> bool:
        annotations = annotations_of(secret)
        account = self._accounts.get(ObjectKey(namespace_of(secret), annotations.get(ACCOUNT_NAME, "")))
        if account is None or annotations.get(ACCOUNT_UID, "") not in ("", uid_of(account)):
            return False
        return any(reference.get("name") == name_of(secret) for reference in account.get("secrets") or ())

    def _is_mounted(self, secret: ReadOnlyObject) -> bool:
        name = name_of(secret)
        return any(name in secret_names(pod) for pod in self._pods.list(namespace_of(secret)))

    async def _retire(self, secret: ReadOnlyObject, now: datetime) -> None:
        """Mark it, or delete it where it was marked long ago. One that changed meanwhile is for the next pass."""
        key, marked = key_of(secret), labels_of(secret).get(INVALID_SINCE, "")
        try:
            if not is_day(marked):
                metadata = {"uid": uid_of(secret), "labels": {INVALID_SINCE: day_of(now)}}
                await self._api.patch(SECRETS, key.name, {"metadata": metadata}, key.namespace)
                log.info("unused service account token marked as invalid", secret=str(key))
            elif marked < day_of(now - self._period):
                version = resource_version_of(secret)
                await self._api.delete(SECRETS, key.name, key.namespace, resource_version=version)
                log.info("unused service account token deleted", secret=str(key))
        except (NotFound, Conflict):
            return
