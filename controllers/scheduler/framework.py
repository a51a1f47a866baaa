"""Framework: the plugins of one profile, run point by point."""

# mypy: disable-error-code="type-abstract"
# Extension points are abstract classes, and here they are only asked for with isinstance.

from __future__ import annotations

from collections.abc import Awaitable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

import structlog

from controllers.scheduler import interface
from controllers.scheduler.diagnosis import Diagnosis
from controllers.scheduler.events import ANY_EVENT
from controllers.scheduler.extenders.chain import NAME as EXTENDER
from controllers.scheduler.extenders.chain import NO_EXTENDERS, Extenders
from controllers.scheduler.hints import ProfileHints
from controllers.scheduler.interface import MAX_NODE_SCORE, CycleState, FilterPlugin, Nomination, Plugin, ScorePlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.nominator import Nominator
from controllers.scheduler.plugins.catalog import DEFAULT_PLUGINS
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Code, Status, failed, unresolvable
from kubeloop.apimachinery.errors import ApiError

log = structlog.get_logger(__name__)

MAX_PERMIT_SECONDS = 15 * 60.0
REASONS_BEFORE = "reasons before"  # in a cycle's state: why the PostFilter plugins before the last could not make room
_PRE_BINDING = "pre-binding"  # in a cycle's state: the plugin that is at work
P = TypeVar("P", bound=Plugin)
_OURS = frozenset(entry.plugin for entry in DEFAULT_PLUGINS)
_POINT_OF: Mapping[type[Plugin], str] = {kind: name for name, kind in interface.EXTENSION_POINTS.items()}


