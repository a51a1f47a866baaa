"""DynamicResources: pods with resource claims (DRA) go where the devices are that they claim.

Which devices a claim gets is worked out for every node (dynamic_resources), taken in Reserve and written in PreBind.
Pods without claims only notice that this plugin is asked before preemption when no node fits, which their message
tells. Facts and messages: plugins/dynamicresources (v1.36), but extended resources are never made into claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from controllers.device_claims import allocation_of, consumers_of, results_of
from controllers.scheduler.dynamic_resources.allocated import allocated_by
from controllers.scheduler.dynamic_resources.allocator import (
    AllocationFailed,
    Allocator,
    FailedOnNode,
    Found,
    TookTooLong,
)
from controllers.scheduler.dynamic_resources.binding import ClaimBinder
from controllers.scheduler.dynamic_resources.devices import Slices
from controllers.scheduler.dynamic_resources.pod_claims import NotReady, claims_of, is_reserved_for
from controllers.scheduler.dynamic_resources.pools import Published
from controllers.scheduler.dynamic_resources.readiness import BINDING_SECONDS, BindingFailed, is_ready
from controllers.scheduler.dynamic_resources.requests import requests_of
from controllers.scheduler.dynamic_resources.results import allocation_of as allocation_from
from controllers.scheduler.dynamic_resources.selectors import SelectorFailed, Selectors
from controllers.scheduler.events import RegisteredEvent
from controllers.scheduler.interface import (
    CycleState,
    FilterPlugin,
    Handle,
    Nomination,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
    ScorePlugin,
)
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.normalize import by_maximum
from controllers.scheduler.plugins.dynamic_resources_hints import Hints
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status, failed, unresolvable, unschedulable
from kubeloop.apimachinery.go_duration import duration_seconds
from kubeloop.apimachinery.meta import Object, ObjectKey, key_of, uid_of
from kubeloop.apimachinery.node_affinity import node_selector
from kubeloop.apimachinery.resource import DEVICE_CLASSES, RESOURCE_CLAIMS, RESOURCE_SLICES

NAME = "DynamicResources"
NO_DEVICES = Status(Code.UNRESOLVABLE, ("cannot allocate all claims",), NAME)
NOT_HERE = Status(Code.UNRESOLVABLE, ("resourceclaim not available on the node",), NAME)

_MOST_ALTERNATIVES = 8
_FILTER_TIMEOUT = "10s"
# Seconds are counted as devices that are tried, so that it does not depend on the machine what is found.
_STEPS_A_SECOND = 10_000


@dataclass(slots=True)
class _Plan:
    """A pod's claims, and what is found out about them in its cycle. PreBind replaces those that it writes."""

    claims: list[Object]
    allocator: Allocator | None = None  # None: all of them are allocated
    by_node: dict[str, list[Found]] = field(default_factory=dict)  # in the order of those to allocate
    unavailable: set[int] = field(default_factory=set)  # allocated, and not to be had on some node
    allocations: dict[int, Object] = field(default_factory=dict)  # decided in Reserve

    def to_allocate(self) -> list[tuple[int, Object]]:
        return [(i, claim) for i, claim in enumerate(self.claims) if allocation_of(claim) is None]


