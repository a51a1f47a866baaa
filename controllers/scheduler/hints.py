"""Queueing hints: which plugins of a pod's profile care for an event, and what the pre-enqueue plugins say of a pod."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import structlog

from controllers.scheduler.events import ClusterEvent, Hint, RegisteredEvent
from controllers.scheduler.interface import PreEnqueuePlugin
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import Code, failed
from kubeloop.apimachinery.meta import ReadOnlyObject

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ProfileHints:
    """Of one profile: the events by plugin, in the order of the plugins, and the gates."""

    events: Mapping[str, Sequence[RegisteredEvent]]
    gates: Sequence[PreEnqueuePlugin] = ()


class QueueingHints:
    """What the queue knows of all profiles, by scheduler name."""

    def __init__(self, profiles: Mapping[str, ProfileHints]) -> None:
        self._profiles = profiles
        self._interest: dict[ClusterEvent, bool] = {}  # the events of a cluster are a few dozen kinds

    def is_of_interest(self, event: ClusterEvent) -> bool:
        """Whether any plugin registered it."""
        known = self._interest.get(event)
        if known is None:
            known = event.is_wildcard or any(
                registered.event.covers(event)
                for profile in self._profiles.values()
                for events in profile.events.values()
                for registered in events
            )
            self._interest[event] = known
        return known

    def plugin_wants(self, scheduler_name: str, plugin: str, event: ClusterEvent) -> bool:
        profile = self._profiles.get(scheduler_name)
        return profile is not None and any(
            registered.event.covers(event) for registered in profile.events.get(plugin, ())
        )

    def helped(
        self,
        pod: PodInfo,
        rejectors: Collection[str],
        event: ClusterEvent,
        old: ReadOnlyObject | None,
        new: ReadOnlyObject | None,
    ) -> Iterator[str]:
        """The plugins that refused the pod and think that the event may change their mind."""
        profile = self._profiles.get(pod.scheduler_name)
        if profile is None:
            return
        for plugin in rejectors:
            for registered in profile.events.get(plugin, ()):
                if registered.event.covers(event) and _hint(plugin, registered, pod, old, new) is Hint.QUEUE:
                    yield plugin
                    break

    def gate(self, pod: PodInfo, gated_before_by: str = "") -> str:
        """The plugin that does not let the pod be tried yet, or ""; the one that held it last is asked first."""
        profile = self._profiles.get(pod.scheduler_name)
        gates = () if profile is None else profile.gates
        for plugin in sorted(gates, key=lambda gate: gated_before_by != gate.NAME):
            try:
                status = plugin.pre_enqueue(pod)
            except Exception as error:
                status = failed(f"{type(error).__name__}: {error}")
            if status is not None:
                if status.code is Code.ERROR:
                    log.error("pre-enqueue failed", plugin=plugin.NAME, pod=str(pod.key), error=status.message)
                return plugin.NAME
        return ""


def _hint(
    plugin: str,
    registered: RegisteredEvent,
    pod: PodInfo,
    old: ReadOnlyObject | None,
    new: ReadOnlyObject | None,
) -> Hint:
    """Of one that cannot tell, the pod is tried again: it might else wait for long."""
    try:
        return registered.hint(pod, old, new)
    except Exception:
        log.exception("queueing hint failed", plugin=plugin, pod=str(pod.key))
        return Hint.QUEUE
