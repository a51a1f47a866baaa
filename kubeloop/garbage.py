"""How often Python looks for cyclic garbage in processes that hold a cluster in memory.

What dies is freed by reference counts; the collector finds only the rare cycles (tasks, exceptions). With Python's own
thresholds (700, 10, 10) it walks the whole mirror of a cluster, millions of dicts, again and again as objects come in:
a third of the time of decoding a watch, and pauses of a second with 10,000 pods.
"""

from __future__ import annotations

import gc

# A young generation of 50,000 containers is some 10 MB and a few milliseconds; the whole heap is walked when a quarter
# of it is new (Python's own rule) and no sooner than after a thousand young collections.
_THRESHOLDS = (50_000, 20, 50)


def collect_less_often() -> None:
    """Once a process is set up: modules, schemas and tables that it has by then are never walked again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
