"""device-taint-eviction-controller: deletes pods whose devices have NoExecute taints that their claims do not tolerate.

`eviction` says when a claim's users have to go, `reconciler` keeps the time and deletes. Who taints devices is no
concern of this loop. pkg/controller/devicetainteviction, v1.36, without DeviceTaintRules (off by default).
"""

from __future__ import annotations

from collections.abc import Iterable

from controllers.device_taint_eviction.eviction import consumer_uids, no_execute_taints, pool_of_slice, pools_of_claim
from controllers.device_taint_eviction.reconciler import DeviceTaintEvictionReconciler
from controllers.pods import node_of
from kubeloop.apimachinery.meta import Object, ObjectKey, is_being_deleted, key_of, uid_of
from kubeloop.apimachinery.resource import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.source import Watches

__all__ = ["add_to"]

_NAME = "device-taint-eviction-controller"
_WORKERS = 8
_BY_USER, _BY_POOL, _BY_UID = "claims-by-user", "by-pool", "by-uid-with-claims"


def add_to(manager: Manager) -> None:
    pods, claims, slices = (manager.informer(kind) for kind in (PODS, RESOURCE_CLAIMS, RESOURCE_SLICES))
    claims.add_index(_BY_USER, consumer_uids)
    claims.add_index(_BY_POOL, pools_of_claim)
    slices.add_index(_BY_POOL, lambda one: [pool_of_slice(one)])
    pods.add_index(_BY_UID, lambda pod: [uid_of(pod)] if _has_claims(pod) else [])

    def users_of(claim: Object) -> Iterable[ObjectKey]:
        return [key_of(pod) for uid in consumer_uids(claim) for pod in pods.by_index(_BY_UID, uid)]

    def users_of_pool(one: Object) -> Iterable[ObjectKey]:
        return [key for claim in claims.by_index(_BY_POOL, pool_of_slice(one)) for key in users_of(claim)]

    reconciler = DeviceTaintEvictionReconciler(
        manager.api,
        manager.clock,
        pods,
        lambda pod: claims.by_index(_BY_USER, uid_of(pod)),
        lambda pool: slices.by_index(_BY_POOL, pool),
        manager.event_recorder(_NAME),
    )
    sources = [
        Watches(pods, lambda pod: [key_of(pod)] if _has_claims(pod) else [], predicates=[_matters]),
        Watches(claims, users_of),
        Watches(slices, users_of_pool, predicates=[_taints_changed]),
    ]
    manager.add(Controller("device_taint_eviction", reconciler, sources, workers=_WORKERS))


def _has_claims(pod: Object) -> bool:
    return bool((pod.get("spec") or {}).get("resourceClaims"))


def _matters(old: Object, new: Object) -> bool:
    return node_of(old) != node_of(new) or is_being_deleted(old) != is_being_deleted(new)


def _taints_changed(old: Object, new: Object) -> bool:
    return old["spec"].get("pool") != new["spec"].get("pool") or no_execute_taints(old) != no_execute_taints(new)
