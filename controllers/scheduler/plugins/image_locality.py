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
        held = tuple(image for image in _images(pod.spec) if image in state.snapshot.images)
        if not held:
            return SKIP
        state[self.NAME] = held
        return None

    def score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        """Most nodes have the same of the pod's images: each combination is counted once."""
        held: Sequence[str] = state[self.NAME]
        total = len(state.snapshot.nodes)
        spreads = [len(state.snapshot.images[image]) / total for image in held]
        containers = len(pod.spec.get("initContainers") or ()) + len(pod.spec.get("containers") or ())
        sizes = state.snapshot.answers((self.NAME, held), lambda asked: [_sizes(node, held) for node in asked], nodes)
        scores = {one: _score(one, spreads, MAX_BYTES_A_CONTAINER * containers) for one in set(sizes)}
        return [scores[one] for one in sizes]


def _sizes(node: NodeInfo, images: Sequence[str]) -> tuple[int, ...]:
    return tuple([node.images.get(image, 0) for image in images])


def _score(sizes: Sequence[int], spreads: Sequence[float], highest: int) -> int:
    present = sum(int(size * spread) for size, spread in zip(sizes, spreads, strict=True))
    present = min(max(present, MIN_BYTES), highest)
    return MAX_NODE_SCORE * (present - MIN_BYTES) // (highest - MIN_BYTES)


def _images(spec: Mapping[str, Any]) -> list[str]:
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    volumes = [volume["image"].get("reference", "") for volume in spec.get("volumes") or () if volume.get("image")]
    return [_with_tag(image) for image in (*(container.get("image") or "" for container in containers), *volumes)]


def _with_tag(image: str) -> str:
    """How the kubelet names it: `:latest` where no tag is given."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
