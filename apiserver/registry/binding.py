"""pods/binding: how a scheduler gives a pod its node, once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from apiserver.admission.chain import CREATE
from apiserver.registry.context import Context, Machinery
from apiserver.registry.preconditions import require_same
from apiserver.registry.store import ResourceStore
from apiserver.registry.strategy import ServerRules
from kubeloop.apimachinery import field
from kubeloop.apimachinery.conditions import set_condition
from kubeloop.apimachinery.errors import ApiError, BadRequest, Conflict
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource
from kubeloop.apimachinery.times import format_time


class BindingStore:
    """Creates Bindings, which are not stored: they change their pod."""

    def __init__(self, pods: ResourceStore, machinery: Machinery) -> None:
        self._pods, self._machinery = pods, machinery

    async def create(self, binding: Object, context: Context, resource: Resource) -> None:
        """Assign the pod to the node. Conflict where it has one already, is being deleted or held by a gate.

        `resource` is the one it was sent to, pods or bindings. Admission sees the Binding.
        """
        attributes = context.attributes(CREATE, resource, binding)
        await self._machinery.admission.mutate(attributes)
        binding = attributes.object or binding
        if binding.get("metadata", {}).get("name", "") != context.name:
            raise BadRequest("name in URL does not match name in Binding object")
        target = binding.get("target") or {}
        self._check(target)
        await self._machinery.admission.validate(attributes)
        if not context.name:  # a binding that is not sent to a pod may name none
            raise BadRequest("Name parameter required.")
        change = partial(self._bound, binding=binding, node=target["name"])
        if context.subresource != "binding":
            context = replace(context, subresource="binding")
        await self._pods.patch(change, context, ServerRules(), is_tracked=False, is_admitted=True)

    def _check(self, target: Object) -> None:
        """Refusals of a binding are plain errors upstream, hence 500."""
        errors = []
        if target.get("kind") not in ("Node", "", None):
            errors.append(field.not_supported("target.kind", target["kind"], ["Node", "<empty>"]))
        if not target.get("name"):
            errors.append(field.required("target.name"))
        if errors:
            text = str(errors[0]) if len(errors) == 1 else "[" + ", ".join(map(str, errors)) + "]"
            raise ApiError(text, code=500)

    def _bound(self, pod: Object, binding: Object, node: str) -> Object:
        metadata, spec = dict(pod["metadata"]), pod["spec"]
        name = metadata["name"]
        sent = binding.get("metadata", {})
        require_same(self._pods.kind, metadata, uid=sent.get("uid"), resource_version=sent.get("resourceVersion"))
        if "deletionTimestamp" in metadata:
            raise self._conflict(name, f"pod {name} is being deleted, cannot be assigned to a host")
        if spec.get("nodeName"):
            raise self._conflict(name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
        if spec.get("schedulingGates"):
            raise self._conflict(name, f"pod {name} has non-empty .spec.schedulingGates")
        metadata["resourceVersion"] = ""
        for kind, more in (
            ("annotations", sent.get("annotations") or {}),
            ("labels", sent.get("labels") or {}),
        ):
            if more:
                metadata[kind] = {**(metadata.get(kind) or {}), **more}
        status = dict(pod.get("status") or {})
        now = format_time(self._machinery.clock.now())
        status.pop("nominatedNodeName", None)  # a promise that was kept is none any more
        status["conditions"] = set_condition(
            [_without_reasons(condition) for condition in status.get("conditions") or []],
            {"type": "PodScheduled", "status": "True", "lastProbeTime": None},
            now,
        )
        return {**pod, "metadata": metadata, "spec": {**spec, "nodeName": node}, "status": status}

    def _conflict(self, name: str, why: str) -> Conflict:
        return Conflict.of("pods/binding", "", name, why)


def _without_reasons(condition: Object) -> Object:
    """What the scheduler wrote about failed attempts does not outlive the one that succeeded."""
    if condition["type"] != "PodScheduled":
        return condition
    return {key: value for key, value in condition.items() if key in ("type", "status", "lastTransitionTime")}
