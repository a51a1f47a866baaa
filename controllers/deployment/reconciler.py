"""One reconcile of a Deployment: claim its ReplicaSets, plan, carry the plan out, tell the status.

Every write carries the resourceVersion it was planned on: a plan made from a stale cache ends in a Conflict and is made
anew. The one write without (creating a ReplicaSet) is guarded by its name, which follows from the template.
"""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from controllers import children
from controllers.deployment import progress, rollback
from controllers.deployment.model import Rollout, Scale, SetState, copy_with
from controllers.deployment.old_pods import OldPods, is_waited_for
from controllers.deployment.plan import Plan, new_status, plan
from controllers.deployment.revisions import REVISION, is_same_template, replicas_annotations
from controllers.deployment.rollback import Rollback
from controllers.deployment.status import differs
from controllers.refusals import is_namespace_terminating
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import AlreadyExists, ApiError, Conflict, NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    annotations_of,
    controller_of,
    generation_of,
    is_controlled_by,
    key_of,
    namespace_of,
)
from kubeloop.apimachinery.resource import DEPLOYMENTS, PODS, REPLICA_SETS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.own_writes import OwnWrites
from kubeloop.runtime.ownership import claim_children
from kubeloop.runtime.result import DONE, RequeueAfter, Result
from kubeloop.runtime.source import For, Owns, Watches

log = structlog.get_logger(__name__)

_POD_SYNC_SECONDS = 0.05  # how soon to look whether pods are known


def add_to(manager: Manager) -> None:
    deployments = manager.informer(DEPLOYMENTS)
    sets = children.index(manager.informer(REPLICA_SETS))
    recorder = manager.event_recorder("deployment-controller")

    def follow_pods() -> Informer:
        pods = manager.informer(PODS)
        controller.watch(Watches(pods, reconciler.keys_for_pod, [is_waited_for], controlled_by=[REPLICA_SETS]))
        return pods

    reconciler = DeploymentReconciler(manager.api, manager.clock, deployments, sets, OldPods(follow_pods), recorder)
    sources = [
        For(deployments),
        Owns(sets, DEPLOYMENTS),
        Watches(sets, reconciler.keys_for_orphan, controlled_by=[None]),
    ]
    controller = Controller("deployment", reconciler, sources, workers=5)
    manager.add(controller)


