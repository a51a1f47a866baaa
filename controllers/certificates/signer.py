"""certificatesigningrequest-signing-controller: issues the certificates that were approved.

For the four signers of kubernetes.io, each with the authority that the flags give it; requests to others, and to one
without an authority, are left alone. The files are read anew for each certificate: a renewed authority signs from then
on. pkg/controller/certificates/signer, v1.36.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from datetime import datetime, timedelta

import structlog

from controllers.certificates import decisions
from controllers.certificates.flags import Signing, SigningFiles
from controllers.certificates.signers import FAULTS
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, name_of
from kubeloop.apimachinery.resource import CERTIFICATE_SIGNING_REQUESTS
from kubeloop.apimachinery.times import format_time
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result, TerminalError, Unfinished
from kubeloop.runtime.source import For

log = structlog.get_logger(__name__)

# Below this the certificate would hardly be good for longer than it is backdated.
SHORTEST = timedelta(minutes=10)
# What an authority is called that this loop makes.
AUTHORITY_NAME = "kubeloop signer"


def add_signer(manager: Manager, signing: Signing) -> None:
    if not signing.files:
        log.info("no certificates are signed: no csr cert/key was specified")
        return
    requests = manager.informer(CERTIFICATE_SIGNING_REQUESTS)
    signer = Signer(manager.api, manager.clock, requests, signing)
    manager.add(Controller("csrsigning", signer, [For(requests)], workers=5))


class Signer:
    def __init__(self, api: Api, clock: Clock, requests: Informer, signing: Signing) -> None:
        self._api, self._clock, self._requests = api, clock, requests
        self._files: Mapping[str, SigningFiles] = signing.files
        self._longest = timedelta(seconds=signing.seconds)
        self._issuing = asyncio.Lock()  # two first certificates make one authority

    async def reconcile(self, key: ObjectKey) -> Result:
        request = self._requests.get(key)
        if request is None or not decisions.is_to_be_signed(request):
            return DONE
        spec = request["spec"]
        files = self._files.get(spec["signerName"])
        if files is None:
            return DONE
        fault = FAULTS[spec["signerName"]](decisions.asked_for(request), spec.get("usages") or ())
        if fault:
            await self._fail(request, fault)
        else:
            await self._write(request, {"certificate": await self._issued(request, files)})
        return DONE

    async def _issued(self, request: ReadOnlyObject, files: SigningFiles) -> str:
        async with self._issuing:
            text = await asyncio.to_thread(self._issue, request, files, self._clock.now())
        return base64.b64encode(text.encode()).decode()

    def _issue(self, request: ReadOnlyObject, files: SigningFiles, now: datetime) -> str:
        from controllers.certificates import issuing  # loads cryptography: 100 ms for those who sign
        from kubeloop.authority import AuthorityError, keep_authority, read_authority

        spec = request["spec"]
        lasts = lifetime(spec.get("expirationSeconds"), self._longest)
        wanted = issuing.Wanted(
            decisions.encoded(request), decisions.asked_for(request), spec.get("usages") or (), lasts
        )
        try:
            if files.made_when_missing:
                authority = keep_authority(files.certificate, files.key, AUTHORITY_NAME, now)
            else:
                authority = read_authority(files.certificate, files.key)
            return issuing.issue(authority, wanted, now)
        except issuing.NotIssued as error:
            raise TerminalError(f"error auto signing csr {name_of(request)}: {error}") from error
        except (AuthorityError, issuing.AuthorityExpired, OSError) as error:
            raise Unfinished(f"error auto signing csr {name_of(request)}: {error}") from error

    async def _fail(self, request: ReadOnlyObject, fault: str) -> None:
        condition: Object = {
            "type": decisions.FAILED,
            "status": "True",
            "reason": "SignerValidationFailure",
            "message": fault,
            "lastUpdateTime": format_time(self._clock.now()),
        }
        conditions = (request.get("status") or {}).get("conditions") or ()
        await self._write(request, {"conditions": [*conditions, condition]})

    async def _write(self, request: ReadOnlyObject, changed: Object) -> None:
        status = {**(request.get("status") or {}), **changed}
        await self._api.update(CERTIFICATE_SIGNING_REQUESTS, {**request, "status": status}, subresource="status")


def lifetime(asked_seconds: int | None, longest: timedelta) -> timedelta:
    """How long the certificate will be good: what was asked for, within limits."""
    if asked_seconds is None:
        return longest
    asked = timedelta(seconds=asked_seconds)
    return longest if asked > longest else max(asked, SHORTEST)
