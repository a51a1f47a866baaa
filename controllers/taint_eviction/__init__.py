"""taint-eviction-controller: deletes pods from nodes with NoExecute taints that they do not, or no longer, tolerate.

`patience` says how long a pod may stay, `reconciler` keeps the time and deletes. Who taints is no concern of this loop.
pkg/controller/tainteviction, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from controllers import node_pods
from controllers.pods import node_of
from controllers.taint_eviction.patience import no_execute_taints
from controllers.taint_eviction.reconciler import TaintEvictionReconciler
from kubeloop.apimachinery.meta import Object, ObjectKey, is_being_deleted, key_of, name_of
from kubeloop.apimachinery.resource import NODES, PODS
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.source import For, Watches

__all__ = ["add_to"]

_NAME = "taint-eviction-controller"
_WORKERS = 8


def add_to(manager: Manager) -> None:
    nodes, pods = manager.informer(NODES), node_pods.index(manager.informer(PODS))
    recorder = manager.event_recorder(_NAME)
    reconciler = TaintEvictionReconciler(manager.api, manager.clock, pods, nodes, recorder)

    def pods_of(node: Object) -> Iterable[ObjectKey]:
        return [key_of(pod) for pod in node_pods.pods_on(pods, name_of(node))]

    sources = [For(pods, predicates=[_patience_changed]), Watches(nodes, pods_of, predicates=[_taints_changed])]
    manager.add(Controller("taint_eviction", reconciler, sources, workers=_WORKERS))


def _patience_changed(old: Object, new: Object) -> bool:
    return (
        node_of(old) != node_of(new)
        or is_being_deleted(old) != is_being_deleted(new)
        or (old.get("spec") or {}).get("tolerations") != (new.get("spec") or {}).get("tolerations")
    )


def _taints_changed(old: Object, new: Object) -> bool:
    return no_execute_taints(old) != no_execute_taints(new)
