"""The extension points: what a plugin may be asked, in the order in which a pod passes them.

    PreEnqueue   may the pod be tried at all?                       (queue)
    QueueSort    which pod first?                                   (queue)
    PreFilter    work out once per pod what Filter needs; narrow the nodes down; skip; refuse
    Filter       may it run on this node?
    PostFilter   no node: what could make room? (preemption)
    PreScore     work out once per pod what Score needs; skip
    Score        how good is each feasible node? then normalise to 0..100
    Reserve      take what only one pod can have; given back by unreserve when anything later fails
    Permit       hold the pod back, or let it go on
    PreBind      what must happen before the binding (volumes)
    Bind         bind it
    PostBind     tidy up

A plugin is a class with a NAME and some of these bases; the framework finds out which by isinstance. Up to Permit they
are synchronous and pure but for the plugin's own memory: nothing can change under them. The rest may await; an ApiError
they let through fails the binding, and the pod is tried again.
Score is asked for many nodes at once, unlike upstream, because a call per node and plugin is what Python is slowest at;
and what a filter or a score says of a node is kept for the pods that ask the same (filter_question, score_question).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from controllers.scheduler.dynamic_resources.tracking import Allocations
from controllers.scheduler.events import ANY_EVENT, RegisteredEvent
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pending_preemptions import PendingPreemptions
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.snapshot import Snapshot
from controllers.scheduler.status import Status
from controllers.scheduler.waiting_pods import WaitingPods
from kubeloop.apimachinery.meta import Object, ObjectKey
from kubeloop.apimachinery.resource import Resource
from kubeloop.client.api import Api
from kubeloop.clock import SystemClock

if TYPE_CHECKING:
    from controllers.scheduler.nominator import Nominator
    from controllers.scheduler.queued_pod import QueuedPod

MAX_NODE_SCORE = 100


class Lister(Protocol):
    """What plugins read of other kinds; an informer is one."""

    def get(self, key: ObjectKey) -> Object | None: ...

    def list(self, namespace: str = "") -> list[Object]: ...


class CycleState(dict[str, Any]):
    """What plugins remember from one point to the next of one pod's cycle, each under its own name.

    A value that AddPod and RemovePod change has a `clone()`; the others are shared between clones.
    """

    __slots__ = ("filters", "follow_ups", "skip_filters", "skip_scores", "snapshot")

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot
        self.filters: Sequence[FilterPlugin] | None = None  # the framework's list of those not skipped
        self.skip_filters: set[str] = set()
        self.skip_scores: set[str] = set()
        # What PostFilter and unreserve want written: the scheduler does it once the pod is back in the queue.
        self.follow_ups: list[Callable[[], Awaitable[None]]] = []

    def clone(self) -> CycleState:
        """For trying out other pods on a node."""
        copy = CycleState(self.snapshot)
        copy.filters, copy.skip_filters, copy.skip_scores = self.filters, self.skip_filters, self.skip_scores
        copy.follow_ups = self.follow_ups
        for name, value in self.items():
            copy[name] = value.clone() if hasattr(value, "clone") else value
        return copy


class Filtering(Protocol):
    """The part of the framework that preemption uses."""

    nominator: Nominator

    def filter_with_nominated(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None: ...

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None: ...

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None: ...


def no_filtering() -> Filtering:
    raise LookupError("this plugin was built without a framework")


def no_activation(uids: Iterable[str]) -> None:
    """Where nobody is scheduled, as when things are explained."""


def no_telling(pod: PodInfo, reason: str, action: str, note: str) -> None:
    """Where nobody listens."""


async def no_pause(seconds: float) -> None:
    raise LookupError("this plugin was built without a scheduler")


@dataclass(frozen=True, slots=True)
class Handle:
    """What a plugin is built with: how it reaches the rest of the scheduler."""

    lister: Callable[[Resource], Lister]
    api: Api
    rng: Random
    args: Mapping[str, Any] = field(default_factory=dict)  # the plugin's own arguments of this profile
    filtering: Callable[[], Filtering] = no_filtering  # the framework itself, for preemption; it is built last
    waiting_pods: WaitingPods = field(default_factory=WaitingPods)  # those that Permit plugins hold back
    preempting: PendingPreemptions = field(default_factory=PendingPreemptions)
    activate: Callable[[Iterable[str]], None] = no_activation  # these pods (uids) are tried at once, wherever they wait
    pause: Callable[[float], Awaitable[None]] = no_pause  # PreBind only: wait so many seconds, keeping nobody else back
    now: Callable[[], datetime] = SystemClock().now
    tell: Callable[[PodInfo, str, str, str], None] = no_telling  # of a pod, as a Normal event: reason, action, note
    allocations: Allocations = field(default_factory=Allocations)


class Plugin(ABC):
    """Base of all plugins."""

    NAME: ClassVar[str]

    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    def events(self) -> Sequence[RegisteredEvent]:
        """What may make schedulable a pod that this plugin refused. As long as it does not say: anything that happens.

        Only those that may refuse a pod are asked (REFUSING).
        """
        return ANY_EVENT


class PreEnqueuePlugin(Plugin):
    @abstractmethod
    def pre_enqueue(self, pod: PodInfo) -> Status | None: ...


class QueueSortPlugin(Plugin):
    @abstractmethod
    def sort_key(self, queued: QueuedPod) -> tuple[Any, ...]:
        """Smallest first."""


class PreFilterPlugin(Plugin):
    @abstractmethod
    def pre_filter(self, state: CycleState, pod: PodInfo) -> frozenset[str] | Status | None:
        """The names of the only nodes that can do, a refusal or SKIP, or None for all nodes."""

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Count `added` in, as if it ran on `node`. Only asked where this plugin did not skip."""

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Count `removed` out."""


class FilterPlugin(Plugin):
    @abstractmethod
    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None: ...

    def filter_question(self, pod: PodInfo) -> Hashable | None:
        """What the answers depend on beside the node: of pods with equal ones a node is asked once until it changes.

        None where they depend on more than that, as on other nodes.
        """
        return None

    def filter_labels(self, state: CycleState, pod: PodInfo) -> Sequence[str] | None:
        """Where the answers for this pod depend on nothing of a node but some of its labels: the keys of those."""
        return None


@dataclass(frozen=True, slots=True)
class Nomination:
    """Whom to set as the pod's nominated node ("" clears it), and the pods to remove from it first.

    `candidates`: what it was chosen from, where HTTP extenders may have a say in it.
    """

    node_name: str
    victims: tuple[PodInfo, ...] = ()
    candidates: Sequence[Candidate] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node on which preemption would make room, and its victims, the most important first."""

    node_name: str
    victims: tuple[PodInfo, ...]
    budget_violations: int


