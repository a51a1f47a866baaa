"""resourceclaim-controller: claims made from templates for pods, and claims given free when pods end.

model   which claim is meant by a pod, and who still uses one, as pure functions
pods    one reconcile of a pod: makes its claims and notes them in its status
claims  one reconcile of a claim: who reserved it, and whether anybody needs it still

pkg/controller/resourceclaim, v1.36, without PodGroups (an alpha API that is not served).
"""

from __future__ import annotations

from controllers.resource_claims import model
from controllers.resource_claims.claims import ClaimReconciler
from controllers.resource_claims.pods import PodReconciler
from kubeloop.apimachinery.meta import ObjectKey, ReadOnlyObject, key_of, name_of, namespace_of
from kubeloop.apimachinery.resource import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.source import For, Watches

__all__ = ["add_to"]

COMPONENT = "resource_claim"
_BY_CLAIM, _BY_TEMPLATE = "by-resource-claim", "by-resource-claim-template"


def add_to(manager: Manager) -> None:
    pods, claims = manager.informer(PODS), manager.informer(RESOURCE_CLAIMS)
    templates = manager.informer(RESOURCE_CLAIM_TEMPLATES)
    pods.add_index(_BY_CLAIM, lambda pod: [f"{namespace_of(pod)}/{name}" for name in model.claim_names(pod)])
    pods.add_index(_BY_TEMPLATE, lambda pod: [f"{namespace_of(pod)}/{name}" for name in model.template_names(pod)])

    def pods_by(index: str, obj: ReadOnlyObject) -> list[ObjectKey]:
        return [key_of(pod) for pod in pods.by_index(index, f"{namespace_of(obj)}/{name_of(obj)}")]

    of_pods = [
        Watches(pods, lambda pod: [key_of(pod)] if model.has_claims(pod) else []),
        Watches(claims, lambda claim: pods_by(_BY_CLAIM, claim)),
        Watches(templates, lambda template: pods_by(_BY_TEMPLATE, template)),
    ]
    of_claims = [
        For(claims),
        Watches(pods, lambda pod: [ObjectKey(namespace_of(pod), name) for name in model.claim_names(pod)]),
    ]
    recorder = manager.event_recorder(COMPONENT)
    pod_reconciler = PodReconciler(manager.api, pods, claims, templates, recorder)
    manager.add(Controller("resource_claim-pods", pod_reconciler, of_pods, workers=10))
    manager.add(Controller("resource_claim", ClaimReconciler(manager.api, pods, claims), of_claims, workers=10))
