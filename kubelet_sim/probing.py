"""The checks of a running container's probes: when the next one is that matters, and what it changes.

Semantics: pkg/kubelet/prober (v1.36). A container is checked when its initial delay is over and then every period; a
startup probe is over when it has succeeded and holds the others back until then. Checks that pass and change nothing
are not looked at: a pod whose probes pass costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

from kubelet_sim import restarts
from kubelet_sim.probes import Kind, Outcome, Probe
from kubelet_sim.scene import Scene
from kubelet_sim.state import Container, ContainerSpec, Probed, State, StopOrder
from kubeloop.apimachinery.times import moment_after


@dataclass(frozen=True, slots=True)
class Check:
    """`seconds`: after the container's start. `at`: when its outcome is known. `said`: by one that was really made."""

    probe: Probe
    seconds: float
    outcome: Outcome
    at: datetime
    said: str = ""

    @property
    def passes(self) -> bool:
        return self.outcome is Outcome.PASS


def started_at(spec: ContainerSpec, container: Container) -> datetime | None:
    """Since when a running container counts as started: its startup probe, where it has one, has succeeded."""
    if container.state is not State.RUNNING or container.run is None:
        return None
    if Kind.STARTUP not in spec.behaviour.probes:
        return container.run.started_at
    probed = container.probed.get(Kind.STARTUP)
    return probed.since if probed and probed.result else None


def passes(spec: ContainerSpec, container: Container, kind: Kind) -> bool:
    """Whether the probe's result is success; so it is where there is no such probe."""
    if kind not in spec.behaviour.probes:
        return True
    probed = container.probed.get(kind)
    return bool(probed and probed.result)


def next_check(scene: Scene, kind: Kind) -> Check | None:
    """The next one that tells or changes something."""
    run = scene.container.run
    if scene.spec.is_real or run is None or run.started_at is None or not is_asked(scene, kind):
        return None
    probe = scene.spec.behaviour.probes[kind].of_run(run.started_at)
    started = started_at(scene.spec, scene.container)
    probed = scene.container.probed.get(kind) or Probed(result=_initial(kind))
    gate = (started - run.started_at).total_seconds() if started else 0.0
    seconds = probed.next_seconds if probed.next_seconds is not None else _first(probe, kind, gate)
    if probed.result and probed.last is not False:
        trouble = probe.next_trouble(seconds)
        if trouble is None:
            return None
        seconds += math.ceil((trouble - seconds) / probe.period) * probe.period
    outcome = probe.outcome(seconds)
    return Check(probe, seconds, outcome, moment_after(run.started_at, seconds + _length(probe, outcome)))


def checked(scene: Scene, kind: Kind) -> Container:
    """The container after its next check."""
    check = next_check(scene, kind)
    assert check is not None
    return after(scene, kind, check)


def after(scene: Scene, kind: Kind, check: Check) -> Container:
    """The container after the check: its probe's result, and the order to stop where that is fatal."""
    before = scene.container.probed.get(kind) or Probed(result=_initial(kind))
    in_a_row = before.in_a_row + 1 if before.last == check.passes else 1
    is_settled = in_a_row >= _threshold(check)
    result = check.passes if is_settled else before.result
    changed = Probed(
        result=result,
        since=before.since if result == before.result else check.at,
        last=check.passes,
        in_a_row=in_a_row,
        next_seconds=check.seconds + max(check.probe.period, _length(check.probe, check.outcome)),
    )
    container = scene.container._replace(probed={**scene.container.probed, kind: changed})
    return container._replace(stop_order=_order(scene, kind, check)) if is_fatal(scene, kind, check) else container


def is_asked(scene: Scene, kind: Kind) -> bool:
    """Whether a running container is checked by this probe now: the startup probe holds the others back."""
    if kind not in scene.spec.behaviour.probes or _is_over(scene, kind):
        return False
    return kind is Kind.STARTUP or started_at(scene.spec, scene.container) is not None


def is_fatal(scene: Scene, kind: Kind, check: Check) -> bool:
    """Whether with this check the container has failed for good."""
    if check.passes or kind is Kind.READINESS:
        return False
    before = scene.container.probed.get(kind) or Probed()
    return (before.in_a_row + 1 if before.last is False else 1) >= check.probe.failure_threshold


def _order(scene: Scene, kind: Kind, check: Check) -> StopOrder:
    grace = check.probe.fields.get("terminationGracePeriodSeconds")
    return StopOrder(check.at, grace, restarts.after_failed_probe(scene.pod, scene.spec))


def _is_over(scene: Scene, kind: Kind) -> bool:
    """A pod that ends is only asked whether it is ready; so is a container that is being killed."""
    if kind is Kind.READINESS:
        return False
    probed = scene.container.probed.get(kind)
    is_decided = kind is Kind.STARTUP and probed is not None and probed.result is not None
    return is_decided or bool(scene.runtime.stopping_since or scene.container.stop_order)


def _first(probe: Probe, kind: Kind, gate: float) -> float:
    """A container that has just started up is asked at once whether it is ready; liveness keeps its beat."""
    if gate <= probe.delay:
        return probe.delay
    if kind is Kind.READINESS:
        return gate
    return probe.delay + math.ceil((gate - probe.delay) / probe.period) * probe.period


def _initial(kind: Kind) -> bool | None:
    return {Kind.STARTUP: None, Kind.READINESS: False, Kind.LIVENESS: True}[kind]


def _threshold(check: Check) -> int:
    return check.probe.success_threshold if check.passes else check.probe.failure_threshold


def _length(probe: Probe, outcome: Outcome) -> float:
    return probe.timeout if outcome is Outcome.HANG else 0.0
