"""Carries out what a Stage says comes next: events, finalizers, patches, other objects, deletion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from kubelet_sim.stages.expression import StageError
from kubelet_sim.stages.model import Apply, Patch, Step
from kubelet_sim.stages.template import Functions, Template
from kubeloop.apimachinery.errors import AlreadyExists, NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ReadOnlyObject,
    finalizers_of,
    name_of,
    namespace_of,
    uid_of,
)
from kubeloop.apimachinery.resource import Resource
from kubeloop.apimachinery.yaml_text import YamlSyntaxError, parse_yaml
from kubeloop.client.api import JSON, MERGE, STRATEGIC, Api
from kubeloop.client.discovery import KindMapper, NoMatch
from kubeloop.runtime.event_recorder import EventRecorder

_TYPES = {"json": JSON, "merge": MERGE, "strategic": STRATEGIC}
_MANAGER = "kubelet-sim"


class Steps:
    """Of objects of one resource."""

    def __init__(self, api: Api, kinds: KindMapper) -> None:
        self._api, self._kinds = api, kinds

    async def take(
        self, step: Step, resource: Resource, obj: ReadOnlyObject, functions: Functions, recorder: EventRecorder
    ) -> Object | None:
        """What the server answers: the object as it is afterwards; None where nothing of it was written, or it is gone.

        NotFound: it was gone before. Raises StageError for what a template gives that cannot be sent, and ApiError.
        """
        answer = None
        if step.event is not None:
            said = step.event
            await recorder.event(obj, said.get("type") or "Normal", said.get("reason", ""), said.get("message", ""))
        if step.finalizers is not None:
            answer = await self._change_finalizers(step.finalizers, resource, obj)
        if step.is_deletion:
            await self.delete(resource, obj)
            return None
        if step.patch is not None:
            answer = await self._patch(step.patch, resource, obj, functions) or answer
        if step.apply is not None:
            await self._apply(step.apply, obj, functions)
        return answer

    async def delete(self, resource: Resource, obj: ReadOnlyObject) -> None:
        with suppress(NotFound):
            await self._api.delete(resource, name_of(obj), namespace_of(obj), grace_period_seconds=0, uid=uid_of(obj))

    async def _change_finalizers(
        self, change: Mapping[str, Any], resource: Resource, obj: ReadOnlyObject
    ) -> Object | None:
        wanted = _finalizers(change, finalizers_of(obj))
        if wanted == list(finalizers_of(obj)):
            return None
        patch = {"metadata": {"uid": uid_of(obj), "finalizers": wanted}}
        return await self._api.patch(resource, name_of(obj), patch, namespace_of(obj))

    async def _patch(
        self, patch: Patch, resource: Resource, obj: ReadOnlyObject, functions: Functions
    ) -> Object | None:
        value = _rendered(patch.template, obj, functions)
        if value is None:
            return None
        body = _json_patch(value, patch.root, obj) if patch.type == "json" else _merge_patch(value, patch.root, obj)
        answer = await self._as(patch.username).patch(
            resource,
            name_of(obj),
            body,
            namespace_of(obj),
            patch_type=_TYPES[patch.type],
            subresource=patch.subresource,
        )
        return answer if answer.get("kind") == resource.kind else None  # a Scale is not the object

    async def _apply(self, apply: Apply, obj: ReadOnlyObject, functions: Functions) -> None:
        """Of an object that the template names; in the namespace of the first where it names none."""
        other = _rendered(apply.template, obj, functions)
        if not isinstance(other, dict) or not other.get("kind") or not (other.get("metadata") or {}).get("name"):
            raise StageError("what is applied needs apiVersion, kind and metadata.name")
        api = self._as(apply.username)
        try:
            resource = await self._kinds.resource(other.get("apiVersion") or "", other["kind"])
        except NoMatch as error:
            raise StageError(str(error)) from error
        if resource.namespaced:
            other["metadata"].setdefault("namespace", namespace_of(obj))
        await _apply(api, resource, other, apply)

    def _as(self, username: str) -> Api:
        return self._api.impersonating(username) if username else self._api


async def _apply(api: Api, resource: Resource, other: Object, apply: Apply) -> None:
    if apply.type == "apply":
        await api.apply(resource, other, field_manager=_MANAGER, force=True, subresource=apply.subresource)
        return
    if not apply.subresource:
        try:
            await api.create(resource, other)
            return
        except AlreadyExists:
            pass
    await api.patch(
        resource,
        name_of(other),
        other,
        namespace_of(other),
        patch_type=_TYPES[apply.type],
        subresource=apply.subresource,
    )


def _rendered(template: Template, obj: ReadOnlyObject, functions: Functions) -> Any:
    text = template.render(obj, functions)
    try:
        return parse_yaml(text.encode())
    except YamlSyntaxError as error:
        raise StageError(f"the template gives no YAML: {error}") from error


def _merge_patch(value: Any, root: str, obj: ReadOnlyObject) -> Object:
    """With the uid: another object of the same name is not to be patched."""
    if not isinstance(value, dict):
        raise StageError("the template gives no mapping")
    patch = {root: value} if root else value
    metadata = patch.get("metadata") or {}
    return {**patch, "metadata": {**metadata, "uid": uid_of(obj)}}


def _json_patch(value: Any, root: str, obj: ReadOnlyObject) -> Sequence[Object]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise StageError("the template gives no list of operations")
    operations = [{**one, "path": f"/{root}{one.get('path', '')}"} if root else one for one in value]
    return [{"op": "test", "path": "/metadata/uid", "value": uid_of(obj)}, *operations]


def _finalizers(change: Mapping[str, Any], current: Sequence[str]) -> list[str]:
    removed = {one["value"] for one in change.get("remove") or ()}
    kept = [] if change.get("empty") else [one for one in current if one not in removed]
    added = [one["value"] for one in change.get("add") or ()]
    return [*kept, *(one for one in added if one not in kept)]
