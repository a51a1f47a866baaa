"""Runs the pods of all simulated nodes: one key a pod, level-triggered, woken by changes and by what falls due.

What a node remembers of its pods lives here and can be made anew from their statuses. What comes next is decided in
lifecycle.py; this module carries it out: events, one patch of the status where it differs, and the removal in the end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from kubelet_sim import admission, allocation, changes, lifecycle, observations, outage, pod_spec, tales
from kubelet_sim.addresses import PodAddresses
from kubelet_sim.arrivals import Arrivals, Decision
from kubelet_sim.attachments import Attachments, ClaimProblem
from kubelet_sim.faults.registry import Faults
from kubelet_sim.node_images import NodeImages, pulled
from kubelet_sim.node_object import NodeIdentity
from kubelet_sim.nodes import Recorders
from kubelet_sim.phase import TERMINAL
from kubelet_sim.pressure import Pressures
from kubelet_sim.recovery import recover
from kubelet_sim.references import References
from kubelet_sim.runtime import ContainerRuntime
from kubelet_sim.settings import Settings
from kubelet_sim.stages import surroundings
from kubelet_sim.stages.staging import Staging
from kubelet_sim.stages.template import Functions
from kubelet_sim.state import Happening, PodRuntime, PodSpec
from kubelet_sim.statuses import PodStatuses
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, annotations_of, key_of, uid_of
from kubeloop.apimachinery.resource import PODS
from kubeloop.apimachinery.times import moment_after
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.result import DONE, RequeueAfter, Result

_LOOK_AGAIN_SECONDS = 2.0  # for a config map or secret that was missing, or room for a resize
_WITHOUT_NODE_SECONDS = 0.2
_MAKING_ROOM_SECONDS = 0.5
_SHORTEST_WAIT_SECONDS = 0.001


class PodReconciler:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        rng: random.Random,
        pods: Informer,
        nodes: Informer,
        recorders: Recorders,
        attachments: Attachments,
        pressures: Pressures,
        faults: Faults,
        staging: Staging,
        statuses: PodStatuses,
        images: NodeImages,
        containers: ContainerRuntime,
        identities: Mapping[str, NodeIdentity],
        settings: Settings,
        wake: Callable[[ObjectKey], None],
    ) -> None:
        """`wake`: have a pod reconciled."""
        self._api, self._clock, self._rng, self._pods, self._nodes = api, clock, rng, pods, nodes
        self._recorders, self._identities, self._settings = recorders, identities, settings
        self._attachments, self._pressures, self._faults = attachments, pressures, faults
        self._staging, self._stages = staging, staging.pods
        self._statuses, self._images, self._containers = statuses, images, containers
        self._late: dict[ObjectKey, datetime] = {}  # when a slow node gets to the pod
        self._addresses = PodAddresses(settings)
        self._ledger = admission.Ledger()
        self._arrivals = Arrivals(api, pods, nodes, self._ledger, pressures, wake, self._stages.takes)
        self._references = References(api, clock)
        self._runtimes: dict[ObjectKey, PodRuntime] = {}
        self._reannotated: set[ObjectKey] = set()  # pods whose annotations say something else than when they came
        self._removed: set[str] = set()  # uids whose removal was asked for: a finalizer may keep their objects
        pods.add_handler(self._note)
        pods.index_field("spec.nodeName")

    def keys(self, pod: ReadOnlyObject) -> tuple[ObjectKey, ...]:
        """The key to reconcile where the pod is on a node of this process."""
        return (key_of(pod),) if _node_of(pod) in self._identities else ()

    async def reconcile(self, key: ObjectKey) -> Result:
        obj = self._statuses.newest(key)
        if obj is None or _node_of(obj) not in self._identities:
            return DONE
        if key not in self._runtimes and self._nodes.get(ObjectKey("", _node_of(obj))) is None:
            return RequeueAfter(_WITHOUT_NODE_SECONDS)  # the node is not registered yet: what it has is not known
        held = self._hold(obj)
        if held is not None:
            return held
        if self._stages.takes(obj):
            return await self._play(obj)
        pod = self._read(obj)
        known = await self._runtime(obj, pod)
        if known is None:
            return RequeueAfter(_MAKING_ROOM_SECONDS)
        await self._tell_of_annotations(obj)
        runtime = await self._with_observations(obj, pod, known)
        runtime = await self._with_references(obj, runtime)
        runtime = await self._with_volumes(obj, pod, runtime)
        obj, pod, runtime = await self._with_allocation(obj, pod, runtime)
        runtime = self._with_images(obj, runtime)
        plan = lifecycle.plan(obj, pod, runtime, self._clock.now(), self._pressures.sentence(pod.uid))
        self._runtimes[key] = plan.runtime
        before, after = ((one.containers, one.volume_images) for one in (runtime, plan.runtime))
        if any(one is not other for one, other in zip(before, after, strict=True)):
            self._images.add(_node_of(obj), pulled(pod, plan.runtime))
        await self._tell(obj, plan.happenings)
        await self._containers.carry_out(obj, pod, plan.runtime)
        must_look_again = await self._statuses.write(obj, pod, plan.status)
        if plan.is_removable:
            self._attachments.release(pod.uid)
            await self._remove(pod)
        return RequeueAfter(0) if must_look_again else self._until(plan)

    # --- what is known before anything is decided

    def _hold(self, obj: ReadOnlyObject) -> Result | None:
        """A node that is cut off does nothing that anybody sees until it is woken; a slow one comes later."""
        if not self._faults:
            return None
        node, key, now = _node_of(obj), key_of(obj), self._clock.now()
        if self._faults.is_cut_off(node):
            return DONE
        delay = self._faults.delay_seconds(node)
        due = self._late.setdefault(key, moment_after(now, delay)) if delay else now
        if now < due:
            return RequeueAfter((due - now).total_seconds())
        self._late.pop(key, None)
        return None

    async def _play(self, obj: Object) -> Result:
        """A pod that is given over to stages has no other life; one that is given back is taken up as it is then."""
        if self._runtimes.pop(key_of(obj), None) is not None:
            self._containers.forget(uid_of(obj))
        return await self._stages.play(
            obj, self._recorders(_node_of(obj)), lambda: self._functions(obj), self._statuses.keep
        )

    def _functions(self, obj: ReadOnlyObject) -> Functions:
        """Of the templates of stages."""
        node = _node_of(obj)
        identity, known = self._identities[node], (obj.get("status") or {}).get("podIP") or ""
        of_pod = surroundings.of_pod(
            node, lambda: self._address(obj, known, identity), self._address_of_node, self._settings.kubelet_port
        )
        return self._staging.surroundings.functions(of_pod)

    def _address_of_node(self, name: str) -> str:
        identity = self._identities.get(name)
        if identity is not None:
            return identity.address
        status = (self._nodes.get(ObjectKey("", name)) or {}).get("status") or {}
        internal = (one["address"] for one in status.get("addresses") or () if one["type"] == "InternalIP")
        return next(internal, "")

    def _read(self, obj: ReadOnlyObject) -> PodSpec:
        influence = self._faults.on_pod(obj) if self._faults else None
        return pod_spec.read(obj, self._settings.init_seconds, influence, self._containers.runs)

    async def _runtime(self, obj: ReadOnlyObject, pod: PodSpec) -> PodRuntime | None:
        """None while others have to go for the pod."""
        runtime = await self._remembered(obj, pod)
        rebooted_at = self._faults.rebooted_at(_node_of(obj))
        if runtime is None or rebooted_at is None:
            return runtime
        runtime, told = outage.after_reboot(pod, runtime, rebooted_at)
        if told:
            self._runtimes[pod.key] = runtime  # remembered at once: it is told once
            await self._tell(obj, told)
        return runtime

    async def _remembered(self, obj: ReadOnlyObject, pod: PodSpec) -> PodRuntime | None:
        runtime = self._runtimes.get(pod.key)
        if runtime is None or runtime.uid != pod.uid:
            return await self._arrive(obj, pod)
        if len(runtime.containers) < len(pod.containers) and not runtime.is_rejected:
            return runtime.with_debuggers(pod)
        return runtime

    async def _arrive(self, obj: ReadOnlyObject, pod: PodSpec) -> PodRuntime | None:
        """A pod seen for the first time: taken or rejected; one that was here before a restart is taken up again."""
        node_name, identity = _node_of(obj), self._identities[_node_of(obj)]
        pull_seconds = self._settings.image_pull_seconds * self._rng.random()
        runtime = recover(obj, pod, identity.address, pull_seconds, self._clock.now())
        if pod.phase in TERMINAL:
            return runtime
        is_new = not _was_admitted(obj)
        decision = await self._arrivals.decide(obj) if is_new else Decision()
        if decision.is_waiting:
            return None
        if decision.objection is None:
            # With no await since the decision: of two pods for one room one is refused.
            is_resized = allocation.is_changed(obj, runtime.allocated)
            taken = allocation.with_allocated(obj, runtime.allocated) if is_resized else obj
            self._ledger.change(node_name, taken, pod.uid)
        if is_new:
            await self._tell(obj, [tales.annotation_error(error) for error in pod_spec.annotation_errors(obj)])
            await self._tell(obj, self._containers.remarks(obj))
        if decision.objection:
            runtime, told = lifecycle.reject(runtime, decision.objection)
            await self._tell(obj, [told])
            return runtime
        if is_new and runtime.sandbox_error:
            await self._tell(obj, [tales.no_sandbox(runtime.sandbox_error)])
        return runtime._replace(ip=self._address(obj, runtime.ip, identity))

    async def _tell_of_annotations(self, obj: ReadOnlyObject) -> None:
        """What is wrong with them, where somebody has changed them."""
        if key_of(obj) in self._reannotated:
            self._reannotated.discard(key_of(obj))
            await self._tell(obj, [tales.annotation_error(error) for error in pod_spec.annotation_errors(obj)])

    async def _with_observations(self, obj: ReadOnlyObject, pod: PodSpec, runtime: PodRuntime) -> PodRuntime:
        """Remembered at once: what has been observed is not told twice."""
        seen = self._containers.observed(pod.uid)
        if not seen:
            return runtime
        runtime, told = observations.applied(pod, runtime, seen, self._clock.now())
        self._runtimes[pod.key] = runtime
        await self._tell(obj, told)
        return runtime

    async def _with_references(self, obj: ReadOnlyObject, runtime: PodRuntime) -> PodRuntime:
        """Looked at while a container has yet to start."""
        if not runtime.has_unstarted or runtime.stopping_since:
            return runtime
        problems = await self._references.problems(obj)
        new = [error for error in problems.mount_errors if error not in runtime.mount_errors]
        await self._tell(obj, list(map(tales.not_mounted, new)))
        if problems.device_error and problems.device_error != runtime.device_error:
            await self._tell(obj, [tales.no_devices(problems.device_error)])
        missing = tuple(problems.pull_secrets)
        if missing and missing != runtime.missing_pull_secrets:
            await self._tell(obj, [tales.no_pull_secrets(missing)])
        return runtime._replace(
            mount_errors=tuple(problems.mount_errors),
            device_error=problems.device_error,
            config_errors=problems.config_errors,
            missing_pull_secrets=missing,
        )

    async def _with_volumes(self, obj: ReadOnlyObject, pod: PodSpec, runtime: PodRuntime) -> PodRuntime:
        """Its containers start when every claim is bound and every volume attached."""
        node = self._nodes.get(ObjectKey("", _node_of(obj)))
        if runtime.is_rejected or pod.phase in TERMINAL or runtime.stopping_since or node is None:
            return runtime._replace(unattached=(), claim_problem="")
        try:
            missing, why = tuple(await self._attachments.missing(obj, node)), ""
        except ClaimProblem as problem:
            missing, why = (problem.volume,), str(problem)
            if runtime.has_unstarted and why != runtime.claim_problem:
                await self._tell(obj, [tales.unmounted(problem.volume, str(problem))])
        if not runtime.has_unstarted:
            missing, why = (), ""
        return runtime._replace(unattached=missing, claim_problem=why)

    async def _with_allocation(
        self, obj: Object, pod: PodSpec, runtime: PodRuntime
    ) -> tuple[Object, PodSpec, PodRuntime]:
        """The pod as its node sees it: with what is allocated to its containers, which follows what is asked for."""
        if runtime.is_rejected or not allocation.is_changed(obj, runtime.allocated):
            return obj, pod, runtime._replace(resize_pending=None) if runtime.resize_pending else runtime
        if pod.phase in TERMINAL or pod.deletion_deadline or runtime.stopping_since:
            return self._as_allocated(obj, runtime._replace(resize_pending=None))
        name = _node_of(obj)
        node = self._nodes.get(ObjectKey("", name)) or {}
        objection = admission.no_room(obj, node, self._ledger.used_by_others(name, pod.uid))
        if objection:
            runtime, told = allocation.defer(obj, runtime, objection)
        else:
            runtime, told = allocation.accept(obj, pod, runtime, self._clock.now())
            self._ledger.change(name, obj, pod.uid)
        await self._tell(obj, told)
        return self._as_allocated(obj, runtime)

    def _as_allocated(self, obj: Object, runtime: PodRuntime) -> tuple[Object, PodSpec, PodRuntime]:
        seen = allocation.with_allocated(obj, runtime.allocated)
        return seen, self._read(seen), runtime

    def _with_images(self, obj: ReadOnlyObject, runtime: PodRuntime) -> PodRuntime:
        """What its node has by now needs no pull."""
        images = self._images.on(_node_of(obj))
        return runtime if runtime.images is images else runtime._replace(images=images)

    def _address(self, obj: ReadOnlyObject, known: str, identity: NodeIdentity) -> str:
        if obj["spec"].get("hostNetwork"):
            return identity.address
        if known:
            return known
        node = self._nodes.get(ObjectKey("", identity.name)) or {}
        block = (node.get("spec") or {}).get("podCIDR") or self._addresses.block(identity.index)
        return self._addresses.allocate(uid_of(obj), block)

    def _until(self, plan: lifecycle.Plan) -> Result:
        waits = []
        if plan.wake_at is not None:
            waits.append(max((plan.wake_at - self._clock.now()).total_seconds(), _SHORTEST_WAIT_SECONDS))
        runtime = plan.runtime
        is_held = runtime.mount_errors or runtime.device_error or runtime.claim_problem or runtime.config_errors
        if is_held and runtime.stopping_since is None:
            waits.append(_LOOK_AGAIN_SECONDS)
        if plan.runtime.resize_pending and plan.runtime.stopping_since is None:
            waits.append(_LOOK_AGAIN_SECONDS)
        return RequeueAfter(min(waits)) if waits else DONE

    # --- acting

    async def _tell(self, obj: ReadOnlyObject, happenings: Sequence[Happening]) -> None:
        if not happenings:
            return
        recorder = self._recorders(_node_of(obj))
        for one in happenings:
            await recorder.event(obj, one.event_type, one.reason, one.message, one.field_path, one.annotations)

    async def _remove(self, pod: PodSpec) -> None:
        if pod.uid in self._removed:
            return
        self._removed.add(pod.uid)
        try:
            await self._api.delete(PODS, pod.key.name, pod.key.namespace, grace_period_seconds=0, uid=pod.uid)
        except NotFound:
            pass
        except BaseException:
            self._removed.discard(pod.uid)
            raise

    def end(self, key: ObjectKey, container: str, exit_code: int) -> None:
        """Somebody has ended the first process of a container; the next reconcile sees what follows from that."""
        runtime = self._runtimes.get(key)
        if runtime is not None:
            self._runtimes[key] = changes.ended_by_force(runtime, container, exit_code, self._clock.now())

    # --- remembering

    def _note(self, delta: Delta) -> None:
        """Before the reconcile of the same change: what is over frees its room, what was here keeps its own."""
        obj = delta.obj
        if _node_of(obj) not in self._identities and key_of(obj) not in self._runtimes:
            return  # a node may have gone before its pods, whose runtimes stay until they do
        if delta.new is None or _uid_changed(delta):
            self._forget(delta.old or obj)
        elif delta.old is not None and annotations_of(delta.old) != annotations_of(delta.new):
            self._reannotated.add(key_of(obj))
        if delta.new is not None:
            self.remember(delta.new)

    def remember(self, obj: Object) -> None:
        """What a pod on a node of this process has already: also of a node that has just become ours."""
        status = obj.get("status") or {}
        self._statuses.caught_up(obj)
        if status.get("phase") in TERMINAL:
            self._ledger.remove(uid_of(obj))
            self._attachments.release(uid_of(obj))
            self._pressures.forget(uid_of(obj))
        elif _was_admitted(obj):
            self._ledger.add(_node_of(obj), obj, uid_of(obj))
        if status.get("podIP") and not obj["spec"].get("hostNetwork"):
            self._addresses.claim(uid_of(obj), status["podIP"])

    def _forget(self, obj: Object) -> None:
        key, uid = key_of(obj), uid_of(obj)
        self._runtimes.pop(key, None)
        self._reannotated.discard(key)
        self._statuses.forget(key)
        self._late.pop(key, None)
        self._stages.forget(key)
        self._removed.discard(uid)
        self._ledger.remove(uid)
        self._addresses.release(uid)
        self._attachments.release(uid)
        self._pressures.forget(uid)
        self._containers.forget(uid)
        self._images.release(obj)


def _node_of(pod: ReadOnlyObject) -> str:
    return (pod.get("spec") or {}).get("nodeName") or ""


def _was_admitted(pod: ReadOnlyObject) -> bool:
    return bool((pod.get("status") or {}).get("startTime"))


def _uid_changed(delta: Delta) -> bool:
    return delta.old is not None and delta.new is not None and uid_of(delta.old) != uid_of(delta.new)
