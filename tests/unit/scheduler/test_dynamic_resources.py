"""Claims of pods from the first look at nodes to what is written: who waits, who gets what, and what is taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from controllers.device_claims import allocation_of, consumers_of
from controllers.scheduler.dynamic_resources.binding import ClaimBinder
from controllers.scheduler.dynamic_resources.readiness import BindingFailed
from controllers.scheduler.dynamic_resources.tracking import Allocations
from controllers.scheduler.interface import CycleState, Handle
from controllers.scheduler.plugins.dynamic_resources import DynamicResources
from controllers.scheduler.profile import Profile
from kubeloop.apimachinery.errors import ApiError, Conflict, ServiceUnavailable
from kubeloop.apimachinery.meta import Object, finalizers_of, key_of, uid_of
from kubeloop.apimachinery.resource import RESOURCE_CLAIMS, Resource
from kubeloop.testing.builders import PodBuilder, a_node, a_pod
from tests.unit.scheduler.devices import (
    DRIVER,
    a_claim,
    a_class,
    a_device,
    a_slice,
    allocated,
    exactly,
    first_available,
)
from tests.unit.scheduler.scene import FakeLister, Scene, info, nodes

ALLOCATION = allocated(a_claim(), "gpu-0")["status"]["allocation"]
SLICES = (a_slice("a", a_device("gpu-0"), a_device("gpu-1")),)


def scene(*claims: Object, slices: Sequence[Object] = SLICES, on: Sequence[str] = ("a",), **how: Any) -> Scene:
    others = {"ResourceClaim": claims, "DeviceClass": [a_class()], "ResourceSlice": slices}
    return Scene(nodes(*on), others=others, **how)


def a_user(claim: str = "c", name: str = "p") -> PodBuilder:
    return a_pod(name).spec(resourceClaims=[{"name": "gpu", "resourceClaimName": claim}])


def used_by(pod: PodBuilder) -> Object:
    return {"resource": "pods", "name": pod["metadata"]["name"], "uid": info(pod).uid}


def reserved(where: Scene, pod: PodBuilder) -> CycleState:
    """The pod has found its node and taken its devices."""
    state = where.state()
    decision = where.decide(pod, state=state)
    assert where.framework.reserve(state, info(pod), decision.node_name) is None
    return state


def given(where: Scene, pod: PodBuilder) -> list[str]:
    """The devices that are on their way to the pod's claims."""
    plugin = next(one for one in where.framework.plugins if isinstance(one, DynamicResources))
    state = reserved(where, pod)
    allocations = state[plugin.NAME].allocations.values()
    return [result["device"] for one in allocations for result in one["devices"]["results"]]


def test_what_is_on_its_way_is_taken() -> None:
    """Before anything is written, and for others who name the same claim; what is not to be is free again."""
    where = scene(a_claim("c"), a_claim("d"), a_claim("e"))
    first = reserved(where, a_user("c"))

    told = where.decide(a_user("c", "q")).diagnosis.pre_filter_message
    assert "resource claim default/c is in the process of being allocated" == told
    assert ["gpu-1"] == given(where, a_user("d", "q"))
    assert {"a": "cannot allocate all claims"} == where.reasons(a_user("e", "r"))

    where.framework.unreserve(first, info(a_user("c")), "a")
    assert ["gpu-0"] == given(where, a_user("e", "r"))


def test_an_allocated_claim_leads_to_its_nodes() -> None:
    """And is used by any number of pods; its devices are not looked at again."""
    where = scene(allocated(a_claim(), "gone", node="b", users=[{"uid": "other"}]), on=("a", "b"))

    assert ["b"] == where.feasible(a_user())
    assert {"a": "resourceclaim not available on the node"} == where.reasons(a_user())


@pytest.mark.parametrize(
    ("users", "told"),
    [
        ([], "deallocation of ResourceClaim completed"),
        ([used_by(a_user())], "deallocation of ResourceClaim completed"),
        ([{"uid": "other"}], "still not schedulable"),
    ],
)
def test_devices_that_keep_their_pod_away_are_given_back(users: list[Object], told: str) -> None:
    """Where nobody else uses them."""
    where = scene(allocated(a_claim(), "gpu-0", node="b", users=users))
    state = where.state()

    decision = where.decide(a_user(), state=state)

    start = f"0/1 nodes are available: 1 resourceclaim not available on the node. {told}, preemption: "
    assert decision.message.startswith(start)
    assert told.startswith("deallocation") == bool(state.follow_ups)


