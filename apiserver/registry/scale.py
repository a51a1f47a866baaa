"""The scale subresource: replicas of any workload, read and written as an autoscaling/v1 Scale.

Where a kind keeps its replicas stands in `scale_fields.py`.
"""

from __future__ import annotations

from apiserver.registry.context import Context, Machinery
from apiserver.registry.preconditions import require_same
from apiserver.registry.scale_fields import ScaleFields
from apiserver.registry.scale_ownership import ScaleOwnership
from apiserver.registry.store import Change, LaterChange, ResourceStore, at_once
from apiserver.storage.interface import Stored
from kubeloop.apimachinery.errors import Conflict
from kubeloop.apimachinery.meta import Object, name_of


class ScaleStore:
    """get, update and patch of Scale on top of the workload's own store."""

    def __init__(self, store: ResourceStore, machinery: Machinery) -> None:
        self._store, self._fields = store, store.kind.scale
        self.ownership = ScaleOwnership(store.kind, machinery)

    async def get(self, context: Context) -> Object:
        return scale_of((await self._store.get(context)).object(), self._fields)

    async def update(self, scale: Object, context: Context) -> Object:
        """Replace the Scale: only spec.replicas counts, and what its metadata says of the workload meant."""

        def change(old: Object) -> Object:
            require_same(self._store.kind, old["metadata"], uid=scale["metadata"].get("uid"))
            return scale

        return await self._scale(context, at_once(change))

    async def patch(self, change: Change, context: Context) -> Object:
        return await self._scale(context, at_once(change))

    async def apply(self, change: LaterChange, context: Context) -> Object:
        """Carry out an apply patch; `change` settles who owns what of the Scale."""
        return await self._scale(context, change, is_tracked=False)

    async def _scale(self, context: Context, change: LaterChange, *, is_tracked: bool = True) -> Object:
        async def scaled(workload: Object) -> Object:
            old = self.shown(workload)
            scale = await change(old)
            if is_tracked:
                manager = context.field_manager
                await self.ownership.field_management.updated(scale, old, manager, context.subresource)
            replicas = scale.get("spec", {}).get("replicas", 0)
            self._fields.check(scale, replicas, context.name)
            new = self._fields.with_replicas(workload, replicas)
            new["metadata"] = {**workload["metadata"], "resourceVersion": self._version(scale, workload)}
            self.ownership.take(scale, new)
            return new

        stored: Stored = await self._store.rewrite(scaled, context, view=self)
        return scale_of(stored.object(), self._fields)

    # -- what admission sees --------------------------------------------------------------------------------------

    def shown(self, workload: Object) -> Object:
        scale = scale_of(workload, self._fields, may_be_absent=True)
        self.ownership.give(workload, scale)
        return scale

    def changed(self, workload: Object, shown: Object) -> Object:
        replicas = shown.get("spec", {}).get("replicas", 0)
        if replicas == self._fields.spec_replicas(workload, may_be_absent=True):
            return workload
        self._fields.check(shown, replicas, name_of(workload))
        new = self._fields.with_replicas(workload, replicas)
        new["metadata"] = dict(workload["metadata"])
        self.ownership.take(shown, new)
        return new

    def _version(self, scale: Object, workload: Object) -> str:
        """The version the writer named, if any; a uid that is not the workload's is refused."""
        metadata, kind = scale["metadata"], self._store.kind
        sent, found = metadata.get("uid"), workload["metadata"]["uid"]
        if sent and sent != found and not kind.is_custom:
            why = f"Precondition failed: UID in precondition: {sent}, UID in object meta: {found}"
            raise Conflict.of(f"{kind.plural}/scale", kind.group, metadata["name"], why)
        return metadata.get("resourceVersion") or ""


def scale_of(workload: Object, fields: ScaleFields, *, may_be_absent: bool = False) -> Object:
    """The Scale that shows a workload's replicas; its selector is text, as autoscaling/v1 has it."""
    metadata = workload["metadata"]
    shown = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    replicas = fields.spec_replicas(workload, may_be_absent=may_be_absent)
    scale: Object = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: metadata[field] for field in shown if field in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": fields.status_replicas(workload)},
    }
    if text := fields.selector(workload):
        scale["status"]["selector"] = text
    return scale
