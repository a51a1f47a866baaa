"""The scale subresource: replicas of any workload, read and written as an autoscaling/v1 Scale."""

from __future__ import annotations

from apiserver.registry.context import Context
from apiserver.registry.store import Change, ResourceStore
from apiserver.storage.interface import Stored
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.errors import BadRequest, Conflict, Invalid
from kubeloop.apimachinery.field import invalid
from kubeloop.apimachinery.meta import Object


class ScaleStore:
    """get, update and patch of Scale on top of the workload's own store."""

    def __init__(self, store: ResourceStore) -> None:
        self._store = store

    async def get(self, context: Context) -> Object:
        return scale_of((await self._store.get(context)).object())

    async def update(self, scale: Object, context: Context) -> Object:
        """Replace the Scale: only spec.replicas counts."""
        name = scale.setdefault("metadata", {}).setdefault("name", context.name)
        if name != context.name:
            raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({context.name})")
        return await self._scale(context, lambda _: scale)

    async def patch(self, change: Change, context: Context) -> Object:
        return await self._scale(context, change)

    async def _scale(self, context: Context, change: Change) -> Object:
        def scaled(workload: Object) -> Object:
            scale = change(scale_of(workload))
            _check(scale, context.name)
            new = {**workload, "metadata": dict(workload["metadata"])}
            new["metadata"]["resourceVersion"] = self._version(scale, workload)
            new["spec"] = {**workload["spec"], "replicas": scale.get("spec", {}).get("replicas", 0)}
            return new

        stored: Stored = await self._store.patch(scaled, context)
        return scale_of(stored.object())

    def _version(self, scale: Object, workload: Object) -> str:
        """The version the writer named, if any; a uid that is not the workload's is refused."""
        metadata = scale["metadata"]
        uid = metadata.get("uid")
        if uid and uid != workload["metadata"]["uid"]:
            resource = self._store.kind.resource
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {workload['metadata']['uid']}"
            raise Conflict.of(resource.plural, resource.group, metadata["name"], why)
        return metadata.get("resourceVersion") or ""


def scale_of(workload: Object) -> Object:
    """The Scale that shows a workload's replicas; its selector is text, as autoscaling/v1 has it."""
    metadata, spec, status = workload["metadata"], workload.get("spec", {}), workload.get("status", {})
    shown = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    scale: Object = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: metadata[field] for field in shown if field in metadata},
        "spec": {"replicas": spec["replicas"]} if spec.get("replicas") else {},
        "status": {"replicas": status.get("replicas", 0)},
    }
    if text := _selector_text(spec.get("selector")):
        scale["status"]["selector"] = text
    return scale


def _selector_text(selector: Object | None) -> str:
    if not selector:
        return ""
    if selector.keys() <= {"matchLabels", "matchExpressions"}:
        return str(selectors.from_label_selector(selector))
    return str(selectors.from_labels(selector))  # a ReplicationController's


def _check(scale: Object, name: str) -> None:
    replicas = scale.get("spec", {}).get("replicas", 0)
    if replicas < 0:
        error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise Invalid.of("Scale", "autoscaling", name, [error])