class DeploymentReconciler:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        deployments: Informer,
        sets: Informer,
        old_pods: OldPods,
        recorder: EventRecorder,
    ) -> None:
        self._api, self._clock, self._recorder = api, clock, recorder
        self._deployments, self._sets, self._old_pods = deployments, sets, old_pods
        self._own_writes, self._own_sets = OwnWrites(), OwnWrites()

    async def reconcile(self, key: ObjectKey) -> Result:
        deployment = self._deployments.get(key)
        if deployment is None:
            self._own_writes.forget(key)
            return DONE  # the garbage collector owns its ReplicaSets
        deployment = self._own_writes.latest(deployment)
        if deployment["spec"].get("selector") == {}:
            return await self._refuse_to_select_all(deployment)
        sets = await self._claim(deployment)
        rollout = Rollout.of(deployment)
        pods_by_set = {} if rollout.is_rolling else self._old_pods.of(sets)
        if pods_by_set is None:
            return RequeueAfter(_POD_SYNC_SECONDS)
        decided = plan(rollout, sets, pods_by_set, self._clock.now())
        rolled_back = rollback.plan(rollout, sets) if decided.create is None else None
        if rolled_back is not None:
            return await self._roll_back(rolled_back)
        await self._carry_out(rollout, decided)
        return await self._tell(rollout, decided)

    def keys_for_orphan(self, replica_set: Object) -> Iterable[ObjectKey]:
        """The Deployments that might adopt a ReplicaSet without a controller."""
        return children.adopters(replica_set, self._deployments, _selector)

    def keys_for_pod(self, pod: Object) -> Iterable[ObjectKey]:
        """A Recreate Deployment waits for its last pods to go; nothing else of a pod matters here."""
        reference = controller_of(pod)
        if reference is None or reference.get("kind") != REPLICA_SETS.kind:
            return []
        replica_set = self._sets.get(ObjectKey(namespace_of(pod), reference.get("name", "")))
        owner = controller_of(replica_set) if replica_set else None
        deployment = self._deployments.get(ObjectKey(namespace_of(pod), (owner or {}).get("name", "")))
        if deployment is None or (deployment["spec"].get("strategy") or {}).get("type") != "Recreate":
            return []
        return [key_of(deployment)]

    async def _refuse_to_select_all(self, deployment: Object) -> Result:
        message = "This deployment is selecting all pods. A non-empty selector is required."
        await self._recorder.event(deployment, "Warning", "SelectingAll", message)
        stored = deployment.get("status") or {}
        if (stored.get("observedGeneration") or 0) < generation_of(deployment):
            status = {**stored, "observedGeneration": generation_of(deployment)}
            await self._write_status({**deployment, "status": status})
        return DONE

    async def _roll_back(self, rolled_back: Rollback) -> Result:
        """The change itself wakes this loop again, which then rolls it out."""
        changed = rolled_back.deployment
        self._own_writes.wrote(changed, await self._api.update(DEPLOYMENTS, changed))
        await self._recorder.event(changed, rolled_back.event_type, rolled_back.reason, rolled_back.message)
        return DONE

    async def _claim(self, deployment: Object) -> list[SetState]:
        candidates = [self._own_sets.latest(found) for found in children.candidates(self._sets, deployment)]
        selector = _selector(deployment)
        owned = await claim_children(self._api, deployment, DEPLOYMENTS, selector, candidates, REPLICA_SETS)
        return [SetState.of(replica_set) for replica_set in owned]

    async def _carry_out(self, rollout: Rollout, decided: Plan) -> None:
        """The plan's steps, in order; a step on a ReplicaSet starts from what the step before made of it."""
        known: dict[str, ReadOnlyObject] = {replica_set.name: replica_set.obj for replica_set in decided.old}
        if decided.create is not None:
            known[decided.create.name] = await self._create(rollout, decided, decided.create)
        elif decided.annotate is not None:
            known[decided.annotate.name] = await self._update_set(decided.annotate.obj)
        elif decided.new is not None:
            known[decided.new.name] = decided.new.obj
        for scale in decided.scales:
            known[scale.name] = await self._scale(rollout, known[scale.name], scale)
        for name in decided.deletes:
            await self._delete(namespace_of(rollout.obj), name)

    async def _create(self, rollout: Rollout, decided: Plan, new: SetState) -> Object:
        try:
            created = await self._api.create(REPLICA_SETS, new.obj)
        except AlreadyExists:
            await self._tell_collision(rollout, new)
            raise
        except ApiError as error:
            if not is_namespace_terminating(error):
                await self._tell_creation_failed(rollout, decided, new, error)
            raise
        if new.replicas > 0:
            await self._tell_scaled(rollout, new.name, 0, new.replicas)
        return created

    async def _tell_collision(self, rollout: Rollout, new: SetState) -> None:
        """A ReplicaSet of that name is there: ours and not yet in the cache (Conflict), or the hashes collide.

        Against a collision the count in the status goes into the hash; the next reconcile makes another name of it.
        """
        found = await self._api.get(REPLICA_SETS, new.name, namespace_of(rollout.obj))
        template = rollout.spec["template"]
        if is_controlled_by(found, rollout.obj) and is_same_template(found["spec"]["template"], template):
            raise Conflict.of(REPLICA_SETS.plural, REPLICA_SETS.group, new.name, "it is there, the cache is behind")
        count = (rollout.status.get("collisionCount") or 0) + 1
        status = {**rollout.status, "collisionCount": count}
        await self._write_status({**rollout.obj, "status": status})
        log.info("hash collision", deployment=str(key_of(rollout.obj)), replica_set=new.name, collision_count=count)

    async def _tell_creation_failed(self, rollout: Rollout, decided: Plan, new: SetState, error: ApiError) -> None:
        message = f'Failed to create new replica set "{new.name}": {error}'
        stored = [dict(condition) for condition in rollout.status.get("conditions") or []]
        conditions = progress.creation_failed(rollout, stored, message, self._clock.now())
        if conditions != stored:
            status = {**rollout.status, "conditions": conditions}
            await self._write_status({**rollout.obj, "status": status})
        await self._recorder.event(rollout.obj, "Warning", "ReplicaSetCreateError", message)

    async def _scale(self, rollout: Rollout, replica_set: ReadOnlyObject, scale: Scale) -> ReadOnlyObject:
        before = SetState.of(replica_set).replicas
        annotations = {**annotations_of(replica_set), **replicas_annotations(rollout)}
        if before == scale.replicas and annotations == annotations_of(replica_set):
            return replica_set
        changed = copy_with(replica_set, annotations=annotations, replicas=scale.replicas)
        written = await self._update_set(changed)
        if before != scale.replicas:
            await self._tell_scaled(rollout, scale.name, before, scale.replicas)
        return written

    async def _update_set(self, changed: ReadOnlyObject) -> ReadOnlyObject:
        written = await self._api.update(REPLICA_SETS, changed)
        self._own_sets.wrote(changed, written)
        return written

    async def _tell_scaled(self, rollout: Rollout, name: str, before: int, after: int) -> None:
        direction = "up" if before < after else "down"
        message = f"Scaled {direction} replica set {name} from {before} to {after}"
        await self._recorder.event(rollout.obj, "Normal", "ScalingReplicaSet", message)
        log.info("scaled replica set", replica_set=name, replicas_from=before, replicas_to=after)

    async def _delete(self, namespace: str, name: str) -> None:
        try:
            await self._api.delete(REPLICA_SETS, name, namespace)
        except NotFound:
            return

    async def _tell(self, rollout: Rollout, decided: Plan) -> Result:
        """Write status and revision where they changed; say when progress is to be judged next."""
        now = self._clock.now()
        status = new_status(rollout, decided, now)
        annotations = dict(annotations_of(rollout.obj))
        if decided.revision:
            annotations[REVISION] = decided.revision
        if differs(rollout, status) or annotations != annotations_of(rollout.obj):
            metadata = {**rollout.obj["metadata"], "annotations": annotations}
            await self._write_status({**rollout.obj, "metadata": metadata, "status": status})
        wait = progress.seconds_to_deadline(rollout, status, now) if decided.is_rollout else None
        return DONE if wait is None else RequeueAfter(wait)

    async def _write_status(self, changed: Object) -> None:
        try:
            self._own_writes.wrote(changed, await self._api.update(DEPLOYMENTS, changed, subresource="status"))
        except NotFound:
            return  # deleted meanwhile


def _selector(deployment: Object) -> selectors.Selector:
    return selectors.from_label_selector(deployment["spec"].get("selector"))
