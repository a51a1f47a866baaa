"""One container within its pod, at a moment: what every rule of the transition table looks at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from kubelet_sim.state import Container, ContainerSpec, PodRuntime, PodSpec


@dataclass(frozen=True, slots=True)
class Scene:
    pod: PodSpec
    runtime: PodRuntime
    spec: ContainerSpec
    container: Container
    now: datetime

    def others(self) -> Iterator[tuple[ContainerSpec, Container]]:
        return zip(self.pod.containers, self.runtime.containers, strict=True)
