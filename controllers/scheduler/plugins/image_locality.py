"""ImageLocality: points for nodes that have the pod's images, the more the larger the images are.

An image that few nodes have counts for less, or all pods of a new image would run after the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllers.scheduler.interface import MAX_NODE_SCORE, CycleState, PreScorePlugin, ScorePlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.status import SKIP, Status

MIN_BYTES = 23 * 1024 * 1024  # less than that is pulled in no time
MAX_BYTES_A_CONTAINER = 1000 * 1024 * 1024


class ImageLocality(PreScorePlugin, ScorePlugin):
    NAME = "ImageLocality"

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        """Which of the pod's images anybody has. Where nobody does, all nodes are alike."""
        held = [holders for image in _images(pod.spec) if (holders := state.snapshot.images.get(image))]
        if not held:
            return SKIP
        state[self.NAME] = held
        return None

    def score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        total = len(state.snapshot.nodes)
        weighted: list[tuple[Mapping[str, int], float]] = [(held, len(held) / total) for held in state[self.NAME]]
        containers = len(pod.spec.get("initContainers") or ()) + len(pod.spec.get("containers") or ())
        highest = MAX_BYTES_A_CONTAINER * containers
        scores: list[int] = []
        for node in nodes:
            present = sum(int(sizes.get(node.name, 0) * spread) for sizes, spread in weighted)
            present = min(max(present, MIN_BYTES), highest)
            scores.append(MAX_NODE_SCORE * (present - MIN_BYTES) // (highest - MIN_BYTES))
        return scores


def _images(spec: Mapping[str, Any]) -> list[str]:
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    volumes = [volume["image"].get("reference", "") for volume in spec.get("volumes") or () if volume.get("image")]
    return [_with_tag(image) for image in (*(container.get("image") or "" for container in containers), *volumes)]


def _with_tag(image: str) -> str:
    """How the kubelet names it: `:latest` where no tag is given."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
