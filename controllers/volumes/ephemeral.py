"""ephemeral-volume-controller: a claim for each ephemeral volume of a pod, owned by the pod and gone with it.

pkg/controller/volume/ephemeral, v1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllers import claims
from kubeloop.apimachinery.errors import AlreadyExists, ApiError
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    controller_reference,
    is_being_deleted,
    key_of,
    namespace_of,
)
from kubeloop.apimachinery.resource import PERSISTENT_VOLUME_CLAIMS, PODS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result, Unfinished
from kubeloop.runtime.source import Watches


def add_ephemeral(manager: Manager) -> None:
    pods = claims.index_pods(manager.informer(PODS))
    claim_informer = manager.informer(PERSISTENT_VOLUME_CLAIMS)
    reconciler = EphemeralVolumes(manager.api, pods, claim_informer, manager.event_recorder("ephemeral_volume"))
    controller = Controller("ephemeral_volume", reconciler, [Watches(pods, _if_concerned)], workers=5)
    manager.add(controller)

    def on_claim(delta: Delta) -> None:
        if delta.new is None:
            for pod in claims.pods_of(pods, key_of(delta.obj)):
                controller.enqueue(key_of(pod))

    claim_informer.add_handler(on_claim)


class EphemeralVolumes:
    """Its keys are pods."""

    def __init__(self, api: Api, pods: Informer, claim_informer: Informer, recorder: EventRecorder) -> None:
        self._api, self._pods, self._claims, self._recorder = api, pods, claim_informer, recorder

    async def reconcile(self, key: ObjectKey) -> Result:
        pod = self._pods.get(key)
        if pod is None or is_being_deleted(pod):
            return DONE
        for volume in pod["spec"].get("volumes") or ():
            if "ephemeral" in volume:
                await self._ensure_claim(pod, volume)
        return DONE

    async def _ensure_claim(self, pod: Object, volume: Mapping[str, Any]) -> None:
        """An error says which volume it was about, and the pod is tried again."""
        wanted = claim_for(pod, volume)
        found = self._claims.get(key_of(wanted))
        try:
            if found is None:
                await self._api.create(PERSISTENT_VOLUME_CLAIMS, wanted)
                return
            why = claims.why_not_for_pod(pod, found)
        except AlreadyExists:
            return  # the cache is behind; the claim's arrival there changes nothing for us
        except ApiError as error:
            why = f"create PVC {wanted['metadata']['name']}: {error.message}"
        if why:
            message = f"ephemeral volume {volume['name']}: {why}"
            await self._recorder.event(pod, "Warning", "FailedBinding", message)
            raise NotMade(f"pod {key_of(pod)}, {message}")


class NotMade(Unfinished):
    """A claim for an ephemeral volume could not be made."""


def claim_for(pod: ReadOnlyObject, volume: Mapping[str, Any]) -> Object:
    template = volume["ephemeral"]["volumeClaimTemplate"]
    described = template.get("metadata") or {}
    kept = {field: described[field] for field in ("annotations", "labels") if described.get(field)}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            **kept,
            "name": claims.ephemeral_claim_name(pod, volume),
            "namespace": namespace_of(pod),
            "ownerReferences": [controller_reference(pod, "v1", "Pod")],
        },
        "spec": template["spec"],
    }


def _if_concerned(pod: ReadOnlyObject) -> list[ObjectKey]:
    has_ephemeral = any("ephemeral" in volume for volume in pod["spec"].get("volumes") or ())
    return [key_of(pod)] if has_ephemeral else []