def test_nodes_with_earlier_alternatives_are_better() -> None:
    """The first of up to eight counts eight, and so on."""
    wanted = first_available("r", exactly("two", count=2), exactly("one"))
    slices = [*SLICES, a_slice("b", a_device("gpu-0"))]

    scores = scene(a_claim("c", wanted), slices=slices, on=("a", "b")).scores(a_user(), "DynamicResources")

    assert {"a": 200, "b": 2 * (7 * 100 // 8)} == scores


def test_a_selector_that_is_wrong_is_an_error() -> None:
    """It is told as it is, and the pod is tried again after a while."""
    claim = a_claim("c", exactly("r", "gpu", "device.nothing == 1"))

    message = scene(claim).decide(a_user()).message

    start = (
        'running "DynamicResources" filter plugin: claim default/c: selector #0: CEL compile error: compilation failed'
    )
    assert message.startswith(start)


def test_a_search_ends_with_the_filter_timeout() -> None:
    """So many devices are tried for a second."""
    attributes = [{"id": i} for i in range(12)]
    slices = [a_slice("a", *(a_device(f"g{i}", attributes=one) for i, one in enumerate(attributes)))]
    claim = a_claim("c", exactly(count=6), exactly("s"), constraints=[{"matchAttribute": f"{DRIVER}/id"}])
    profile = Profile(args={"DynamicResources": {"filterTimeout": "1ms"}})

    message = scene(claim, slices=slices, profile=profile).decide(a_user()).message

    assert 'running "DynamicResources" filter plugin: node a: timed out trying to allocate devices' == message


class FakeServer:
    """Of one claim. `failing`: what the next writes of its status answer, and whether they are carried out first."""

    def __init__(self, claim: Object, *failing: tuple[ApiError, bool]) -> None:
        self.claim, self.failing = claim, list(failing)
        self.lister = FakeLister([claim])
        self.allocations = Allocations()
        self.meanwhile: Callable[[Object], Object] = lambda claim: claim
        handle = Handle(
            lister=lambda resource: self.lister,
            api=self,  # type: ignore[arg-type]
            rng=Random(1),
            pause=self.pause,
            now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
            allocations=self.allocations,
        )
        self.binder = ClaimBinder(handle, self.lister, 600)

    async def pause(self, seconds: float) -> None:
        """A moment passes."""

    async def patch(self, resource: Resource, name: str, patch: Object, namespace: str, **how: Any) -> Object:
        """Only users are ever taken away so."""
        (gone,) = patch["status"]["reservedFor"]
        assert (uid_of(self.claim), "delete") == (patch["metadata"]["uid"], gone["$patch"])
        users = [user for user in consumers_of(self.claim) if user["uid"] != gone["uid"]]
        self.claim = newer({**self.claim, "status": {**self.claim["status"], "reservedFor": users}})
        return self.claim

    async def get(self, resource: Resource, name: str, namespace: str) -> Object:
        return self.claim

    async def update(self, resource: Resource, obj: Object, *, subresource: str = "") -> Object:
        assert RESOURCE_CLAIMS == resource
        self.claim = self.meanwhile(self.claim)
        if obj["metadata"]["resourceVersion"] != self.claim["metadata"]["resourceVersion"]:
            raise Conflict("the object has been modified")
        error, is_done = self.failing.pop(0) if subresource and self.failing else (None, True)
        if is_done:
            self.claim = newer(obj)
        if error is not None:
            raise error
        return self.claim

    def bind(self, allocation: Object | None = ALLOCATION) -> Object:
        """For pod p."""
        if allocation is not None:
            self.allocations.begin(self.claim, allocation)
        return asyncio.run(self.binder.bind(info(a_user()), self.claim, allocation))

    def sees(self) -> None:
        """The informer hears of it."""
        self.lister.objects[key_of(self.claim)] = self.claim

    def taken(self, *mine: str) -> int:
        """How many claims have devices or may have."""
        return sum(allocation_of(one) is not None for one in self.allocations.all(self.lister.list(), mine))


def newer(claim: Object) -> Object:
    version = str(int(claim["metadata"]["resourceVersion"]) + 1)
    return {**claim, "metadata": {**claim["metadata"], "resourceVersion": version}}


def test_an_allocation_is_written_with_its_user() -> None:
    """Kept by a finalizer, and known at once, though the informer is late."""
    server = FakeServer(a_claim())

    written = server.bind()

    assert {"allocationTimestamp": "2026-01-01T00:00:00Z", **ALLOCATION} == allocation_of(written)
    assert [used_by(a_user())] == consumers_of(written)
    assert ["resource.kubernetes.io/delete-protection"] == finalizers_of(written)
    assert (1, False) == (server.taken(), server.allocations.is_pending(written))
    server.sees()
    assert 1 == server.taken()


def test_a_claim_that_was_changed_meanwhile_is_read_again() -> None:
    """A conflict is no failure; that it has other devices, none any more, or is going, is one."""
    changes = iter([newer])
    server = FakeServer(a_claim())
    server.meanwhile = lambda claim: next(changes, lambda same: same)(claim)

    assert [used_by(a_user())] == consumers_of(server.bind())

    server = FakeServer(a_claim())
    server.claim = newer(allocated(a_claim(), "gpu-1"))
    server.allocations.begin(a_claim(), ALLOCATION)
    with pytest.raises(BindingFailed, match=r"^claim default/c got allocated elsewhere in the meantime$"):
        asyncio.run(server.binder.bind(info(a_user()), a_claim(), ALLOCATION))
    assert not server.allocations.is_pending(a_claim())
    with pytest.raises(BindingFailed, match=r"^claim default/c got deallocated elsewhere in the meantime$"):
        FakeServer(a_claim()).bind(None)
    going = a_claim()
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    with pytest.raises(BindingFailed, match=r"^claim default/c got deleted in the meantime$"):
        FakeServer(going).bind()


@pytest.mark.parametrize("is_done", [False, True])
def test_without_an_answer_devices_stay_taken(is_done: bool) -> None:
    """For others. What became of it shows when the claim is heard of; until then its own pod may try again."""
    server = FakeServer(a_claim(), (ServiceUnavailable("no answer"), is_done))

    with pytest.raises(BindingFailed, match=r"^add allocation and reservation to claim default/c: no answer$"):
        server.bind()

    assert (1, 0) == (server.taken(), server.taken("uid-of-claim-c"))
    assert not server.allocations.is_pending(a_claim())
    server.claim = newer(newer(server.claim))
    server.sees()
    assert int(is_done) == server.taken()


def test_what_was_refused_takes_nothing() -> None:
    """A refusal is an answer."""
    server = FakeServer(a_claim(), (ApiError("no such field", code=422), False))

    with pytest.raises(BindingFailed):
        server.bind()

    assert 0 == server.taken()


def test_what_was_written_of_a_claim_that_is_gone_is_forgotten() -> None:
    """It counts until the claim is seen so, or is not there any more."""
    allocations, seen = Allocations(), a_claim()
    allocations.note_written(newer(allocated(seen, "gpu-0")))

    before = allocations.newest(key_of(seen), seen)
    assert [] == list(allocations.all([]))

    assert before is not seen
    assert allocations.newest(key_of(seen), seen) is seen


def test_a_pod_that_is_not_bound_after_all_gives_its_claim_back() -> None:
    """The devices stay with the claim: whoever is next may use them, where they are."""
    server = FakeServer(a_claim())
    written = server.bind()

    asyncio.run(server.binder.release(info(a_user()), written))

    assert ([], 1) == (list(consumers_of(server.claim)), server.taken())


def test_what_was_reserved_is_given_back_after_the_cycle() -> None:
    """Only what the pod has reserved; nothing is written while the scheduler decides."""
    others = allocated(a_claim("d"), "gpu-1", users=[{"uid": "other"}])
    where = scene(allocated(a_claim(), "gpu-0", users=[used_by(a_user())]), others)
    pod = a_pod("p").spec(resourceClaims=[{"name": name, "resourceClaimName": name} for name in ("c", "d")])
    state = reserved(where, pod)

    where.framework.unreserve(state, info(pod), "a")

    assert 1 == len(state.follow_ups)


def test_a_device_that_does_not_become_ready_fails_its_pod() -> None:
    """As its driver says, or after the binding timeout."""
    conditions = {"bindingConditions": ["attached"], "bindingFailureConditions": ["failed"]}
    claim = allocated(a_claim(), "gpu-0")
    claim["status"]["allocation"]["devices"]["results"][0].update(conditions)
    failure = {"type": "failed", "status": "True", "reason": "NoPower", "message": "it is dark"}
    device = {"driver": DRIVER, "pool": "a", "device": "gpu-0", "conditions": [failure]}
    broken = {**claim, "status": {**claim["status"], "devices": [device]}}

    for obj, why in (
        (broken, 'device binding failed: claim=c, reason=NoPower, message="it is dark"'),
        (claim, "device binding timeout: context deadline exceeded"),
    ):
        server = FakeServer(obj)
        with pytest.raises(BindingFailed) as failed:
            asyncio.run(server.binder.wait_until_ready(info(a_user()), [obj], "a"))
        assert why == str(failed.value)
    assert {"a": "resourceclaim not available on the node"} == scene(broken).reasons(a_user())


def test_pods_without_claims_are_skipped() -> None:
    """No filter, no score and nothing to bind: they cost nothing."""
    where = Scene([a_node("a")])
    state = where.state()

    where.decide(a_pod("p"), state=state)

    assert "DynamicResources" in state.skip_filters & state.skip_scores
    assert not where.framework.will_pre_bind(state, info(a_pod("p")), "a")
