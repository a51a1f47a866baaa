"""NamespaceExists: nothing is written into a namespace that is not there, and nothing deleted from one."""

from __future__ import annotations

from apiserver.admission.chain import CREATE, DELETE, UPDATE, Attributes, Plugin
from apiserver.admission.plugins.namespace_lifecycle import NAMESPACES
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import NotFound


class NamespaceExists(Plugin):
    operations = frozenset({CREATE, UPDATE, DELETE})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def validate(self, attributes: Attributes) -> None:
        name = attributes.namespace
        if not name or str(attributes.resource) == NAMESPACES:
            return
        if self._reader.get(NAMESPACES, "", name) is None:
            raise NotFound.of(NAMESPACES, "", name)
