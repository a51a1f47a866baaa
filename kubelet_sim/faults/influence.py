"""What faults have pods do: the same that annotations would say, counted from when it was said. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from kubelet_sim import consumption, usage
from kubelet_sim.annotations import PREFIX, BehaviourError, over_time, said
from kubelet_sim.faults.model import Fault
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, annotations_of
from kubeloop.apimachinery.times import parse_time

_WORD = f"{usage.MEMORY}-usage"


@dataclass(frozen=True, slots=True)
class Influence:
    """What faults say of a pod, as annotations would; times in them count from `since` at the earliest."""

    said: Mapping[str, str]
    since: datetime

    def over(self, annotations: Mapping[str, str]) -> dict[str, str]:
        """They go before what the pod says itself, also of one container."""
        kept = {name: value for name, value in annotations.items() if _general(name) not in self.said}
        return {**kept, **self.said}


def on_pod(faults: Iterable[Fault], pod: ReadOnlyObject) -> Influence | None:
    """Of faults in force, in the order in which they came; the last one that says something wins."""
    found = [fault for fault in faults if fault.hits_pod(pod)]
    if not found:
        return None
    words: dict[str, str] = {}
    for fault in found:
        words |= fault.behaviour
    return Influence(words, found[-1].start)


def as_used(faults: Iterable[Fault], pod: ReadOnlyObject) -> ReadOnlyObject:
    """The pod with annotations of the memory that its running containers use under these faults: a leak that begins
    while a container runs is one that began so much later.
    """
    influence = on_pod(faults, pod)
    if influence is None or not any(_general(name) == f"{PREFIX}{_WORD}" for name in influence.said):
        return pod
    annotations = influence.over(annotations_of(pod))
    for container, started in consumption.running(pod):
        text = said(container["name"], influence.said, _WORD)
        late = (influence.since - parse_time(started)).total_seconds()
        if text and late > 0:
            annotations[f"{PREFIX}{_WORD}.{container['name']}"] = _delayed(text, late)
    meta: Object = {**pod["metadata"], "annotations": annotations}
    return {**pod, "metadata": meta}


def _delayed(text: str, seconds: float) -> str:
    """What is not understood stays: the fault's status says so."""
    try:
        points = over_time(_WORD, text, "")
    except BehaviourError:
        return text
    return ",".join(f"{amount}@{at + seconds:.3f}s" for amount, at in points)


def _general(annotation: str) -> str:
    """`kubeloop.io/liveness.app` -> `kubeloop.io/liveness`."""
    if not annotation.startswith(PREFIX):
        return annotation
    return PREFIX + annotation.removeprefix(PREFIX).partition(".")[0]
