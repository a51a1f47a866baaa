"""The control loop: a Secret that is not as it is to be gets a new certificate, whatever the cause.

What there is to do is read from the Secret, its CA and the spec (inspection.py), so a restart, a missed event or a
damaged Secret are nothing special. Nothing is cleaned up here: the Secret belongs to its Certificate and goes with it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable

from examples.operators.certificate.api import CERTIFICATES, ISSUING, OPERATOR, TLS_TYPE, UID_ANNOTATION
from examples.operators.certificate.authority import Authority, Obstacle, authority_of, is_signed_by
from examples.operators.certificate.inspection import Held, cause_to_issue, key_to_keep
from examples.operators.certificate.issuing import secret_with, sign
from examples.operators.certificate.keys import KeyMaker
from examples.operators.certificate.model import Wanted, secret_keys
from examples.operators.certificate.report import Finding, reason_of, status_of
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    annotations_of,
    controller_of,
    is_being_deleted,
    is_controlled_by,
    key_of,
    uid_of,
)
from kubeloop.apimachinery.resource import SECRETS
from kubeloop.apimachinery.times import format_time
from kubeloop.runtime import (
    DONE,
    Controller,
    For,
    Manager,
    OwnWrites,
    RequeueAfter,
    Result,
    StatusWriter,
    TerminalError,
    Unfinished,
    Watches,
)
from kubeloop.runtime.ownership import adopt

# A Secret in the way is looked at again after this long: it may be of a type that is not watched.
LOOK_AGAIN_SECONDS = 60.0
_BY_SECRET = "by secret"
_WORKERS = 4


class CertificateReconciler:
    def __init__(self, manager: Manager, rng: random.Random, new_key: KeyMaker) -> None:
        self._api, self._clock, self._rng, self._new_key = manager.api, manager.clock, rng, new_key
        self.certificates = manager.informer(CERTIFICATES)
        self.certificates.add_index(_BY_SECRET, secret_keys)
        self.secrets = manager.informer(SECRETS, field_selector=f"type={TLS_TYPE}")
        self._recorder = manager.event_recorder(OPERATOR)
        self._own_writes = OwnWrites()  # what the cache may not show yet
        self._statuses = StatusWriter(manager.api, CERTIFICATES, manager.clock, self._own_writes)

    async def reconcile(self, key: ObjectKey) -> Result:
        cached = self.certificates.get(key)
        if cached is None or is_being_deleted(cached):
            self._own_writes.forget(key)
            return DONE  # the garbage collector takes the Secret
        obj = self._own_writes.latest(cached)
        secret = self.secrets.get(Wanted.of(obj).secret_key)
        found = self._inspect(obj, secret)
        if found.may_issue:  # ask the server: a cache that lags shows the Secret of before the last issue
            secret = await self._read_secret(found.wanted)
            found = self._inspect(obj, secret)
        if found.may_issue:
            obj = await self._report(obj, found)
            found = await self._issue(obj, found, secret)
        elif secret is not None and found.held is not None:
            await self._take_back(obj, secret)
        await self._report(obj, found)
        return self._until_next_look(found)

    def certificates_of(self, secret: Object) -> Iterable[ObjectKey]:
        """Those that live in this Secret, and those that it is to sign."""
        return [key_of(obj) for obj in self.certificates.by_index(_BY_SECRET, str(key_of(secret)))]

    def _inspect(self, obj: ReadOnlyObject, secret: ReadOnlyObject | None) -> Finding:
        wanted, now = Wanted.of(obj), self._clock.now()
        if secret is not None and not _is_ours(secret, obj):
            message = f"Secret {wanted.secret_name} is somebody else's, or of another type: delete it or name another"
            taken = Obstacle("SecretTaken", message, is_final=False)
            return Finding(wanted, cause=cause_to_issue(wanted, None, None, now), obstacle=taken)
        authority, obstacle = self._authority(wanted)
        cause = cause_to_issue(wanted, secret, authority, now)
        return Finding(wanted, Held.by(secret) if secret else None, authority, cause, obstacle)

    def _authority(self, wanted: Wanted) -> tuple[Authority | None, Obstacle | None]:
        """Neither, where the certificate signs itself."""
        if not wanted.ca_secret_name:
            return None, None
        try:
            secret = self.secrets.get(wanted.ca_secret_key)
            return authority_of(wanted.ca_secret_name, secret, self._clock.now()), None
        except Obstacle as obstacle:
            return None, obstacle

    async def _read_secret(self, wanted: Wanted) -> Object | None:
        try:
            return await self._api.get(SECRETS, wanted.secret_name, wanted.key.namespace)
        except NotFound:
            return None

    async def _issue(self, obj: Object, found: Finding, secret: Object | None) -> Finding:
        """What there is to say afterwards. An update carries the version that was read: who wrote meanwhile wins."""
        wanted, authority = found.wanted, found.authority
        key = key_to_keep(wanted, secret)
        if key is None:
            key = await asyncio.to_thread(self._new_key, wanted.key_kind)
        certificate = sign(wanted, key, authority, self._clock.now(), self._rng)
        if not is_signed_by(certificate, authority.certificate if authority else certificate):
            raise Unfinished(f"what the key of Secret {wanted.ca_secret_name or wanted.secret_name} signs is not valid")
        revision = max(wanted.issued_before, found.held.revision if found.held else 0) + 1
        wished = secret_with(certificate, key, authority, revision, obj, secret)
        written = await (self._api.update(SECRETS, wished) if secret else self._api.create(SECRETS, wished))
        message = f"issued revision {revision}, good until {format_time(certificate.not_valid_after_utc)}"
        await self._recorder.event(obj, "Normal", "Issued", message)
        return self._inspect(obj, written)

    async def _take_back(self, obj: ReadOnlyObject, secret: Object) -> None:
        """Without its owner reference the Secret would outlive its Certificate."""
        if controller_of(secret) is None:
            await adopt(self._api, obj, CERTIFICATES, secret, SECRETS)

    async def _report(self, obj: Object, found: Finding) -> Object:
        """Write the status where it says something else, and tell people of each new cause and obstacle."""
        reported = await self._statuses.patch(obj, *status_of(found))
        why = found.cause and (found.obstacle or found.cause)
        if why and why.reason != reason_of(obj, ISSUING):
            await self._recorder.event(obj, "Warning" if found.obstacle else "Normal", why.reason, why.message)
        return reported

    def _until_next_look(self, found: Finding) -> Result:
        """Renewal and expiry are what no event announces."""
        if found.next_look is not None:
            return RequeueAfter((found.next_look - self._clock.now()).total_seconds())
        if found.obstacle is None:
            return DONE
        if found.obstacle.is_final:
            raise TerminalError(found.obstacle.message)
        return RequeueAfter(LOOK_AGAIN_SECONDS)


def _is_ours(secret: ReadOnlyObject, obj: ReadOnlyObject) -> bool:
    """Of the right type, and controlled by the Certificate; or by nobody any more, though it was made for it."""
    if secret.get("type") != TLS_TYPE:
        return False
    was_ours = annotations_of(secret).get(UID_ANNOTATION) == uid_of(obj)
    return is_controlled_by(secret, obj) or (controller_of(secret) is None and was_ours)


def add_to(manager: Manager, rng: random.Random, new_key: KeyMaker) -> None:
    """`rng` gives serial numbers."""
    reconciler = CertificateReconciler(manager, rng, new_key)
    sources = [For(reconciler.certificates), Watches(reconciler.secrets, reconciler.certificates_of)]
    manager.add(Controller(OPERATOR, reconciler, sources, workers=_WORKERS))
