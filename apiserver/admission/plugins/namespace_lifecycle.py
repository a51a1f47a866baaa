"""NamespaceLifecycle: nothing is created in a namespace that is missing or ending, and three are never deleted."""

from __future__ import annotations

from apiserver.admission.chain import CREATE, DELETE, UPDATE, Attributes, Plugin
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import Forbidden, NotFound

NAMESPACES = "namespaces"
IMMORTAL = frozenset({"default", "kube-system", "kube-public"})

# How long a namespace that somebody else just created may take to be seen here.
_MISSING_NAMESPACE_WAIT_SECONDS = 0.05

# A "not found" would tell those who may only ask about permissions which namespaces there are.
_ACCESS_REVIEWS = "localsubjectaccessreviews.authorization.k8s.io"


class NamespaceLifecycle(Plugin):
    operations = frozenset({CREATE, UPDATE, DELETE})

    def __init__(self, reader: Reader, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock

    async def admit(self, attributes: Attributes) -> None:
        resource = str(attributes.resource)
        if resource == NAMESPACES:
            self._check_immortal(attributes)
        elif attributes.namespace and attributes.operation != DELETE and resource != _ACCESS_REVIEWS:
            await self._check_namespace(attributes)

    def _check_immortal(self, attributes: Attributes) -> None:
        if attributes.operation == DELETE and attributes.name in IMMORTAL:
            raise Forbidden.of(NAMESPACES, "", attributes.name, "this namespace may not be deleted")

    async def _check_namespace(self, attributes: Attributes) -> None:
        namespace = self._reader.get(NAMESPACES, "", attributes.namespace)
        if namespace is None and attributes.operation == CREATE:
            await self._clock.sleep(_MISSING_NAMESPACE_WAIT_SECONDS)
            namespace = self._reader.get(NAMESPACES, "", attributes.namespace)
        if namespace is None:
            raise NotFound.of(NAMESPACES, "", attributes.namespace)
        if attributes.operation == CREATE and (namespace.get("status") or {}).get("phase") == "Terminating":
            raise _ending(attributes)


def _ending(attributes: Attributes) -> Forbidden:
    where = attributes.namespace
    error = attributes.forbidden(f"unable to create new content in namespace {where} because it is being terminated")
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {where} is being terminated",
        "field": "metadata.namespace",
    }
    error.details = {**(error.details or {}), "causes": [cause]}
    return error
