"""The decision: what one reconcile of a DaemonSet does, from values alone.

First every node gets what it ought to have; only where nothing is to be done about that, a new template is rolled out.
Called by the reconciler with what the caches hold. manage of pkg/controller/daemon, v1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controllers import pods
from controllers.daemon_set.model import Situation
from controllers.daemon_set.pod import HASH_LABEL
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, is_being_deleted, labels_of


@dataclass(frozen=True, slots=True)
class Finished:
    """A pod that failed or succeeded on a node where one should run: it is deleted, failed ones not too often."""

    node: str
    pod: Object


@dataclass(frozen=True, slots=True)
class Changes:
    """`create`: the nodes that get a pod; `delete`: the pods that go."""

    create: tuple[str, ...] = ()
    delete: tuple[Object, ...] = ()
    finished: tuple[Finished, ...] = ()


def plan(situation: Situation) -> Changes:
    """What the nodes lack and have too much of."""
    nodes = [_about_node(situation, node) for node in situation.placements]
    return Changes(
        tuple(node for changes in nodes for node in changes.create),
        (*(pod for changes in nodes for pod in changes.delete), *_lost(situation)),
        tuple(finished for changes in nodes for finished in changes.finished),
    )


def _about_node(situation: Situation, node: str) -> Changes:
    placement, found = situation.placement(node), situation.on(node)
    if placement.should_run and not found:
        return Changes(create=(node,))
    staying = [pod for pod in found if not is_being_deleted(pod)]
    if not placement.may_stay:
        return Changes(delete=tuple(staying))
    finished = tuple(Finished(node, pod) for pod in staying if pods.is_terminal(pod))
    running = [pod for pod in staying if not pods.is_terminal(pod)]
    if not situation.spec.allows_surge:
        return Changes(delete=tuple(running[1:]), finished=finished)
    if running or not placement.should_run:
        return Changes(delete=tuple(_surplus(situation, running)), finished=finished)
    return Changes(create=(node,), finished=finished)


def _surplus(situation: Situation, running: Sequence[Object]) -> list[Object]:
    """Of each template the oldest may stay; the old one as long as it is ready and the new one is not available."""
    if len(running) < 2:
        return []
    new = next((pod for pod in running if _has_hash(situation, pod)), None)
    old = next((pod for pod in running if not _has_hash(situation, pod)), None)
    surplus = [pod for pod in running if pod is not new and pod is not old]
    if new and old and (not pods.is_ready(old) or situation.is_available(new)):
        surplus.append(old)
    return surplus


def _has_hash(situation: Situation, pod: ReadOnlyObject) -> bool:
    return labels_of(pod).get(HASH_LABEL) == situation.revision_hash


def _lost(situation: Situation) -> list[Object]:
    """Pods that were made for a node that is gone before they were placed there: nobody else removes them."""
    gone = (node for node in situation.pods_by_node if node not in situation.placements)
    return [pod for node in gone for pod in situation.on(node) if not pods.node_of(pod)]
