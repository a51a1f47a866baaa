"""serviceaccount-token-controller: fills Secrets of type kubernetes.io/service-account-token.

Each gets the token of the service account that its annotation names, the CA bundle and the namespace, and goes with
that account; an account that lists a Secret which went forgets it. Tokens are signed with the API server's own key.
pkg/controller/serviceaccount, v1.36.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from kubeloop.apimachinery.errors import Conflict, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, annotations_of, key_of, name_of, uid_of
from kubeloop.apimachinery.resource import SECRETS, SERVICE_ACCOUNTS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result, Unfinished
from kubeloop.runtime.source import For, Watches
from kubeloop.tokens import jwt, key_file
from kubeloop.tokens.legacy import ACCOUNT_NAME, ACCOUNT_UID, SECRET_TYPE, claims_of

if TYPE_CHECKING:
    from kubeloop.tokens.keys import PrivateKey

log = structlog.get_logger(__name__)

_BY_ACCOUNT = "account"


def add_to(manager: Manager, root_ca: str = "", service_account_key: Path | None = None) -> None:
    if service_account_key is None:
        log.info("no token Secrets are filled: there is no private key")
        return
    accounts = manager.informer(SERVICE_ACCOUNTS)
    secrets = manager.informer(SECRETS, field_selector=f"type={SECRET_TYPE}")
    secrets.add_index(_BY_ACCOUNT, lambda secret: [str(account_of(secret))])

    def secrets_of(account: Object) -> Iterable[ObjectKey]:
        return map(key_of, secrets.by_index(_BY_ACCOUNT, str(key_of(account))))

    reconciler = TokenReconciler(manager.api, secrets, accounts, root_ca, Signer(service_account_key))
    sources = [For(secrets), Watches(accounts, secrets_of)]
    manager.add(Controller("serviceaccount_tokens_secret", reconciler, sources, workers=5))


def account_of(secret: ReadOnlyObject) -> ObjectKey:
    return ObjectKey(secret["metadata"]["namespace"], annotations_of(secret).get(ACCOUNT_NAME, ""))


class Signer:
    """The key is read, or made, with the first token."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._key: PrivateKey | None = None
        self._reading = asyncio.Lock()

    async def token(self, account: ReadOnlyObject, secret: ReadOnlyObject) -> str:
        """Raises Unfinished while the key cannot be used."""
        async with self._reading:
            if self._key is None:
                try:
                    self._key = await asyncio.to_thread(key_file.read_or_make, self._file)
                except (OSError, ValueError) as error:
                    raise Unfinished(f"cannot sign with {self._file}: {error}") from error
        return jwt.encode(claims_of(account, secret), self._key)


class TokenReconciler:
    """Keys are Secrets."""

    def __init__(self, api: Api, secrets: Informer, accounts: Informer, root_ca: str, signer: Signer) -> None:
        self._api, self._secrets, self._accounts, self._signer = api, secrets, accounts, signer
        self._root_ca = _encoded(root_ca)
        # Whose each Secret was, for as long as it is there: when it is gone nobody else knows which account lists it.
        self._owners: dict[ObjectKey, tuple[ObjectKey, str]] = {}

    async def reconcile(self, key: ObjectKey) -> Result:
        secret = self._secrets.get(key)
        if secret is None:
            await self._forget(key)
            return DONE
        owner, uid = account_of(secret), annotations_of(secret).get(ACCOUNT_UID, "")
        self._owners[key] = owner, uid
        account = await self._account(owner, uid)
        if account is None:
            await self._delete(secret)
        else:
            await self._fill(secret, account)
        return DONE

    async def _account(self, key: ObjectKey, uid: str) -> ReadOnlyObject | None:
        """The account of a Secret, asked for if the cache does not have it: it may be younger than what that shows."""
        cached = self._accounts.get(key)
        if cached is not None and uid in ("", uid_of(cached)):
            return cached
        try:
            found = await self._api.get(SERVICE_ACCOUNTS, key.name, key.namespace)
        except NotFound:
            return None
        return found if uid in ("", uid_of(found)) else None

    async def _delete(self, secret: ReadOnlyObject) -> None:
        key = key_of(secret)
        try:
            await self._api.delete(SECRETS, key.name, key.namespace, uid=uid_of(secret))
        except (NotFound, Conflict):
            return  # gone already, or another one by now
        log.info("token deleted with its service account", secret=str(key), account=str(account_of(secret)))

    async def _fill(self, secret: ReadOnlyObject, account: ReadOnlyObject) -> None:
        """What is missing. A Secret that changed meanwhile is a Conflict, and looked at again."""
        data = secret.get("data") or {}
        added: Object = {}
        if self._root_ca and data.get("ca.crt") != self._root_ca:
            added["ca.crt"] = self._root_ca
        if not data.get("namespace"):
            added["namespace"] = _encoded(secret["metadata"]["namespace"])
        if not data.get("token"):
            added["token"] = _encoded(await self._signer.token(account, secret))
        if not added:
            return
        whose = {ACCOUNT_NAME: name_of(account), ACCOUNT_UID: uid_of(account)}
        metadata = {**secret["metadata"], "annotations": {**annotations_of(secret), **whose}}
        try:
            await self._api.update(SECRETS, {**secret, "metadata": metadata, "data": {**data, **added}})
        except NotFound:
            return

    async def _forget(self, key: ObjectKey) -> None:
        """Take a Secret that is gone out of the list of its account."""
        owner, uid = self._owners.get(key, (None, ""))
        cached = None if owner is None else self._accounts.get(owner)
        if owner is not None and cached is not None and uid in ("", uid_of(cached)):
            with suppress(NotFound):  # gone with its account
                await self._take_from(await self._api.get(SERVICE_ACCOUNTS, owner.name, owner.namespace), key.name)
        self._owners.pop(key, None)

    async def _take_from(self, account: ReadOnlyObject, name: str) -> None:
        listed = account.get("secrets") or []
        kept = [reference for reference in listed if reference.get("name") != name]
        if len(kept) < len(listed):
            await self._api.update(SERVICE_ACCOUNTS, {**account, "secrets": kept})


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
