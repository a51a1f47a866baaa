"""horizontal-pod-autoscaler-controller: as many pods as the load calls for, within the limits of an autoscaler.

Read `reconciler.py` first. Decisions are pure:

    model        what the planners read of an autoscaler
    plan         what needs no metrics, what all metrics together call for, the status
    replicas     how many pods a usage calls for; `requests`: what utilization is measured against
    pace         stabilization windows, policies and limits
    sources      one metric: read it (`metrics_api`), judge it (`replicas`), say it
    target       what the reference means, and the scale subresource; `answers`: refusals in client-go's words
    selecting    two autoscalers over the same pods
"""

from __future__ import annotations

from controllers.horizontal_pod_autoscaler.metrics_api import MetricsApi
from controllers.horizontal_pod_autoscaler.model import USUAL, Settings
from controllers.horizontal_pod_autoscaler.reconciler import AutoscalerReconciler
from controllers.horizontal_pod_autoscaler.sources import Sources
from controllers.horizontal_pod_autoscaler.target import Kinds, Scales
from kubeloop.apimachinery.meta import key_of
from kubeloop.apimachinery.resource import HORIZONTAL_POD_AUTOSCALERS, PODS
from kubeloop.client.store import Delta
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager

__all__ = ["USUAL", "Settings", "add_to"]


def add_to(manager: Manager, autoscaling: Settings = USUAL) -> None:
    """An autoscaler is looked at every 15 seconds and not sooner, whatever happens to it: changes settle first."""
    autoscalers, pods = manager.informer(HORIZONTAL_POD_AUTOSCALERS), manager.informer(PODS)
    kinds = Kinds(manager.api, manager.clock)
    scales, sources = Scales(manager.api, kinds), Sources(MetricsApi(manager.api, kinds))
    recorder = manager.event_recorder("horizontal-pod-autoscaler")
    reconciler = AutoscalerReconciler(
        manager.api, manager.clock, autoscalers, pods, scales, sources, recorder, autoscaling
    )
    controller = Controller("horizontalpodautoscaler", reconciler, workers=autoscaling.workers)
    manager.add(controller)

    def on_change(delta: Delta) -> None:
        controller.enqueue_after(key_of(delta.obj), autoscaling.sync_seconds)

    autoscalers.add_handler(on_change)
