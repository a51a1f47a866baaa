"""serviceaccount-controller: every active namespace has a service account `default`.

pkg/controller/serviceaccount, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from controllers.refusals import is_namespace_terminating
from kubeloop.apimachinery.errors import AlreadyExists, ApiError
from kubeloop.apimachinery.meta import Object, ObjectKey, name_of, namespace_of
from kubeloop.apimachinery.resource import NAMESPACES, SERVICE_ACCOUNTS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For, Watches

DEFAULT = "default"


def add_to(manager: Manager) -> None:
    namespaces, accounts = manager.informer(NAMESPACES), manager.informer(SERVICE_ACCOUNTS)
    reconciler = ServiceAccountReconciler(manager.api, namespaces, accounts)
    sources = [For(namespaces), Watches(accounts, _namespace_of_default)]
    manager.add(Controller("serviceaccount", reconciler, sources))


class ServiceAccountReconciler:
    """Keys are namespaces."""

    def __init__(self, api: Api, namespaces: Informer, accounts: Informer) -> None:
        self._api, self._namespaces, self._accounts = api, namespaces, accounts

    async def reconcile(self, key: ObjectKey) -> Result:
        namespace = self._namespaces.get(key)
        if namespace is None or (namespace.get("status") or {}).get("phase") != "Active":
            return DONE
        if self._accounts.get(ObjectKey(key.name, DEFAULT)) is None:
            await self._create(key.name)
        return DONE

    async def _create(self, namespace: str) -> None:
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DEFAULT, "namespace": namespace}}
        try:
            await self._api.create(SERVICE_ACCOUNTS, account)
        except AlreadyExists:
            return
        except ApiError as error:
            if not is_namespace_terminating(error):
                raise


def _namespace_of_default(account: Object) -> Iterable[ObjectKey]:
    return [ObjectKey("", namespace_of(account))] if name_of(account) == DEFAULT else []
