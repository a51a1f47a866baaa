"""certificatesigningrequest-cleaner-controller: requests that are over go, so that they do not pile up.

Upstream looks once an hour; here each goes when its time has come. pkg/controller/certificates/cleaner, v1.36.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import datetime, timedelta

import structlog

from controllers.certificates.decisions import APPROVED, DENIED, FAILED, is_issued
from kubeloop.apimachinery.certificate import end_of
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.conditions import conditions_of
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, uid_of
from kubeloop.apimachinery.resource import CERTIFICATE_SIGNING_REQUESTS
from kubeloop.apimachinery.times import parse_time
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, RequeueAfter, Result
from kubeloop.runtime.source import For

log = structlog.get_logger(__name__)

DECIDED_IS_KEPT = timedelta(hours=1)  # issued, denied or failed
UNDECIDED_IS_KEPT = timedelta(hours=24)  # pending, or approved and not issued


def add_cleaner(manager: Manager) -> None:
    requests = manager.informer(CERTIFICATE_SIGNING_REQUESTS)
    manager.add(Controller("csrcleaner", Cleaner(manager.api, manager.clock, requests), [For(requests)]))


class Cleaner:
    def __init__(self, api: Api, clock: Clock, requests: Informer) -> None:
        self._api, self._clock, self._requests = api, clock, requests

    async def reconcile(self, key: ObjectKey) -> Result:
        request = self._requests.get(key)
        end = None if request is None else min(ends_of(request), default=None)
        if request is None or end is None:
            return DONE
        left = (end - self._clock.now()).total_seconds()
        if left >= 0:
            return RequeueAfter(left + 1)
        try:
            await self._api.delete(CERTIFICATE_SIGNING_REQUESTS, key.name, uid=uid_of(request))
        except NotFound:
            return DONE
        log.info("certificate signing request removed", request=key.name, due=end.isoformat())
        return DONE


def ends_of(request: ReadOnlyObject) -> Iterator[datetime]:
    """The moments after any of which a request has no business to be there."""
    conditions = conditions_of(request)
    if not conditions:
        yield parse_time(request["metadata"]["creationTimestamp"]) + UNDECIDED_IS_KEPT
    for condition in conditions:
        kind, updated = condition.get("type"), condition.get("lastUpdateTime")
        if updated and kind in (APPROVED, DENIED, FAILED):
            waits = kind == APPROVED and not is_issued(request)
            yield parse_time(updated) + (UNDECIDED_IS_KEPT if waits else DECIDED_IS_KEPT)
        if kind == APPROVED and is_issued(request):
            expires = end_of(base64.b64decode(request["status"]["certificate"]))
            if expires is not None:
                yield expires
