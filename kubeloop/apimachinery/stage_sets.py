"""What `--stages` may say beside files: the built-in sets of stages, and the Stage objects of the cluster.

The command line checks with it what the processes that play nodes are then told.
"""

from __future__ import annotations

from collections.abc import Mapping

CLUSTER = "cluster"
SETS: Mapping[str, str] = {
    "fast": "pods run at once and those of Jobs succeed at once; nodes are ready and beat",
    "general": "pods go through their init containers, start, end and stop with delays; nodes are ready and beat",
    "chaos": "as general, and pods and nodes fail whose labels ask for it",
}


def is_named(source: str) -> bool:
    """Whether it is no file."""
    return source == CLUSTER or source in SETS
