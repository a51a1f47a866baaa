"""Which images a node has: those that the containers of its pods have run with. Nothing else ever brings one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kubelet_sim.state import FIELDS, STATUS_FIELDS
from kubeloop.apimachinery.meta import ReadOnlyObject


def missing(
    pod: ReadOnlyObject, neighbours: Callable[[], Sequence[ReadOnlyObject]], is_real: Callable[[Any], bool]
) -> frozenset[str]:
    """The names of the pod's containers that must not pull their image, where no pod of the node has had it.

    `neighbours`: all pods of the node; only asked for where there is such a policy. `is_real`: of the JSON of a
    container, whether its image is looked at by nobody.
    """
    lists = (pod["spec"].get(field) or () for field in set(FIELDS.values()))
    wanted = [one for part in lists for one in part if one.get("imagePullPolicy") == "Never" and not is_real(one)]
    if not wanted:
        return frozenset()
    present = {image for other in neighbours() for image in _had(other)}
    return frozenset(one["name"] for one in wanted if one.get("image") not in present)


def _had(pod: ReadOnlyObject) -> Iterator[str]:
    status = pod.get("status") or {}
    for field in set(STATUS_FIELDS.values()):
        yield from (one["image"] for one in status.get(field) or () if one.get("imageID"))