class PostFilterPlugin(Plugin):
    @abstractmethod
    def post_filter(
        self, state: CycleState, pod: PodInfo, node_statuses: Mapping[str, Status], absent: Status
    ) -> tuple[Nomination | None, Status | None]:
        """What to do, and None if that will make room; otherwise a status that says why not.

        `absent` is the status of every node that is not in `node_statuses`.
        """


class PreScorePlugin(Plugin):
    @abstractmethod
    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None: ...


class ScorePlugin(Plugin):
    @abstractmethod
    def score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        """One number a node."""

    def score_question(self, pod: PodInfo) -> Hashable | None:
        """What the scores depend on beside the node, as `filter_question` has it."""
        return None

    def normalize(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], scores: list[int]) -> list[int]:
        """The same, between 0 and MAX_NODE_SCORE."""
        return scores


class ReservePlugin(Plugin):
    @abstractmethod
    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None: ...

    @abstractmethod
    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Must be idempotent, and do nothing where reserve was never called."""


class PermitPlugin(Plugin):
    @abstractmethod
    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> tuple[Status | None, float]:
        """None, a refusal, or WAIT with the longest time to wait in seconds."""


class PreBindPlugin(Plugin):
    def will_pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> bool:
        """Whether there is something to do for this pod: others are told then which node it is about to get."""
        return True

    @abstractmethod
    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None: ...


class BindPlugin(Plugin):
    @abstractmethod
    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """SKIP leaves it to the next one."""


class PostBindPlugin(Plugin):
    @abstractmethod
    async def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None: ...


# Whose refusals an event may overcome. What PostFilter, PreBind and Bind say, only time does.
REFUSING = (PreEnqueuePlugin, PreFilterPlugin, FilterPlugin, ReservePlugin, PermitPlugin)

# Every extension point under its name in KubeSchedulerConfiguration, in the order in which a pod passes them.
EXTENSION_POINTS: Mapping[str, type[Plugin]] = {
    "preEnqueue": PreEnqueuePlugin,
    "queueSort": QueueSortPlugin,
    "preFilter": PreFilterPlugin,
    "filter": FilterPlugin,
    "postFilter": PostFilterPlugin,
    "preScore": PreScorePlugin,
    "score": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "preBind": PreBindPlugin,
    "bind": BindPlugin,
    "postBind": PostBindPlugin,
}
