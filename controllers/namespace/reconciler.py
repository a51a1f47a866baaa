"""One reconcile of a terminating namespace: pods first, then everything else, then the finalizer.

Pods go first because they may need what else is in the namespace until their end. All reads are live: what was created
at the last moment must not be overlooked. pkg/controller/namespace/deletion, v1.36.
"""

from __future__ import annotations

import asyncio

import structlog

from controllers.discovery import DiscoveryFailed, Served, discover
from controllers.namespace import conditions
from controllers.namespace.conditions import Findings
from controllers.namespace.content import Content
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import Conflict, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, is_being_deleted, key_of, name_of
from kubeloop.apimachinery.resource import NAMESPACES, PODS
from kubeloop.apimachinery.times import seconds_since
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.rate_limiter import ExponentialBackoff
from kubeloop.runtime.result import DONE, RequeueAfter, Result

log = structlog.get_logger(__name__)

FINALIZER = "kubernetes"
# Other API servers may not know yet that the namespace is terminating, and let something in (upstream waits 5 s).
_DELAY_SECONDS = 2.0
# What holds a namespace may go at any time, and nothing tells.
_LONGEST_WAIT_SECONDS = 60.0
# Resources emptied at once: a namespace has some fifty kinds, most of them without objects.
_AT_ONCE = 8


class ContentRemains(Conflict):
    """Something could not be deleted; tried again with backoff."""


def add_to(manager: Manager) -> None:
    namespaces = manager.informer(NAMESPACES)
    reconciler = NamespaceReconciler(manager.api, manager.clock, namespaces)
    controller = Controller(
        "namespace", reconciler, workers=10, rate_limiter=ExponentialBackoff(max_seconds=_LONGEST_WAIT_SECONDS)
    )
    manager.add(controller)

    def on_change(delta: Delta) -> None:
        if delta.new is not None and is_being_deleted(delta.new):
            controller.enqueue_after(key_of(delta.new), _DELAY_SECONDS)

    namespaces.add_handler(on_change)


class NamespaceReconciler:
    def __init__(self, api: Api, clock: Clock, namespaces: Informer) -> None:
        self._api, self._clock, self._namespaces = api, clock, namespaces
        self._content = Content(api)

    async def reconcile(self, key: ObjectKey) -> Result:
        if self._namespaces.get(key) is None:
            return DONE
        try:
            namespace = await self._begin(await self._api.get(NAMESPACES, key.name))
            if namespace is None:
                return DONE
            return await self._empty(namespace)
        except NotFound:
            return DONE

    async def _begin(self, namespace: Object) -> Object | None:
        """The namespace with phase Terminating; None where it is not to be emptied (any more)."""
        if not is_being_deleted(namespace):
            return None
        if (namespace.get("status") or {}).get("phase") != "Terminating":
            status = {**(namespace.get("status") or {}), "phase": "Terminating"}
            namespace = await self._api.update(NAMESPACES, {**namespace, "status": status}, subresource="status")
        return namespace if (namespace.get("spec") or {}).get("finalizers") else None

    async def _empty(self, namespace: Object) -> Result:
        findings = Findings()
        served = await self._deletable(findings)
        pods = [entry for entry in served if entry.resource == PODS]
        wait = await self._delete(namespace, pods, findings)
        if findings.remaining:
            # The rest is kept until the pods are gone; what is left is not told of before that, as upstream has it.
            await self._tell(namespace, Findings(findings.discovery_failure, findings.content_failures))
        else:
            wait = await self._delete(namespace, [entry for entry in served if entry not in pods], findings)
            namespace = await self._tell(namespace, findings)
        if findings.content_failures or findings.discovery_failure:
            raise ContentRemains(f"namespace {name_of(namespace)}: {findings}")
        if wait:
            log.info("content remains", namespace=name_of(namespace), wait_seconds=wait)
            return RequeueAfter(self._pause_seconds(namespace, wait))
        await self._finalize(namespace)
        return DONE

    async def _deletable(self, findings: Findings) -> list[Served]:
        """Every namespaced resource, each once."""
        try:
            served = await discover(self._api)
        except DiscoveryFailed as error:
            served = list(error.served)
            findings.discovery_failure = f"Discovery failed for some groups, {len(error.failures)} failing: {error}"
        return [s for s in served if s.is_preferred and s.resource.namespaced and s.supports("delete")]

    async def _delete(self, namespace: Object, served: list[Served], findings: Findings) -> int:
        """Delete these resources' objects; the longest wait that is worth it, in seconds."""
        waits = [0]
        under_way = asyncio.Semaphore(_AT_ONCE)

        async def delete_all(entry: Served) -> None:
            deleted_at = namespace["metadata"]["deletionTimestamp"]
            async with under_way:
                left = await self._content.delete_all(entry, name_of(namespace), deleted_at, self._clock.now())
            waits.append(left.wait_seconds)
            if left.failure:
                findings.content_failures.append(left.failure)
            if left.count:
                findings.remaining[entry.resource] = left.count
            for finalizer, count in left.finalizers.items():
                findings.finalizers[finalizer] = findings.finalizers.get(finalizer, 0) + count

        async with asyncio.TaskGroup() as tasks:
            for entry in served:
                tasks.create_task(delete_all(entry))
        return max(waits)

    async def _tell(self, namespace: Object, findings: Findings) -> Object:
        stored = namespace["status"].get("conditions") or []
        updated = conditions.updated(stored, findings, self._clock.now())
        if updated == stored:
            return namespace
        changed = {**namespace, "status": {**namespace["status"], "conditions": updated}}
        return await self._api.update(NAMESPACES, changed, subresource="status")

    def _pause_seconds(self, namespace: Object, wait: int) -> float:
        """Half the wait, as upstream, but sooner at first: most content goes long before its grace is over."""
        age = seconds_since(namespace["metadata"]["deletionTimestamp"], self._clock.now())
        return min(wait // 2 + 1, max(1.0, age / 4))

    async def _finalize(self, namespace: Object) -> None:
        left = sorted(f for f in namespace["spec"]["finalizers"] if f != FINALIZER)
        changed = {**namespace, "spec": {**namespace["spec"], "finalizers": left}}
        await self._api.update(NAMESPACES, changed, subresource="finalize")
        log.info("namespace is empty", namespace=name_of(namespace))
