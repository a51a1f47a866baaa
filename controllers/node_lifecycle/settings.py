"""How patient the loop is. The defaults are kube-controller-manager's (v1.36)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Rates are nodes a second that get a NoExecute taint, each zone by itself."""

    monitor_seconds: float = 5
    grace_seconds: float = 50  # silence after which a node counts as unreachable
    startup_grace_seconds: float = 60  # the same for a node whose kubelet never reported
    eviction_rate: float = 0.1
    secondary_eviction_rate: float = 0.01  # in a partly disrupted zone of a large cluster
    large_zone: int = 50  # more nodes than that make a zone large; small ones stop evictions when partly disrupted
    unhealthy_share: float = 0.55  # of its nodes that are not ready: the zone is partly disrupted
