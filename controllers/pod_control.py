"""Creating and deleting pods for an owner, with the events people look for.

Used by every loop that makes pods from a template (ReplicaSet, ReplicationController, Job, DaemonSet).
RealPodControl of pkg/controller, v1.36.
"""

from __future__ import annotations

from controllers.refusals import is_namespace_terminating
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, controller_reference, name_of, namespace_of
from kubeloop.apimachinery.resource import PODS, Resource
from kubeloop.apimachinery.validation import dns_subdomain_errors
from kubeloop.client.api import Api
from kubeloop.runtime.event_recorder import EventRecorder


def pod_from_template(template: ReadOnlyObject, owner: ReadOnlyObject, owner_resource: Resource) -> Object:
    """The pod to create: the template's labels, annotations, finalizers and spec, a generated name, the owner."""
    described = template.get("metadata") or {}
    kept = {field: described[field] for field in ("labels", "annotations", "finalizers") if described.get(field)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **kept,
            "namespace": namespace_of(owner),
            "generateName": name_prefix(name_of(owner)),
            "ownerReferences": [controller_reference(owner, owner_resource.api_version, owner_resource.kind)],
        },
        "spec": template["spec"],
    }


def name_prefix(owner_name: str) -> str:
    """`web-`, or the bare name where the dash would make it too long."""
    prefix = f"{owner_name}-"
    return owner_name if dns_subdomain_errors(prefix, is_prefix=True) else prefix


class PodControl:
    def __init__(self, api: Api, recorder: EventRecorder, owner_resource: Resource) -> None:
        self._api, self._recorder, self._owner_resource = api, recorder, owner_resource

    async def create(self, owner: ReadOnlyObject, pod: Object) -> Object:
        try:
            created = await self._api.create(PODS, pod, namespace_of(owner), managed_fields=False)
        except ApiError as error:
            if not is_namespace_terminating(error):
                await self._recorder.event(owner, "Warning", "FailedCreate", f"Error creating: {error}")
            raise
        await self._recorder.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {name_of(created)}")
        return created

    async def delete(self, owner: ReadOnlyObject, pod_name: str) -> None:
        """NotFound is raised without an event: somebody else was faster."""
        try:
            await self._api.delete(PODS, pod_name, namespace_of(owner))
        except NotFound:
            raise
        except ApiError as error:
            await self._recorder.event(owner, "Warning", "FailedDelete", f"Error deleting: {error}")
            raise
        await self._recorder.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {pod_name}")
