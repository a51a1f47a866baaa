"""One container within its pod, at a moment: what every rule of the transition table looks at."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from kubelet_sim.state import Container, ContainerSpec, PodRuntime, PodSpec


class Scene(NamedTuple):
    pod: PodSpec
    runtime: PodRuntime
    spec: ContainerSpec
    container: Container
    now: datetime

    def others(self) -> Iterator[tuple[ContainerSpec, Container]]:
        return zip(self.pod.containers, self.runtime.containers, strict=True)
