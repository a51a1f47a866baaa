"""One reconcile of a StatefulSet: claim its revisions and pods, plan, carry the plan out, tell the status, tidy up.

Nothing is planned while the cache does not show the pods that were made or deleted last. pkg/controller/statefulset,
v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import structlog

from controllers import children, history, pods
from controllers.batches import slow_start_all
from controllers.history import History
from controllers.refusals import is_namespace_terminating
from controllers.stateful_set import claims, identity, revisions, status
from controllers.stateful_set.claims import Claims
from controllers.stateful_set.model import Revisions, SetSpec
from controllers.stateful_set.plan import Plan, Step, plan
from controllers.stateful_set.writes import PodWrites
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    is_being_deleted,
    is_controlled_by,
    key_of,
    labels_of,
    name_of,
    namespace_of,
)
from kubeloop.apimachinery.resource import (
    CONTROLLER_REVISIONS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    STATEFUL_SETS,
)
from kubeloop.apimachinery.selectors import Selector
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.expectations import EXPIRY_SECONDS, Expectations
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.own_writes import OwnWrites
from kubeloop.runtime.ownership import claim_children
from kubeloop.runtime.result import DONE, RequeueAfter, Result
from kubeloop.runtime.source import For, Owns, Watches
from kubeloop.runtime.status import StatusWriter

log = structlog.get_logger(__name__)


def add_to(manager: Manager) -> None:
    sets = manager.informer(STATEFUL_SETS)
    pod_informer = children.index(manager.informer(PODS))
    claim_informer = manager.informer(PERSISTENT_VOLUME_CLAIMS)
    past = History(manager.api, manager.informer(CONTROLLER_REVISIONS), STATEFUL_SETS)
    expectations = Expectations(manager.clock)
    expectations.follow(pod_informer, STATEFUL_SETS)
    recorder = manager.event_recorder("statefulset-controller")
    writes = PodWrites(manager.api, recorder, claim_informer, expectations)
    reconciler = StatefulSetReconciler(manager.api, manager.clock, sets, pod_informer, past, expectations, writes)
    sources = [
        For(sets),
        Owns(pod_informer, STATEFUL_SETS),
        Watches(pod_informer, reconciler.keys_for_orphan, controlled_by=[None]),
        Watches(claim_informer, reconciler.keys_for_claim),
    ]
    manager.add(Controller("statefulset", reconciler, sources, workers=5))


class StatefulSetReconciler:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        sets: Informer,
        pod_informer: Informer,
        past: History,
        expectations: Expectations,
        writes: PodWrites,
    ) -> None:
        self._api, self._clock = api, clock
        self._sets, self._pods, self._history = sets, pod_informer, past
        self._expectations, self._writes = expectations, writes
        self._own_writes = OwnWrites()
        self._statuses = StatusWriter(api, STATEFUL_SETS, clock, self._own_writes)

    async def reconcile(self, key: ObjectKey) -> Result:
        stateful_set = self._sets.get(key)
        if stateful_set is None:
            self._expectations.forget(key)
            self._own_writes.forget(key)
            return DONE  # the garbage collector owns its pods
        if not self._expectations.satisfied(key):
            return RequeueAfter(EXPIRY_SECONDS + 1)  # what is awaited wakes it sooner, unless it was missed
        spec = SetSpec.of(self._own_writes.latest(stateful_set))
        past = await self._claim_history(spec)
        members = await self._claim_pods(spec)
        known = await self._revisions(spec, past)
        if known is None:
            return DONE
        now = self._clock.now()
        decided = plan(spec, known, members, await self._claims(spec, members), now)
        failure = await self._carry_out(spec, decided)
        told = status.compute(spec, known, decided.members, now, 0 if failure else decided.outdated)
        if status.differs(spec, told):
            await self._statuses.replace(spec.obj, told)
        await self._tidy_up(spec, known, past, members)
        if failure is not None:
            raise failure
        wait = pods.seconds_to_next_availability(members, spec.min_ready_seconds, now)
        return DONE if wait is None else RequeueAfter(wait)

    def keys_for_orphan(self, pod: Object) -> Iterable[ObjectKey]:
        """The sets that might adopt a pod without a controller."""
        return children.adopters(pod, self._sets, _selector)

    def keys_for_claim(self, claim: Object) -> Iterable[ObjectKey]:
        """The sets that make claims of such a name: a claim that goes or comes lets a waiting pod go on."""
        stem = name_of(claim).rpartition("-")[0]
        for stateful_set in self._sets.list(namespace_of(claim)):
            templates = stateful_set["spec"].get("volumeClaimTemplates") or ()
            if any(stem == f"{name_of(template)}-{name_of(stateful_set)}" for template in templates):
                yield key_of(stateful_set)

    async def _claim_history(self, spec: SetSpec) -> list[Object]:
        """Those that no longer match the selector are neither used nor released."""
        selector = _selector(dict(spec.obj))
        matching = [found for found in self._history.candidates(spec.obj) if selector.matches(labels_of(found))]
        return await self._history.claim(spec.obj, selector, matching)

    async def _claim_pods(self, spec: SetSpec) -> list[Object]:
        """Matching pods that are named as the set's own; one of ours with another name is let go."""
        candidates = children.candidates(self._pods, spec.obj)
        members = [pod for pod in candidates if identity.is_member(spec, pod)]
        strangers = [pod for pod in candidates if not identity.is_member(spec, pod) and is_controlled_by(pod, spec.obj)]
        await claim_children(self._api, spec.obj, STATEFUL_SETS, selectors.NOTHING, strangers, PODS)
        return await claim_children(self._api, spec.obj, STATEFUL_SETS, _selector(dict(spec.obj)), members, PODS)

    async def _revisions(self, spec: SetSpec, past: list[Object]) -> Revisions | None:
        """Those in play, the present template's created or made the newest first.

        None where the set is being deleted and its history is gone already: nothing can be told then.
        """
        template = spec.obj["spec"]["template"]
        found = revisions.find(template, past)
        collision_count = spec.status.get("collisionCount") or 0
        update = found.revision
        if is_being_deleted(spec.obj):
            if update is None:
                return None
        elif update is None:
            update, collision_count = await self._create_revision(spec, found.number, collision_count)
        elif not found.is_as_it_should_be:
            update = await self._history.renumber(update, found.number)
        stored = spec.status.get("currentRevision")
        current = next((revision for revision in past if name_of(revision) == stored), update)
        return Revisions(
            name_of(current), history.template_of(current), name_of(update), dict(template), collision_count
        )

    async def _create_revision(self, spec: SetSpec, number: int, collision_count: int) -> tuple[Object, int]:
        """Another's revision may have the name that follows from the template: the count makes another one."""
        while True:
            created = await self._history.create(revisions.fresh(spec, number, collision_count))
            if created is not None:
                return created, collision_count
            collision_count += 1

    async def _claims(self, spec: SetSpec, members: Sequence[Object]) -> Claims:
        """As cached. Those that go with their pod are asked for: left out, they would stay behind without an owner."""
        if not spec.claim_templates:
            return {}
        found: dict[str, Object] = {}
        for ordinal in dict.fromkeys([*spec.ordinals, *map(identity.ordinal_of, members)]):
            is_surplus = spec.deletes_when_scaled and ordinal not in spec.ordinals
            for name in claims.names(spec, ordinal):
                key = ObjectKey(spec.namespace, name)
                claim = self._writes.claim(key) or (await self._writes.live_claim(key) if is_surplus else None)
                if claim is not None:
                    found[name] = claim
        return found

    async def _carry_out(self, spec: SetSpec, decided: Plan) -> Exception | None:
        """Phase after phase, in order or, in parallel, in growing batches; the first error ends it."""
        for phase in decided.phases:
            if phase:
                log.info("pods of stateful set", key=str(key_of(spec.obj)), steps=_in_words(phase))
            attempts = [partial(self._writes.carry_out, spec.obj, step) for step in phase]
            failure = await _in_order(attempts) if spec.is_ordered else (await slow_start_all(attempts))[1]
            if failure is not None:
                return None if is_namespace_terminating(failure) else failure
        return None

    async def _tidy_up(self, spec: SetSpec, known: Revisions, past: list[Object], members: Sequence[Object]) -> None:
        live = {known.current_name, known.update_name, *map(identity.revision_of, members)}
        for revision in revisions.surplus(spec, past, live):
            await self._history.delete(revision)


async def _in_order(attempts: Iterable[partial]) -> Exception | None:
    for attempt in attempts:
        try:
            await attempt()
        except ApiError as error:
            return error
    return None


def _in_words(phase: Sequence[Step]) -> list[str]:
    return [f"{step.verb} {name_of(step.pod)}" for step in phase]


def _selector(stateful_set: Object) -> Selector:
    return selectors.from_label_selector(stateful_set["spec"].get("selector"))