class Framework:
    """Built once a profile; holds no state of any pod. `weights` are those of the score plugins, 1 where not named.

    A plugin is asked at every extension point it has, in the order of `plugins`; `at` names who is asked at a point
    instead, in its own order.
    """

    def __init__(
        self,
        name: str,
        plugins: Sequence[Plugin],
        weights: Mapping[str, int],
        nominator: Nominator,
        at: Mapping[str, Sequence[str]] | None = None,
        extenders: Extenders = NO_EXTENDERS,
    ) -> None:
        self.name = name
        self.extenders = extenders
        self.plugins = tuple(plugins)
        self.nominator = nominator
        self._at = at or {}
        self._weights = weights
        self._queue_sorts = self._those(interface.QueueSortPlugin)
        self._pre_filters = self._those(interface.PreFilterPlugin)
        self._filters = self._those(interface.FilterPlugin)
        self._post_filters = self._those(interface.PostFilterPlugin)
        self._pre_scores = self._those(interface.PreScorePlugin)
        self._scores = self._those(interface.ScorePlugin)
        self._reserves = self._those(interface.ReservePlugin)
        self._permits = self._those(interface.PermitPlugin)
        self._pre_binds = self._those(interface.PreBindPlugin)
        self._binds = self._those(interface.BindPlugin)
        self._post_binds = self._those(interface.PostBindPlugin)
        # Whose scores are looked at. Those of our own are known to be right, and looking would cost every pod.
        self._untried = [plugin for plugin in self._scores if type(plugin) not in _OURS]

    def _those(self, kind: type[P]) -> tuple[P, ...]:
        able = {plugin.NAME: plugin for plugin in self.plugins if isinstance(plugin, kind)}
        names = self._at.get(_POINT_OF[kind])
        return tuple(able.values()) if names is None else tuple(able[name] for name in names)

    @property
    def hints(self) -> ProfileHints:
        """What the queue is to know."""
        events = {plugin.NAME: plugin.events() for plugin in self.plugins if isinstance(plugin, interface.REFUSING)}
        if self.extenders:
            events[EXTENDER] = ANY_EVENT
        return ProfileHints(events, self._those(interface.PreEnqueuePlugin))

    @property
    def queue_sort(self) -> interface.QueueSortPlugin:
        """The one plugin that orders the queue."""
        (plugin,) = self._queue_sorts
        return plugin

    @property
    def has_choice(self) -> bool:
        """Whether it matters to find more than one node: somebody prefers one, or may refuse one later."""
        return bool(self._scores) or self.extenders.has_scoring or self.extenders.has_filters

    # Finding nodes -------------------------------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[frozenset[str] | None, Status | None]:
        """The names of the only nodes to look at (None: all), and the refusal that ends the attempt, if any."""
        names: frozenset[str] | None = None
        narrowed_by: list[str] = []
        refusal: Status | None = None
        for plugin in self._pre_filters:
            answer = plugin.pre_filter(state, pod)
            if answer is None:
                continue
            if isinstance(answer, frozenset):
                narrowed_by.append(plugin.NAME)
                names = answer if names is None else names & answer
                if not names:
                    diagnosis.unschedulable_plugins.update(narrowed_by)
                    return names, _nobody_left(narrowed_by)
            elif answer.code is Code.SKIP:
                state.skip_filters.add(plugin.NAME)
            elif answer.code is Code.UNSCHEDULABLE:
                refusal = answer.of(plugin.NAME)
            elif answer.code is Code.UNRESOLVABLE:
                return None, answer.of(plugin.NAME)
            else:
                return None, failed(f'running PreFilter plugin "{plugin.NAME}": {answer.message}')
        diagnosis.unschedulable_plugins.update(narrowed_by)
        return names, refusal

    def filter_all(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[Status | None]:
        """The first refusal of each node, no matter what pods are promised it.

        The leading filters that have a question for this pod are asked of a node only once, until it changes.
        """
        filters = self._needed_filters(state)
        questions: list[Hashable] = []
        for plugin in filters:
            question = plugin.filter_question(pod)
            if question is None:
                break
            questions += (plugin.NAME, question)
        kept, others = filters[: len(questions) // 2], filters[len(questions) // 2 :]
        statuses: list[Status | None] = state.snapshot.answers(
            (self.name, "filter", *questions),
            lambda asked: [_first_refusal(kept, state, pod, node) for node in asked],
            nodes,
        )
        for plugin in others:
            statuses = _also(plugin, state, pod, nodes, statuses)
        return statuses

    def _needed_filters(self, state: CycleState) -> Sequence[FilterPlugin]:
        """Those that have not said in PreFilter that they would pass every node."""
        if state.filters is None:
            state.filters = [plugin for plugin in self._filters if plugin.NAME not in state.skip_filters]
        return state.filters

    def filter_with_nominated(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """Whether the pod fits, with the pods that are promised this node and without them.

        With: they come first. Without: the pod must not rely on pods that may never come (for its affinity, say).
        """
        if not self.nominator.is_empty:
            state_with, node_with = self._with_nominated(state, pod, node)
            if node_with is not node:
                status = _first_refusal(self._needed_filters(state), state_with, pod, node_with)
                if status is not None:
                    return status
        return _first_refusal(self._needed_filters(state), state, pod, node)

    def refusals(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[Status]:
        """What every filter has against this node, where scheduling is content with the first: for explanations."""
        answers = [_first_refusal((plugin,), state, pod, node) for plugin in self._needed_filters(state)]
        return [status for status in answers if status is not None]

    def _with_nominated(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[CycleState, NodeInfo]:
        promised = [p for p in self.nominator.on_node(node.name) if p.priority >= pod.priority and p.uid != pod.uid]
        if not promised:
            return state, node
        state, node = state.clone(), node.copy()
        for other in promised:
            self.add_pod(state, pod, other, node)
        return state, node

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Count a pod on a copied node, in a cloned state."""
        node.add_pod(added)
        for plugin in self._pre_filters:
            if plugin.NAME not in state.skip_filters:
                plugin.add_pod(state, pod, added, node)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Take a pod off a copied node, in a cloned state."""
        node.remove_pod(removed.uid)
        for plugin in self._pre_filters:
            if plugin.NAME not in state.skip_filters:
                plugin.remove_pod(state, pod, removed, node)

    def post_filter(
        self, state: CycleState, pod: PodInfo, node_statuses: Mapping[str, Status], absent: Status
    ) -> tuple[Nomination | None, Status | None]:
        """The first plugin that can make room ends it; else what all of them say."""
        nomination: Nomination | None = None
        reasons: list[str] = []
        for plugin in self._post_filters:
            result, status = plugin.post_filter(state, pod, node_statuses, absent)
            if status is None or status.code is Code.UNRESOLVABLE:
                state[REASONS_BEFORE] = reasons
                return result, status
            if not status.is_rejected:
                return None, status
            nomination = result or nomination
            reasons += status.reasons
        return nomination, Status(Code.UNSCHEDULABLE, tuple(reasons))

    # Choosing one --------------------------------------------------------------------------------------------------

    def score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> dict[str, list[int]] | Status:
        """By plugin: a weighted score a node."""
        return self.pre_score(state, pod, nodes) or self.weighted_scores(state, pod, nodes)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        for plugin in self._pre_scores:
            status = plugin.pre_score(state, pod, nodes)
            if status is not None and status.code is Code.SKIP:
                state.skip_scores.add(plugin.NAME)
            elif status is not None:
                return failed(f'running PreScore plugin "{plugin.NAME}": {status.message}')
        return None

    def weighted_scores(
        self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]
    ) -> dict[str, list[int]] | Status:
        scores: dict[str, list[int]] = {}
        for plugin in self._scores:
            if plugin.NAME in state.skip_scores:
                continue
            of_plugin = plugin.normalize(state, pod, nodes, self._raw_scores(plugin, state, pod, nodes))
            if plugin in self._untried and (fault := _fault_of(plugin, of_plugin, len(nodes))):
                return failed(f"applying score defaultWeights on Score plugins: {fault}")
            weight = self._weights.get(plugin.NAME, 1)
            scores[plugin.NAME] = of_plugin if weight == 1 else _weighted(of_plugin, weight)
        return scores

    def _raw_scores(self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        question = plugin.score_question(pod)
        if question is None:
            return plugin.score(state, pod, nodes)
        return state.snapshot.answers(
            (self.name, plugin.NAME, question), lambda asked: plugin.score(state, pod, asked), nodes
        )

    # Carrying it out -----------------------------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        for plugin in self._reserves:
            status = plugin.reserve(state, pod, node_name)
            if status is not None:
                return _told("Reserve", plugin, status)
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        for plugin in reversed(self._reserves):
            with _told_and_gone_on(plugin, "unreserve"):
                plugin.unreserve(state, pod, node_name)

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> tuple[Status | None, dict[str, float]]:
        """A refusal, or the plugins that hold the pod back, each with its longest wait in seconds."""
        waits: dict[str, float] = {}
        for plugin in self._permits:
            status, seconds = plugin.permit(state, pod, node_name)
            if status is None:
                continue
            if status.code is not Code.WAIT:
                return _told("Permit", plugin, status), {}
            waits[plugin.NAME] = min(seconds, MAX_PERMIT_SECONDS)
        return None, waits

    def will_pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> bool:
        """Whether `pre_bind` will take its time."""
        return any(plugin.will_pre_bind(state, pod, node_name) for plugin in self._pre_binds)

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        for plugin in self._pre_binds:
            state[_PRE_BINDING] = plugin
            status = await _answer(plugin.pre_bind(state, pod, node_name))
            if status is not None and status.code is not Code.SKIP:
                return _told("PreBind", plugin, status)
        return None

    def at_work(self, state: CycleState) -> str:
        """What the error of a PreBind plugin that is being interrupted begins with."""
        plugin: Plugin | None = state.get(_PRE_BINDING)
        return "" if plugin is None else _failure_of("PreBind", plugin)

    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """An extender that binds comes first; then the first plugin that does not skip does it."""
        if self.extenders:
            status = await self.extenders.bind(pod, node_name)
            if status is None or status.code is not Code.SKIP:
                return status
        for plugin in self._binds:
            status = await _answer(plugin.bind(state, pod, node_name))
            if status is None or status.code is not Code.SKIP:
                return status and _told("Bind", plugin, status)
        return SKIP

    async def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        for plugin in self._post_binds:
            with _told_and_gone_on(plugin, "post-bind"):
                await plugin.post_bind(state, pod, node_name)


async def _answer(work: Awaitable[Status | None]) -> Status | None:
    """What the API server refuses is the plugin's error."""
    try:
        return await work
    except ApiError as error:
        return failed(error.message)


def _told(point: str, plugin: Plugin, status: Status) -> Status:
    """A refusal as it is; of an error also where it happened."""
    if not status.is_rejected:
        status = failed(_failure_of(point, plugin) + status.message)
    return status.of(plugin.NAME)


def _failure_of(point: str, plugin: Plugin) -> str:
    return f'running {point} plugin "{plugin.NAME}": '


@contextmanager
def _told_and_gone_on(plugin: Plugin, what: str) -> Iterator[None]:
    """Where nobody asks for an answer: a plugin that is broken must not keep the others from being asked."""
    try:
        yield
    except Exception:
        log.exception("plugin failed", plugin=plugin.NAME, at=what)


def _fault_of(plugin: ScorePlugin, scores: Sequence[int], wanted: int) -> str:
    """What is wrong with the scores, or ""."""
    if len(scores) != wanted:
        return f'plugin "{plugin.NAME}" returns {len(scores)} scores for {wanted} nodes'
    wrong = [score for score in scores if not 0 <= score <= MAX_NODE_SCORE]
    if not wrong:
        return ""
    limits = f"[0, {MAX_NODE_SCORE}] after normalizing"
    return f'plugin "{plugin.NAME}" returns an invalid score {wrong[0]}, it should in the range of {limits}'


def _weighted(scores: list[int], weight: int) -> list[int]:
    """Most plugins like all nodes the same."""
    if scores.count(scores[0]) == len(scores):
        return [scores[0] * weight] * len(scores)
    return [score * weight for score in scores]


def _also(
    plugin: FilterPlugin,
    state: CycleState,
    pod: PodInfo,
    nodes: Sequence[NodeInfo],
    statuses: list[Status | None],
) -> list[Status | None]:
    """What this filter has against the nodes that nothing is said against yet; one speaks for all that are alike."""
    keys = plugin.filter_labels(state, pod)
    if not keys:
        return [
            _first_refusal((plugin,), state, pod, node) if status is None else status
            for status, node in zip(statuses, nodes, strict=True)
        ]
    alike = list(zip(*(state.snapshot.labels(key, nodes) for key in keys), strict=True))
    speakers = dict(zip(alike, nodes, strict=True))
    said = {labels: _first_refusal((plugin,), state, pod, node) for labels, node in speakers.items()}
    if not any(statuses):
        return list(map(said.__getitem__, alike))
    return [said[labels] if status is None else status for labels, status in zip(alike, statuses, strict=True)]


def _first_refusal(filters: Sequence[FilterPlugin], state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
    for plugin in filters:
        status = plugin.filter(state, pod, node)
        if status is not None:
            if status.is_rejected:
                return status.of(plugin.NAME)
            return failed(f'running "{plugin.NAME}" filter plugin: {status.message}').of(plugin.NAME)
    return None


def _nobody_left(plugins: Sequence[str]) -> Status:
    names = sorted(plugins)
    if len(names) == 1:
        return unresolvable(f"node(s) didn't satisfy plugin {names[0]}").of(names[0])
    return unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(names)}] simultaneously").of(names[0])
