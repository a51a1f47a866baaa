"""One reconcile of a ReplicaSet (or ReplicationController): claim its pods, make or take away what is amiss, count.

Stale caches are tolerated by expectations: what it created or deleted must have shown up before it acts again, while
the status is always kept up to date. syncReplicaSet of pkg/controller/replicaset, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import structlog

from controllers import children, gathering, pods
from controllers.batches import at_once, slow_start
from controllers.pod_control import PodControl, pod_from_template
from controllers.refusals import is_namespace_terminating
from controllers.replicaset import status, victims
from controllers.replicaset.groups import Group, PodGroups, grouped
from controllers.replicaset.kinds import REPLICA_SET, REPLICATION_CONTROLLER, ReplicaKind
from controllers.replicaset.patience import patience_with
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError, NotFound
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    controller_of,
    is_being_deleted,
    key_of,
    name_of,
    namespace_of,
    uid_of,
)
from kubeloop.apimachinery.resource import PODS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.expectations import EXPIRY_SECONDS, Expectations
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.own_writes import OwnWrites
from kubeloop.runtime.ownership import claim_children
from kubeloop.runtime.result import DONE, RequeueAfter, Result
from kubeloop.runtime.status import StatusWriter

log = structlog.get_logger(__name__)

# The most pods created or deleted in one reconcile; the next one goes on when these have shown up.
BURST_REPLICAS = 500


def add_replica_sets(manager: Manager) -> None:
    _add(manager, REPLICA_SET)


def add_replication_controllers(manager: Manager) -> None:
    _add(manager, REPLICATION_CONTROLLER)


def _add(manager: Manager, kind: ReplicaKind) -> None:
    owners = children.index(manager.informer(kind.resource))
    pod_informer = children.index(manager.informer(PODS))
    expectations = Expectations(manager.clock)
    expectations.follow(pod_informer, kind.resource)
    control = PodControl(manager.api, manager.event_recorder(kind.component), kind.resource)
    reconciler = ReplicaSetReconciler(manager.api, manager.clock, kind, owners, pod_informer, expectations, control)
    patience, counts = patience_with(owners), [pods.counts_otherwise]
    sources = gathering.sources(owners, pod_informer, reconciler.keys_for_pod, patience, counts)
    manager.add(Controller(kind.queue, reconciler, sources, workers=5))


class ReplicaSetReconciler:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        kind: ReplicaKind,
        owners: Informer,
        pod_informer: Informer,
        expectations: Expectations,
        control: PodControl,
    ) -> None:
        self._api, self._clock, self._kind = api, clock, kind
        self._owners, self._pods, self._groups = owners, pod_informer, PodGroups(pod_informer)
        self._expectations, self._control = expectations, control
        self._own_writes = OwnWrites()
        self._statuses = StatusWriter(api, kind.resource, clock, self._own_writes)

    async def reconcile(self, key: ObjectKey) -> Result:
        owner = self._owners.get(key)
        if owner is None:
            self._expectations.forget(key)
            self._own_writes.forget(key)
            return DONE  # deleted; the garbage collector owns its pods
        owner = self._own_writes.latest(owner)
        has_seen_its_writes = self._expectations.satisfied(key)
        active, terminating = await self._claim(owner)
        failure = None
        if has_seen_its_writes and not is_being_deleted(owner):
            failure = await self._manage(owner, active)
        result = await self._tell(owner, active, terminating, failure)
        if result is DONE and not has_seen_its_writes:
            return RequeueAfter(EXPIRY_SECONDS + 1)  # what is awaited wakes it sooner, unless it was missed
        return result

    def keys_for_pod(self, pod: Object) -> Iterable[ObjectKey]:
        return children.owners_of(pod, self._kind.resource, self._owners, self._kind.selector_of)

    async def _claim(self, owner: Object) -> tuple[list[Group], int]:
        """The active pods, adopted and released as need be, and how many are on their way out."""
        selector = self._kind.selector_of(owner)
        ours: list[Group] = []
        others = grouped(children.orphans_in(self._pods, namespace_of(owner)))
        for group in self._groups.of(uid_of(owner)):
            (ours if selector.matches(dict(group.shape.labels)) else others).append(group)
        candidates = [pod for group in others if group.shape.is_active for pod in group.pods]
        adopted = await claim_children(self._api, owner, self._kind.resource, selector, candidates, PODS)
        active = [group for group in ours if group.shape.is_active] + grouped(adopted)
        return active, status.count(group for group in ours if group.shape.is_terminating)

    async def _manage(self, owner: Object, active: Sequence[Group]) -> Exception | None:
        """Create what is missing, delete what is too much; the first error, if any."""
        surplus = status.count(active) - _wanted(owner)
        if surplus < 0:
            return await self._create(owner, min(-surplus, BURST_REPLICAS))
        if surplus > 0:
            each = [pod for group in active for pod in group.pods]
            return await self._delete(owner, each, min(surplus, BURST_REPLICAS))
        return None

    async def _create(self, owner: Object, count: int) -> Exception | None:
        key = key_of(owner)
        log.info("too few replicas", controller=self._kind.queue, key=str(key), creating=count)
        pod = pod_from_template(owner["spec"]["template"], owner, self._kind.resource)
        self._expectations.expect_creations(key, count)
        created, error = await slow_start(count, partial(self._control.create, owner, pod))
        for _ in range(count - created):
            self._expectations.creation_observed(key)  # never made: not to be waited for
        return None if error is not None and is_namespace_terminating(error) else error

    async def _delete(self, owner: Object, active: Sequence[Object], count: int) -> Exception | None:
        key = key_of(owner)
        log.info("too many replicas", controller=self._kind.queue, key=str(key), deleting=count)
        chosen = victims.choose(active, self._related_pods(owner), count, self._clock.now())
        self._expectations.expect_deletions(key, [uid_of(pod) for pod in chosen])
        errors = await at_once([partial(self._delete_one, owner, pod) for pod in chosen])
        return errors[0] if errors else None

    async def _delete_one(self, owner: Object, pod: ReadOnlyObject) -> None:
        try:
            await self._control.delete(owner, name_of(pod))
        except ApiError as error:
            self._expectations.deletion_observed(key_of(owner), uid_of(pod))
            if not isinstance(error, NotFound):
                raise

    def _related_pods(self, owner: Object) -> list[Object]:
        """The pods of all ReplicaSets of the same Deployment, which make nodes crowded; none without an owner."""
        controller = controller_of(owner)
        if controller is None:
            return []
        related: dict[str, Object] = {}
        for sibling in children.owned_by(self._owners, controller.get("uid", "")):
            for pod in self._pods.list(namespace_of(sibling), self._kind.selector_of(sibling)):
                related[uid_of(pod)] = pod
        return list(related.values())

    async def _tell(
        self, owner: Object, active: Sequence[Group], terminating: int, failure: Exception | None
    ) -> Result:
        """Write the status where it changed; raise the failure for another try, or say when to look again."""
        now = self._clock.now()
        counted = terminating if self._kind.counts_terminating else None
        new_status = status.compute(owner, active, counted, failure, now)
        if status.differs(owner, new_status):
            await self._statuses.replace(owner, new_status)
        if failure is not None:
            raise failure
        wait = status.seconds_to_next_availability(owner, new_status, active, now)
        return DONE if wait is None else RequeueAfter(wait)


def _wanted(owner: ReadOnlyObject) -> int:
    replicas = owner["spec"].get("replicas")
    return 1 if replicas is None else int(replicas)
