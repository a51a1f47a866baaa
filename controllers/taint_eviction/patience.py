"""How long a pod may stay on a node with such taints. Plain functions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.tolerations import NO_EXECUTE, Taint, Toleration, taints_of, used_tolerations


def no_execute_taints(node: ReadOnlyObject) -> list[Taint]:
    return [taint for taint in taints_of(node) if taint.get("effect") == NO_EXECUTE]


def seconds_to_stay(tolerations: Sequence[Toleration], taints: Sequence[Taint]) -> float:
    """0: not at all; infinity: for ever. The least patient of the tolerations that are needed decides."""
    used = used_tolerations(tolerations, taints)
    if used is None:
        return 0
    limits = [toleration.get("tolerationSeconds") for toleration in used]
    return max(0, min((seconds for seconds in limits if seconds is not None), default=math.inf))
