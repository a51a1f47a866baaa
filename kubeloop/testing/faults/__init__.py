"""What can go wrong between a process and its API server, as data: `faults={"web": (KillAfterWrite(), DropEvents())}`.

fault         the contract: a Fault makes a Layer for each process
deaths        killed and started again at writes
answers       requests lost, refused, late, overtaken by other writers
events        watch events late, twice, out of order, dropped
versions      410, watches cut, history told again, stale first lists
clocks        clocks that are wrong
disturbance   all faults of one process, stacked
lines         a watch's answer as lines

A new fault is a class and one line in FAULTS. `kubeloop.testing.cluster` takes them, `kubeloop.testing.scenario` tries
them on a whole scenario.
"""

from kubeloop.testing.faults.answers import DelayRequests, LoseAnswers, RaceWrites, RefuseRequests
from kubeloop.testing.faults.clocks import DriftClock, SkewClock
from kubeloop.testing.faults.deaths import KillAfterWrite, KillBeforeWrite
from kubeloop.testing.faults.events import DropEvents, ReorderEvents, RepeatEvents, StallWatches
from kubeloop.testing.faults.fault import Fault, Layer, Site
from kubeloop.testing.faults.versions import CutWatches, ExpireWatches, ReplayEvents, StaleLists

__all__ = [
    "FAULTS",
    "CutWatches",
    "DelayRequests",
    "DriftClock",
    "DropEvents",
    "ExpireWatches",
    "Fault",
    "KillAfterWrite",
    "KillBeforeWrite",
    "Layer",
    "LoseAnswers",
    "RaceWrites",
    "RefuseRequests",
    "ReorderEvents",
    "RepeatEvents",
    "ReplayEvents",
    "Site",
    "SkewClock",
    "StaleLists",
    "StallWatches",
]

FAULTS: tuple[type[Fault], ...] = (
    KillBeforeWrite,
    KillAfterWrite,
    LoseAnswers,
    RefuseRequests,
    DelayRequests,
    RaceWrites,
    StallWatches,
    ReorderEvents,
    RepeatEvents,
    DropEvents,
    ExpireWatches,
    CutWatches,
    ReplayEvents,
    StaleLists,
    SkewClock,
    DriftClock,
)
