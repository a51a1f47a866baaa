"""One reconcile of a pod: every claim it wants from a template is there, its own, and named in its status."""

from __future__ import annotations

from controllers.device_claims import consumers_of
from controllers.pods import node_of
from controllers.resource_claims import model
from controllers.resource_claims.model import PodClaim
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    annotations_of,
    is_being_deleted,
    key_of,
    name_of,
    namespace_of,
    uid_of,
)
from kubeloop.apimachinery.resource import PODS, RESOURCE_CLAIMS
from kubeloop.client.api import APPLY, Api
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.result import DONE, Result, Unfinished

FIELD_MANAGER = "ResourceClaimController"
_BY_OWNER = "by-owning-pod"


class PodReconciler:
    """Keys are pods with claims."""

    def __init__(
        self, api: Api, pods: Informer, claims: Informer, templates: Informer, recorder: EventRecorder
    ) -> None:
        self._api, self._pods, self._claims, self._templates = api, pods, claims, templates
        self._recorder = recorder
        # Claims the cache does not show yet: (uid of the pod, name of the pod's claim) -> the claim.
        self._made: dict[tuple[str, str], Object] = {}
        claims.add_index(_BY_OWNER, lambda claim: filter(None, [model.owning_pod(claim)[1]]))
        claims.add_handler(self._seen)

    async def reconcile(self, key: ObjectKey) -> Result:
        pod = self._pods.get(key)
        if pod is None or is_being_deleted(pod) or model.is_done(pod):
            return DONE
        known = model.statuses(pod)
        found = dict(known)
        for claim in model.pod_claims(pod):
            try:
                if name := await self._name_of_made(pod, claim):
                    found[claim["name"]] = name
            except (ApiError, Unfinished) as error:
                why = f"PodResourceClaim {claim['name']}: {error}"
                await self._recorder.event(pod, "Warning", "FailedResourceClaimCreation", why)
                raise Unfinished(f"pod {key}, {why}") from error
        if found != known:
            await self._note(pod, found)
        if node_of(pod):
            await self._reserve(pod)
        return DONE

    async def _name_of_made(self, pod: Object, claim: PodClaim) -> str:
        """The claim from the template, made where it is missing; "" where nothing has to be noted."""
        try:
            name, is_own = model.name_in(pod, claim)
            if name is None:
                return ""
            there = self._claims.get(ObjectKey(namespace_of(pod), name))
            if there is not None and not (is_own and model.why_not_for_pod(pod, there)):
                return ""
        except model.NotCreatedYet:
            pass
        if "resourceClaimTemplateName" not in claim:
            return ""
        made = self._made_for(pod, claim["name"]) or await self._make(pod, claim)
        return name_of(made)

    def _made_for(self, pod: Object, name: str) -> Object | None:
        """A claim of the pod that its status does not name: the loop died in between."""
        for claim in self._claims.by_index(_BY_OWNER, uid_of(pod)):
            if annotations_of(claim).get(model.POD_CLAIM_ANNOTATION) == name:
                return claim
        return self._made.get((uid_of(pod), name))

    async def _make(self, pod: Object, claim: PodClaim) -> Object:
        name = claim["resourceClaimTemplateName"]
        template = self._templates.get(ObjectKey(namespace_of(pod), name))
        if template is None:
            quoted = go_quote(name)
            why = f"resource claim template {quoted}: resourceclaimtemplate.resource.k8s.io {quoted} not found"
            raise Unfinished(why)
        body = model.claim_from(template, pod, claim["name"])
        made = await self._api.create(RESOURCE_CLAIMS, body, namespace_of(pod))
        if self._claims.get(key_of(made)) is None:
            self._made[uid_of(pod), claim["name"]] = made
        return made

    async def _note(self, pod: Object, names: dict[str, str | None]) -> None:
        statuses = [
            {"name": name, **({"resourceClaimName": claim} if claim is not None else {})}
            for name, claim in names.items()
        ]
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name_of(pod), "namespace": namespace_of(pod)},
            "status": {"resourceClaimStatuses": statuses},
        }
        try:
            await self._api.patch(
                PODS,
                name_of(pod),
                body,
                namespace_of(pod),
                patch_type=APPLY,
                subresource="status",
                field_manager=FIELD_MANAGER,
                force=True,
            )
        except NotFound:
            return

    async def _reserve(self, pod: Object) -> None:
        """For a pod that somebody else than the scheduler put on its node."""
        for claim in map(self._claims.get, (ObjectKey(namespace_of(pod), name) for name in model.claim_names(pod))):
            if claim is not None and model.wants_reservation(pod, claim):
                consumer = {"resource": "pods", "name": name_of(pod), "uid": uid_of(pod)}
                status = {**claim["status"], "reservedFor": [*consumers_of(claim), consumer]}
                await self._api.update(RESOURCE_CLAIMS, {**claim, "status": status}, subresource="status")

    def _seen(self, delta: Delta) -> None:
        name = annotations_of(delta.obj).get(model.POD_CLAIM_ANNOTATION, "")
        self._made.pop((model.owning_pod(delta.obj)[1], name), None)
