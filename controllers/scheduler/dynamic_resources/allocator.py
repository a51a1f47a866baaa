"""The search: devices for every request of a pod's claims on one node, such that all constraints hold.

Devices are tried in the order of pools, slices and devices, requests and alternatives in that of the claims, and the
first that works is taken. A request that wants several devices tries combinations, not orders. Facts:
structured/internal/incubating/allocator_incubating.go (v1.36).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from controllers.scheduler.dynamic_resources.allocated import Allocated
from controllers.scheduler.dynamic_resources.capacity import is_enough, taken_of
from controllers.scheduler.dynamic_resources.constraints import Constraint, constraint_of
from controllers.scheduler.dynamic_resources.counters import CounterBook
from controllers.scheduler.dynamic_resources.devices import Device, DeviceId
from controllers.scheduler.dynamic_resources.pools import Pool, Published
from controllers.scheduler.dynamic_resources.requests import ALL, EXACT_COUNT, Request, devices_of, requests_of
from controllers.scheduler.dynamic_resources.selectors import Selectors
from controllers.scheduler.node_info import NodeInfo
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, key_of
from kubeloop.apimachinery.quantity import Quantity
from kubeloop.apimachinery.tolerations import is_tolerated

MAX_RESULTS = 32  # devices a claim
_REPELLING = ("NoSchedule", "NoExecute")


class AllocationFailed(Exception):
    """The claims are no good, whatever the node; the text says why."""


class FailedOnNode(Exception):
    """Another node may do."""


class TookTooLong(Exception):
    """More was tried than may be."""


class _TooMany(Exception):
    """More devices than a claim can have: other devices do not help, only other alternatives of this claim."""

    def __init__(self, claim: int) -> None:
        super().__init__(claim)
        self.claim = claim


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A device for a request; `taken` where others may use it as well."""

    request: Request
    device: Device
    taken: dict[str, Quantity] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A request, its class, and how many devices it wants: those in `all` where it wants whatever there is."""

    request: Request
    device_class: ReadOnlyObject
    count: int
    all: Sequence[tuple[Pool, Device]] = ()


@dataclass(slots=True)
class Found:
    """For one claim: the devices, and which alternative of each of its requests was taken."""

    claim: Object
    given: list[Given] = field(default_factory=list)
    chosen: dict[int, Asked] = field(default_factory=dict)


class Allocator:
    """Of one attempt to place a pod: nothing it knows changes meanwhile."""

    def __init__(
        self,
        published: Published,
        allocated: Allocated,
        class_named: Callable[[str], ReadOnlyObject | None],
        selectors: Selectors,
        claims: Sequence[Object],
        most_steps: int,
    ) -> None:
        """`most_steps`: how many devices may be tried on one node before it is given up. 0: any number."""
        self.published, self.allocated, self.class_named = published, allocated, class_named
        self.selectors, self.most_steps = selectors, most_steps
        self.claims, self.requests = claims, [requests_of(claim) for claim in claims]

    def allocate(self, node: NodeInfo) -> list[Found] | None:
        """What every claim gets on the node, None where one gets nothing.

        Raises AllocationFailed, FailedOnNode, TookTooLong and SelectorFailed.
        """
        return _Search(self, node).run()


class _Search:
    def __init__(self, allocator: Allocator, node: NodeInfo) -> None:
        self._allocator, self._node, claims = allocator, node, allocator.claims
        self._allocated = allocator.allocated
        self._pools = allocator.published.pools(node)
        self._devices = [(pool, device) for pool in self._pools if pool.is_usable for device in pool.devices]
        self._found = [Found(claim) for claim in claims]
        self._counters = CounterBook(self._allocated.has)
        self._taken: Counter[DeviceId] = Counter()  # as a whole, in this search
        self._taken_by: Counter[tuple[int, DeviceId]] = Counter()  # and by which claim
        self._shares: dict[DeviceId, list[dict[str, Quantity]]] = {}
        self._selected: dict[tuple[Request, Device], bool] = {}
        self._steps = 0
        self._asked = [self._asked_by(*asked) for asked in zip(claims, allocator.requests, strict=True)]
        self._constraints = [_constraints_of(claim) for claim in claims]

    def run(self) -> list[Found] | None:
        try:
            is_found = self._place(0, 0)
        except _TooMany:
            is_found = False
        except RecursionError as error:
            raise TookTooLong from error
        if is_found:
            return self._found
        if any(pool.invalid_because for pool in self._pools):
            raise FailedOnNode("invalid resource pools were encountered")
        return None

    # What is asked for ---------------------------------------------------------------------------------------------

    def _asked_by(self, claim: Object, requests: Sequence[Sequence[Request]]) -> list[list[Asked]]:
        """By request and alternative."""
        asked = [[self._ask(claim, one) for one in alternatives] for alternatives in requests]
        fewest = sum(min((one.count for one in alternatives), default=0) for alternatives in asked)
        if fewest > MAX_RESULTS:
            what = f"number of requested devices {fewest} exceeds the claim limit of {MAX_RESULTS}"
            raise AllocationFailed(f"claim {key_of(claim)}: {what}")
        return asked

    def _ask(self, claim: Object, request: Request) -> Asked:
        whose = f"claim {key_of(claim)}, request {request.own_name}"
        for i, selector in enumerate(request.selectors):
            if selector.get("cel") is None:
                why = "CEL expression empty (unsupported selector type?)"
                raise AllocationFailed(f"{whose}, selector #{i}: {why}")
        if not request.class_name:
            raise AllocationFailed(f"{whose}: missing device class name (unsupported request type?)")
        device_class = self._allocator.class_named(request.class_name)
        if device_class is None:
            name = request.class_name
            why = f'could not retrieve device class {name}: deviceclass.resource.k8s.io "{name}" not found'
            raise AllocationFailed(f"{whose}: {why}")
        if request.mode == EXACT_COUNT:
            return Asked(request, device_class, request.count)
        if request.mode != ALL:
            raise AllocationFailed(f"{whose}: unsupported count mode {request.mode}")
        every = list(self._all_devices(claim, request, device_class, whose))
        return Asked(request, device_class, len(every), every)

    def _all_devices(
        self, claim: Object, request: Request, device_class: ReadOnlyObject, whose: str
    ) -> Iterator[tuple[Pool, Device]]:
        """All that are meant must be known to give all: whether they are free is asked later."""
        for pool in self._pools:
            if not pool.is_usable:
                why = "being updated" if pool.is_incomplete else "invalid"
                raise AllocationFailed(f"{whose}: asks for all devices, but resource pool {pool.id} is currently {why}")
            for device in pool.devices:
                if self._is_selected(claim, request, device_class, device) and self._has_room(request, device):
                    yield pool, device

    # The search ----------------------------------------------------------------------------------------------------

    def _place(self, claim: int, request: int) -> bool:
        """Give devices to this request of this claim and all that follow. Nothing is kept where that fails."""
        while claim < len(self._found) and request >= len(self._asked[claim]):
            claim, request = claim + 1, 0
        if claim == len(self._found):
            return True
        alternatives = self._asked[claim][request]
        if len(alternatives) == 1 and not alternatives[0].request.alternative:
            return self._place_one(claim, request, alternatives[0])
        has_always_been_too_many = True
        for asked in alternatives:
            try:
                if self._place_one(claim, request, asked):
                    return True
            except _TooMany as problem:
                if problem.claim == claim:
                    continue
            has_always_been_too_many = False
        if has_always_been_too_many:
            raise _TooMany(claim)
        return False

    def _place_one(self, claim: int, request: int, asked: Asked) -> bool:
        self._found[claim].chosen[request] = asked
        if asked.request.mode == ALL:
            return self._place_all(claim, request, asked)
        return self._place_next(claim, request, asked, asked.count, 0)

    def _place_next(self, claim: int, request: int, asked: Asked, left: int, start: int) -> bool:
        """So many more devices, from a place on: what comes before has been tried with what is given."""
        if not left:
            return self._place(claim, request + 1)
        self._check_room_for(claim, left)
        for i in range(start, len(self._devices)):
            pool, device = self._devices[i]
            self._count_step()
            if not self._may_have(claim, asked, device):
                continue
            undo = self._give(claim, asked, pool, device, is_needed=False)
            if undo is None:
                continue
            try:
                if self._place_next(claim, request, asked, left - 1, i + 1):
                    return True
            except _TooMany as problem:
                if problem.claim == claim:
                    undo()
                    raise
            undo()
        return False

    def _place_all(self, claim: int, request: int, asked: Asked) -> bool:
        """All or nothing: in which order does not matter."""
        if not asked.all:
            return False
        self._check_room_for(claim, asked.count)
        undoings: list[Callable[[], None]] = []
        is_placed = False
        try:
            for pool, device in asked.all:
                self._count_step()
                undo = self._give(claim, asked, pool, device, is_needed=True)
                if undo is None:
                    return False
                undoings.append(undo)
            is_placed = self._place(claim, request + 1)
            return is_placed
        except _TooMany as problem:
            if problem.claim == claim:
                raise
            return False
        finally:
            for undo in () if is_placed else reversed(undoings):
                undo()

    def _check_room_for(self, claim: int, more: int) -> None:
        if len(self._found[claim].given) + more > MAX_RESULTS:
            raise _TooMany(claim)

    def _count_step(self) -> None:
        self._steps += 1
        if self._allocator.most_steps and self._steps > self._allocator.most_steps:
            raise TookTooLong

    # One device ----------------------------------------------------------------------------------------------------

    def _may_have(self, claim: int, asked: Asked, device: Device) -> bool:
        """It is free, it is meant, and it has enough. What is cheap to know is asked first."""
        if self._is_in_use(claim, asked.request, device):
            return False
        found = self._found[claim].claim
        return self._is_selected(found, asked.request, asked.device_class, device) and self._has_room(
            asked.request, device
        )

    def _is_in_use(self, claim: int, request: Request, device: Device) -> bool:
        """Who administers devices may have those of others, but not one of them twice."""
        if request.admin_access:
            return bool(self._taken_by[claim, device.id])
        return device.id in self._allocated.devices or bool(self._taken[device.id])

    def _is_selected(self, claim: Object, request: Request, device_class: ReadOnlyObject, device: Device) -> bool:
        known = self._selected.get((request, device))
        if known is not None:
            return known
        selectors, of_class = self._allocator.selectors, (device_class.get("spec") or {}).get("selectors") or ()
        is_selected = (
            device.reach.includes(self._node)
            and selectors.match(of_class, device, f"class {key_of(device_class).name}")
            and selectors.match(request.selectors, device, f"claim {key_of(claim)}")
        )
        self._selected[request, device] = is_selected
        return is_selected

    def _has_room(self, request: Request, device: Device) -> bool:
        used = list(self._shares.get(device.id, ()))
        if device.id in self._allocated.shares:
            used.append(self._allocated.shares[device.id])
        return is_enough(device.capacity, request.capacity, used)

    def _give(
        self, claim: int, asked: Asked, pool: Pool, device: Device, *, is_needed: bool
    ) -> Callable[[], None] | None:
        """Take the device for the request; what is returned takes it back. None where it cannot be had.

        `is_needed`: without it there is no solution, so that constraints which forbid it are the claim's fault.
        """
        request, constraints = asked.request, self._constraints[claim]
        if not (device.is_shared and request.admin_access) and self._is_in_use(claim, request, device):
            return None
        is_first_use = not device.is_shared or not (device.id in self._allocated.shares or self._shares.get(device.id))
        if any(t.get("effect") in _REPELLING and not is_tolerated(request.tolerations, t) for t in device.taints):
            return None
        consumes = bool(device.consumes) and is_first_use
        if consumes and not self._counters.take(pool, device):
            return None
        for i, constraint in enumerate(constraints):
            if constraint.add(request, device):
                continue
            if is_needed:
                why = f"cannot add device {device.id} because a claim constraint would not be satisfied"
                raise AllocationFailed(f"claim {key_of(self._found[claim].claim)}, request {request.own_name}: {why}")
            for other in reversed(constraints[:i]):
                other.remove(request)
            if consumes:
                self._counters.give_back(pool, device)
            return None
        return self._noted(claim, request, pool, device, consumes)

    def _noted(self, claim: int, request: Request, pool: Pool, device: Device, consumes: bool) -> Callable[[], None]:
        given, taken = self._found[claim].given, None
        if device.is_shared:
            taken = taken_of(device.capacity, request.capacity)
            self._shares.setdefault(device.id, []).append(taken)
        else:
            self._taken[device.id] += 1
            self._taken_by[claim, device.id] += 1
        given.append(Given(request, device, taken))

        def undo() -> None:
            given.pop()
            if device.is_shared:
                self._shares[device.id].pop()
            else:
                self._taken[device.id] -= 1
                self._taken_by[claim, device.id] -= 1
            for constraint in reversed(self._constraints[claim]):
                constraint.remove(request)
            if consumes:
                self._counters.give_back(pool, device)

        return undo


def _constraints_of(claim: Object) -> list[Constraint]:
    found = []
    for i, one in enumerate(devices_of(claim).get("constraints") or ()):
        constraint = constraint_of(one)
        if constraint is None:
            why = "empty constraint (unsupported constraint type?)"
            raise AllocationFailed(f"claim {key_of(claim)}, constraint #{i}: {why}")
        found.append(constraint)
    return found
