"""The ServiceCIDR `kubernetes`: what --service-cluster-ip-range says, as the object addresses are given out by.

It is made before the first Service, made again when it is deleted, and extended when a second family is configured; a
different range stays, with a warning. pkg/controlplane/controller/defaultservicecidr, v1.36.
"""

from __future__ import annotations

from contextlib import suppress

import structlog

from apiserver.registry.catalog import Kind
from apiserver.registry.context import Context
from apiserver.registry.own_events import typed, warn
from apiserver.registry.registry import Registry
from apiserver.registry.server_cluster import SYSTEM
from apiserver.registry.store import Change
from apiserver.resources.services.cluster_ips import GROUP, SERVICE_CIDRS
from apiserver.storage.interface import StorageError
from kubeloop.apimachinery.conditions import conditions_of, get_condition, set_condition
from kubeloop.apimachinery.errors import AlreadyExists, ApiError, NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, is_being_deleted
from kubeloop.apimachinery.service_addresses import READY
from kubeloop.apimachinery.times import format_time

log = structlog.get_logger("apiserver")

NAME = "kubernetes"
REPORTER = "kubernetes-service-cidr-controller"
INTERVAL_SECONDS = 10.0

_READY_MESSAGE = "Kubernetes default Service CIDR is ready"


class DefaultRange:
    """Keeps the object; `sync` before the first Service, then `run` for as long as the server."""

    def __init__(self, registry: Registry) -> None:
        self._registry, self._machinery = registry, registry.machinery
        self._cidrs = list(registry.machinery.cluster.service_ranges)
        self._told: set[str] = set()  # reasons: each is told once

    async def run(self) -> None:
        while True:
            await self._machinery.clock.sleep(INTERVAL_SECONDS)
            try:
                await self.sync()
            except (ApiError, StorageError) as error:
                log.warning("the default ServiceCIDR is not kept up", error=str(error))

    async def sync(self) -> None:
        """Bring it about that the object is there, and ready where nobody said that it is not."""
        cluster = self._machinery.cluster
        await cluster.fresh()
        found = cluster.reader.get(SERVICE_CIDRS, "", NAME)
        if found is None:
            with suppress(AlreadyExists):
                await cluster.create(
                    GROUP, "ServiceCIDR", {"metadata": {"name": NAME}, "spec": {"cidrs": list(self._cidrs)}}
                )
            await cluster.fresh()
            found = cluster.reader.get(SERVICE_CIDRS, "", NAME)
        elif len(self._cidrs) == 2 and found["spec"]["cidrs"] == self._cidrs[:1]:
            await self._change(lambda obj: {**obj, "spec": {**obj["spec"], "cidrs": list(self._cidrs)}})
            return
        if found is not None and not is_being_deleted(found):
            await self._judge(found)

    async def _judge(self, found: ReadOnlyObject) -> None:
        """Only a range that is as configured is called ready, and only until another has judged it."""
        condition = get_condition(conditions_of(found), READY)
        if found["spec"]["cidrs"] != self._cidrs:
            shown, flags = (f"[{' '.join(cidrs)}]" for cidrs in (found["spec"]["cidrs"], self._cidrs))
            note = f"The default ServiceCIDR {shown} does not match the controller flag configurations {flags}"
            await self._tell(found, "KubernetesDefaultServiceCIDRInconsistent", note)
        elif condition is None or condition.get("status") == "Unknown":
            await self._change(self._as_ready, "status")
        elif condition.get("status") == "False":
            note = f"Configuration matches, but {condition.get('message', '')}"
            await self._tell(found, condition.get("reason") or READY, note)

    def _as_ready(self, obj: Object) -> Object:
        condition = {"type": READY, "status": "True", "reason": "", "message": _READY_MESSAGE}
        now = format_time(self._machinery.clock.now())
        return {
            **obj,
            "status": {**obj.get("status", {}), "conditions": set_condition(conditions_of(obj), condition, now)},
        }

    async def _change(self, change: Change, subresource: str = "") -> None:
        context = Context(SYSTEM, name=NAME, subresource=subresource, field_manager=REPORTER)
        with suppress(NotFound):
            await self._registry.store(self._kind()).patch(change, context)

    def _kind(self) -> Kind:
        kind = self._registry.catalog.by_kind(GROUP, "ServiceCIDR")
        assert kind is not None, "ServiceCIDR is in the catalog"
        return kind

    async def _tell(self, about: ReadOnlyObject, reason: str, note: str) -> None:
        if reason not in self._told:
            self._told.add(reason)
            now = self._machinery.clock.now()
            about = typed(f"{GROUP}/v1", "ServiceCIDR", about)
            await warn(self._machinery.cluster, about, reason, "ServiceCIDRSync", note, reporter=REPORTER, now=now)