class DynamicResources(
    PreEnqueuePlugin, PreFilterPlugin, FilterPlugin, PostFilterPlugin, ScorePlugin, ReservePlugin, PreBindPlugin
):
    NAME = NAME

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._claims = handle.lister(RESOURCE_CLAIMS)
        self._classes = handle.lister(DEVICE_CLASSES)
        self._slice_objects = handle.lister(RESOURCE_SLICES)
        self._slices, self._selectors = Slices(), Selectors()
        self._allocations = handle.allocations
        self._most_steps = int(duration_seconds(handle.args.get("filterTimeout") or _FILTER_TIMEOUT) * _STEPS_A_SECOND)
        timeout = handle.args.get("bindingTimeout")
        self._binding_seconds = duration_seconds(timeout) if timeout else BINDING_SECONDS
        self._binder = ClaimBinder(handle, self._claims, self._binding_seconds)
        self._hints = Hints(self._claim_named)

    def events(self) -> Sequence[RegisteredEvent]:
        return self._hints.events()

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Claims first: they are made from templates after the pod."""
        try:
            claims_of(pod, self._claim_named)
        except NotReady as error:
            return unresolvable(str(error)).of(NAME)
        return None

    # Finding nodes -------------------------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        state[NAME] = _Plan([])
        try:
            claims = claims_of(pod, self._claim_named)
        except NotReady as error:
            return unresolvable(str(error))
        if not claims:
            state.skip_scores.add(NAME)
            return SKIP
        plan = _Plan(claims)
        for _, claim in plan.to_allocate():
            if why := self._why_not_allocatable(claim):
                return unresolvable(why)
        if plan.to_allocate():
            plan.allocator = self._allocator([claim for _, claim in plan.to_allocate()])
        state[NAME] = plan
        return None

    def _why_not_allocatable(self, claim: Object) -> str:
        if self._allocations.is_pending(claim):
            return f"resource claim {key_of(claim)} is in the process of being allocated"
        for alternatives in requests_of(claim):
            if not alternatives:
                return f"resource claim {key_of(claim)}: unknown request type"
            for request in alternatives:
                if self._class_named(request.class_name) is None:
                    return f"request {request.full_name}: device class {request.class_name} does not exist"
        return ""

    def _allocator(self, claims: list[Object]) -> Allocator:
        """As things are now: nothing of it changes before the pod's cycle is over."""
        published = Published(self._slices.read(self._slice_objects.list()))
        uids = {uid_of(claim) for claim in claims}
        allocated = allocated_by(self._allocations.all(self._claims.list(), except_for=uids))
        return Allocator(published, allocated, self._class_named, self._selectors, claims, self._most_steps)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        plan: _Plan = state[NAME]
        unavailable = [i for i, claim in enumerate(plan.claims) if not self._is_available(claim, node)]
        if plan.allocator is not None:
            found = _allocated_on(plan.allocator, node)
            if isinstance(found, Status):
                return found
            plan.by_node[node.name] = found
        if unavailable:
            plan.unavailable.update(unavailable)
            return NOT_HERE
        return None

    def _is_available(self, claim: Object, node: NodeInfo) -> bool:
        """Of a claim that is allocated: for this node, and its devices have not failed to become ready."""
        allocation = allocation_of(claim)
        if allocation is None:
            return True
        selector = allocation.get("nodeSelector")
        if selector is not None and not node_selector(selector).matches(node.name, node.labels):
            return False
        try:
            is_ready(claim, self.handle.now(), self._binding_seconds)
        except BindingFailed:
            return False
        return True

    def post_filter(
        self, state: CycleState, pod: PodInfo, node_statuses: Mapping[str, Status], absent: Status
    ) -> tuple[Nomination | None, Status | None]:
        """Give a claim's devices back that keep the pod from every node. Where an earlier plugin's PreFilter refused
        the pod, this one was never asked."""
        plan: _Plan | None = state.get(NAME)
        if plan is None:
            return None, failed("not found")
        if not plan.claims:
            return None, unschedulable("no new claims to deallocate")
        unused = [i for i in sorted(plan.unavailable) if _is_unused_but_by(pod, plan.claims[i])]
        if not unused:
            return None, unschedulable("still not schedulable")
        claim = plan.claims[self.handle.rng.choice(unused)]
        state.follow_ups.append(partial(self._binder.deallocate, pod, claim))
        return None, unschedulable("deallocation of ResourceClaim completed")

    # Choosing one --------------------------------------------------------------------------------------------------

    def score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        """The earlier the alternative, the better."""
        plan: _Plan | None = state.get(NAME)
        if plan is None or not plan.claims:
            return [0] * len(nodes)
        return [sum(self._ranks(plan, node.name)) for node in nodes]

    def _ranks(self, plan: _Plan, node_name: str) -> Iterator[int]:
        found = iter(plan.by_node.get(node_name, ()))
        for claim in plan.claims:
            if allocation_of(claim) is not None:
                names = {result.get("request") for result in results_of(claim)}
            else:
                names = {given.request.full_name for given in next(found, Found(claim)).given}
            for alternatives in requests_of(claim):
                for i, request in enumerate(alternatives):
                    if request.alternative and request.full_name in names:
                        yield _MOST_ALTERNATIVES - i

    def normalize(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], scores: list[int]) -> list[int]:
        return by_maximum(scores)

    # Carrying it out -----------------------------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        plan: _Plan | None = state.get(NAME)
        if plan is None or plan.allocator is None:
            return None
        found = plan.by_node.get(node_name)
        if found is None:
            return failed("claim allocation not found for node")
        for (i, claim), one in zip(plan.to_allocate(), found, strict=True):
            plan.allocations[i] = allocation_from(one, node_name, self._share_id)
            self._allocations.begin(claim, plan.allocations[i])
        return None

    def _share_id(self) -> str:
        return str(UUID(int=self.handle.rng.getrandbits(128), version=4))

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        plan: _Plan | None = state.get(NAME)
        if plan is None:
            return
        for i in plan.allocations:
            self._allocations.end(plan.claims[i])
        plan.allocations.clear()
        for claim in plan.claims:
            if allocation_of(claim) is not None and is_reserved_for(claim, pod):
                state.follow_ups.append(partial(self._binder.release, pod, claim))

    def will_pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> bool:
        plan: _Plan | None = state.get(NAME)
        return plan is not None and bool(plan.claims)

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        plan: _Plan | None = state.get(NAME)
        if plan is None or not plan.claims:
            return SKIP
        try:
            for i, claim in enumerate(plan.claims):
                if not is_reserved_for(claim, pod):
                    plan.claims[i] = await self._binder.bind(pod, claim, plan.allocations.get(i))
            await self._binder.wait_until_ready(pod, plan.claims, node_name)
        except BindingFailed as error:
            return failed(str(error))
        return None

    def _claim_named(self, key: ObjectKey) -> Object | None:
        return self._allocations.newest(key, self._claims.get(key))

    def _class_named(self, name: str) -> Object | None:
        return self._classes.get(ObjectKey("", name))


def _allocated_on(allocator: Allocator, node: NodeInfo) -> list[Found] | Status:
    try:
        found = allocator.allocate(node)
    except TookTooLong:
        return failed(f"node {node.name}: timed out trying to allocate devices")
    except FailedOnNode as error:
        return unresolvable(str(error))
    except (AllocationFailed, SelectorFailed) as error:
        return failed(str(error))
    return NO_DEVICES if found is None else found


def _is_unused_but_by(pod: PodInfo, claim: Object) -> bool:
    return all(consumer.get("uid") == pod.uid for consumer in consumers_of(claim))
