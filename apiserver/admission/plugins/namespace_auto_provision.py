"""NamespaceAutoProvision: whoever writes into a namespace that is not there makes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apiserver.admission.chain import CREATE, Attributes, Plugin
from apiserver.admission.plugins.namespace_lifecycle import NAMESPACES
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import AlreadyExists, ApiError

CreateNamespace = Callable[[str], Awaitable[None]]


class NamespaceAutoProvision(Plugin):
    operations = frozenset({CREATE})

    def __init__(self, reader: Reader, create: CreateNamespace) -> None:
        self._reader, self._create = reader, create

    async def admit(self, attributes: Attributes) -> None:
        name = attributes.namespace
        if attributes.dry_run or not name or str(attributes.resource) == NAMESPACES:
            return
        if self._reader.get(NAMESPACES, "", name) is not None:
            return
        try:
            await self._create(name)
        except AlreadyExists:
            return  # another was faster
        except ApiError as error:
            raise attributes.forbidden(error.message) from error
