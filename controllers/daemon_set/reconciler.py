"""One reconcile of a DaemonSet: claim its revisions and pods, plan, carry the plan out, tell the status, tidy up.

Stale caches are tolerated by expectations: what it created or deleted must have shown up before it acts again, while
the status is always kept up to date. syncDaemonSet of pkg/controller/daemon, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import structlog

from controllers import children, pods
from controllers.batches import at_once, slow_start_all
from controllers.daemon_set import revisions, rolling, status
from controllers.daemon_set.failures import Failures, Place
from controllers.daemon_set.model import DaemonSpec, Situation
from controllers.daemon_set.placement import Requirements
from controllers.daemon_set.plan import Changes, Finished, plan
from controllers.daemon_set.pod import HASH_LABEL, new_pod, target_node
from controllers.history import History
from controllers.pod_control import PodControl
from controllers.refusals import is_namespace_terminating
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, Conflict, NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    is_being_deleted,
    is_controlled_by,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from kubeloop.apimachinery.resource import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS
from kubeloop.apimachinery.selectors import Selector
from kubeloop.apimachinery.tolerations import taints_of
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.expectations import EXPIRY_SECONDS, Expectations
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.own_writes import OwnWrites
from kubeloop.runtime.ownership import claim_children
from kubeloop.runtime.result import DONE, RequeueAfter, Result
from kubeloop.runtime.source import For, Owns, Watches
from kubeloop.runtime.status import StatusWriter

log = structlog.get_logger(__name__)

# Pods by the node they are made for: one that is not placed yet is not to be forgotten when its node changes.
_BY_TARGET = "by-target-node"

# The most pods created or deleted in one reconcile; the next one goes on when these have shown up.
BURST_REPLICAS = 250


def add_to(manager: Manager) -> None:
    sets, nodes = manager.informer(DAEMON_SETS), manager.informer(NODES)
    pod_informer = children.index(manager.informer(PODS))
    pod_informer.add_index(_BY_TARGET, lambda pod: (target_node(pod),))
    revision_informer = manager.informer(CONTROLLER_REVISIONS)
    recorder = manager.event_recorder("daemonset-controller")
    expectations = Expectations(manager.clock)
    expectations.follow(pod_informer, DAEMON_SETS)
    reconciler = DaemonSetReconciler(
        manager.api,
        manager.clock,
        sets,
        nodes,
        pod_informer,
        History(manager.api, revision_informer, DAEMON_SETS),
        expectations,
        recorder,
    )
    sources = [
        For(sets),
        Owns(pod_informer, DAEMON_SETS),
        Watches(pod_informer, reconciler.keys_for_orphan, controlled_by=[None]),
        Owns(revision_informer, DAEMON_SETS),
        Watches(revision_informer, reconciler.keys_for_orphan, controlled_by=[None]),
        Watches(nodes, reconciler.keys_for_node, [_is_other_place]),
    ]
    manager.add(Controller("daemonset", reconciler, sources, workers=2))


class DaemonSetReconciler:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        sets: Informer,
        nodes: Informer,
        pod_informer: Informer,
        past: History,
        expectations: Expectations,
        recorder: EventRecorder,
    ) -> None:
        self._api, self._clock, self._recorder = api, clock, recorder
        self._sets, self._nodes, self._pods, self._history = sets, nodes, pod_informer, past
        self._expectations = expectations
        self._control = PodControl(api, recorder, DAEMON_SETS)
        self._failures = Failures(clock)
        self._own_writes = OwnWrites()
        self._statuses = StatusWriter(api, DAEMON_SETS, clock, self._own_writes)

    async def reconcile(self, key: ObjectKey) -> Result:
        daemon_set = self._sets.get(key)
        if daemon_set is None:
            self._expectations.forget(key)
            self._own_writes.forget(key)
            return DONE  # the garbage collector owns its pods
        spec = DaemonSpec.of(self._own_writes.latest(daemon_set))
        if daemon_set["spec"].get("selector") == {}:
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            await self._recorder.event(daemon_set, "Warning", "SelectingAll", message)
            return DONE
        if is_being_deleted(daemon_set):
            return DONE  # its history may be gone already, so nothing can be told for sure
        has_seen_its_writes = self._expectations.satisfied(key)
        members = await self._claim_pods(spec)
        current, old = await self._revisions(spec, members)
        situation = Situation.of(spec, revisions.hash_of(current), self._nodes.list(), members, self._clock.now())
        failure = await self._act(situation) if has_seen_its_writes else None
        await self._tell(situation, has_seen_its_writes)
        if not has_seen_its_writes:
            return RequeueAfter(EXPIRY_SECONDS + 1)  # what is awaited wakes it sooner, unless it was missed
        if failure is not None:
            raise failure
        await self._tidy_up(spec, old, members)
        return self._next_look(situation, members)

    def keys_for_orphan(self, child: Object) -> Iterable[ObjectKey]:
        """The DaemonSets that might adopt a pod or revision without a controller."""
        return children.adopters(child, self._sets, _selector)

    def keys_for_node(self, node: Object) -> Iterable[ObjectKey]:
        """The DaemonSets for which the node, as it is now, has too few pods, too many, or pods that are misplaced."""
        live = self._nodes.get(key_of(node))
        if live is None:
            return []
        present = self._pods.by_index(_BY_TARGET, name_of(live))
        return [key_of(found) for found in self._sets.list() if _concerns(found, live, present)]

    async def _claim_pods(self, spec: DaemonSpec) -> list[Object]:
        candidates = children.candidates(self._pods, spec.obj)
        return await claim_children(self._api, spec.obj, DAEMON_SETS, _selector(spec.obj), candidates, PODS)

    # --- the revisions

    async def _revisions(self, spec: DaemonSpec, members: Sequence[Object]) -> tuple[Object, Sequence[Object]]:
        """The present template's, created or made the newest first, and the others, the oldest first."""
        candidates = self._history.candidates(spec.obj)
        owned = await self._history.claim(spec.obj, _selector(spec.obj), candidates)
        labelled = [await self._labelled(revision) for revision in owned]
        found = revisions.find(spec.obj["spec"]["template"], labelled)
        if found.current is None:
            return await self._create_revision(spec, found.number), found.old
        for duplicate in found.duplicates:
            await self._merge(duplicate, found.current, members)
        if (found.current.get("revision") or 0) < found.number:
            return await self._history.renumber(found.current, found.number), found.old
        return found.current, found.old

    async def _labelled(self, revision: Object) -> Object:
        """Revisions of long ago have no hash: their name serves as one."""
        if revisions.hash_of(revision):
            return revision
        return await self._history.label(revision, {HASH_LABEL: name_of(revision)})

    async def _create_revision(self, spec: DaemonSpec, number: int) -> Object:
        """Where another's has the name that follows from the template, the collision count makes another one of it."""
        created = await self._history.create(revisions.fresh(spec, number))
        if created is not None:
            return created
        live = await self._api.get(DAEMON_SETS, name_of(spec.obj), namespace_of(spec.obj))
        stored, count = live.get("status") or {}, spec.status.get("collisionCount")
        if stored.get("collisionCount") == count:
            await self._statuses.replace(live, {**stored, "collisionCount": (count or 0) + 1})
        raise Conflict.of(DAEMON_SETS.plural, DAEMON_SETS.group, name_of(spec.obj), "its revision's name is taken")

    async def _merge(self, duplicate: Object, current: Object, members: Sequence[Object]) -> None:
        for pod in members:
            if labels_of(pod).get(HASH_LABEL) == revisions.hash_of(duplicate):
                patch = {"metadata": {"labels": {HASH_LABEL: revisions.hash_of(current)}}}
                await self._api.patch(PODS, name_of(pod), patch, namespace_of(pod))
        await self._history.delete(duplicate)

    async def _tidy_up(self, spec: DaemonSpec, old: Sequence[Object], members: Sequence[Object]) -> None:
        live = {labels_of(pod).get(HASH_LABEL, "") for pod in members}
        for revision in revisions.surplus(spec, old, live):
            await self._history.delete(revision)

    # --- the pods

    async def _act(self, situation: Situation) -> Exception | None:
        """Put right what is amiss or, where nothing is, go on with an update; the first error, if any."""
        changes = plan(situation)
        delete = [*changes.delete, *await self._finished(situation, changes.finished)]
        if changes.create or delete:
            return await self._carry_out(situation, Changes(changes.create, tuple(delete)))
        if situation.spec.is_rolling:
            return await self._carry_out(situation, rolling.plan(situation))
        return None

    async def _finished(self, situation: Situation, finished: Sequence[Finished]) -> list[Object]:
        """Those whose time has come, told with an event each."""
        chosen = []
        for node, pod in ((each.node, each.pod) for each in finished):
            subject = f"daemon pod {namespace_of(pod)}/{name_of(pod)} on node {node}"
            if pods.phase_of(pod) == "Succeeded":
                told = "Normal", "SucceededDaemonPod", f"Found succeeded {subject}, will try to delete it"
            elif self._failures.seconds_to_wait(_place(situation, node)) > 0:
                continue
            else:
                self._failures.replaced(_place(situation, node))
                told = "Warning", "FailedDaemonPod", f"Found failed {subject}, will try to kill it"
            await self._recorder.event(situation.spec.obj, *told)
            chosen.append(pod)
        return chosen

    async def _carry_out(self, situation: Situation, changes: Changes) -> Exception | None:
        owner, key = situation.spec.obj, key_of(situation.spec.obj)
        nodes, surplus = changes.create[:BURST_REPLICAS], changes.delete[:BURST_REPLICAS]
        if not nodes and not surplus:
            return None
        log.info("daemon pods", key=str(key), creating=len(nodes), deleting=len(surplus))
        self._expectations.expect_creations(key, len(nodes))
        self._expectations.expect_deletions(key, map(uid_of, surplus))
        made_for = (new_pod(owner, node, situation.revision_hash, situation.spec.generation) for node in nodes)
        created, failure = await slow_start_all([partial(self._control.create, owner, pod) for pod in made_for])
        for _ in range(len(nodes) - created):
            self._expectations.creation_observed(key)  # never made: not to be waited for
        errors = await at_once([partial(self._delete, owner, pod) for pod in surplus])
        if failure is None or is_namespace_terminating(failure):
            return errors[0] if errors else None
        return failure

    async def _delete(self, owner: Object, pod: ReadOnlyObject) -> None:
        try:
            await self._control.delete(owner, name_of(pod))
        except ApiError as error:
            self._expectations.deletion_observed(key_of(owner), uid_of(pod))
            if not isinstance(error, NotFound):
                raise

    # --- the status

    async def _tell(self, situation: Situation, has_acted: bool) -> None:
        told = status.compute(situation, has_acted=has_acted)
        if status.differs(situation.spec, told):
            await self._statuses.replace(situation.spec.obj, told)

    def _next_look(self, situation: Situation, members: Sequence[Object]) -> Result:
        """When a pod counts as available, or a failed one may be replaced, without anybody telling."""
        waits = [pods.seconds_to_next_availability(members, situation.spec.min_ready_seconds, situation.now)]
        failed = [pod for pod in members if pods.phase_of(pod) == "Failed" and not is_being_deleted(pod)]
        waits += [self._failures.seconds_to_wait(_place(situation, target_node(pod))) for pod in failed]
        due = [wait for wait in waits if wait]
        return RequeueAfter(min(due)) if due else DONE


def _place(situation: Situation, node: str) -> Place:
    return Place(uid_of(situation.spec.obj), situation.spec.status.get("observedGeneration") or 0, node)


def _concerns(daemon_set: Object, node: Object, present: Iterable[Object]) -> bool:
    should_run, may_stay = Requirements.of(daemon_set).placement(node)
    if not any(is_controlled_by(pod, daemon_set) for pod in present):
        return should_run
    return not may_stay or bool((daemon_set.get("status") or {}).get("numberMisscheduled"))


def _is_other_place(old: Object, new: Object) -> bool:
    """Only labels and taints decide where daemon pods run."""
    return labels_of(old) != labels_of(new) or list(taints_of(old)) != list(taints_of(new))


def _selector(daemon_set: Object) -> Selector:
    return selectors.from_label_selector(daemon_set["spec"].get("selector"))
