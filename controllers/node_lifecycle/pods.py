"""Pods of nodes that are not ready are not ready either: nobody would say so but we, their kubelet being silent."""

from __future__ import annotations

from functools import partial

import structlog

from controllers.batches import at_once
from controllers.node_lifecycle.health import ready_condition as node_ready_condition
from controllers.node_lifecycle.silence import Silence
from controllers.node_pods import pods_on
from controllers.pod_status import condition_change, patch_status
from controllers.pods import node_of, ready_condition
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.meta import Object, ObjectKey
from kubeloop.apimachinery.times import format_time
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.result import DONE, Result

log = structlog.get_logger(__name__)


class PodMarker:
    def __init__(self, api: Api, clock: Clock, pods: Informer, recorder: EventRecorder) -> None:
        self._api, self._clock, self._pods, self._recorder = api, clock, pods, recorder

    async def mark_all(self, node_name: str) -> bool:
        """Whether all pods of the node say now that they are not ready."""
        errors = await at_once(partial(self.mark, pod) for pod in pods_on(self._pods, node_name))
        for error in errors:
            log.warning("could not mark a pod not ready", node=node_name, error=str(error))
        return not errors

    async def mark(self, pod: Object) -> None:
        """A pod without a Ready condition is left alone."""
        if ready_condition(pod) is None:
            return
        not_ready = {"type": "Ready", "status": "False"}
        changes = condition_change(pod, not_ready, format_time(self._clock.now()))
        if changes and await patch_status(self._api, pod, changes):
            await self._recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready")


class PodReconciler:
    """Keys are pods that have just been given a node: a node that fell silent before is not visited again for them."""

    def __init__(self, pods: Informer, nodes: Informer, silence: Silence, marker: PodMarker) -> None:
        self._pods, self._nodes, self._silence, self._marker = pods, nodes, silence, marker

    async def reconcile(self, key: ObjectKey) -> Result:
        pod = self._pods.get(key)
        if pod is None or not self._silence.knows(node_of(pod)):
            return DONE
        node = self._nodes.get(ObjectKey("", node_of(pod)))
        ready = node_ready_condition(node) if node else None
        if ready is not None and ready.get("status") != "True":
            await self._marker.mark(pod)
        return DONE


def node_changed(old: Object, new: Object) -> bool:
    return node_of(old) != node_of(new)
