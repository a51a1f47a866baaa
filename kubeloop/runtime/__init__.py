"""The controller runtime, for kubeloop's own loops and for operators; docs/writing-a-controller.md shows its use.

Everything an operator needs by name. The main function is in `process` and `flags`, what may go by in `predicates`.
"""

from kubeloop.runtime.apply import CREATED, UNCHANGED, UPDATED, create_or_update, patch_status, update_status
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.expectations import Expectations
from kubeloop.runtime.finalizers import ensure_finalizer, finalize, remove_finalizer
from kubeloop.runtime.leader_election import ElectionTimes, LeaderElector
from kubeloop.runtime.manager import Manager, ManagerOptions
from kubeloop.runtime.overlay import overlay
from kubeloop.runtime.own_writes import OwnWrites
from kubeloop.runtime.ownership import (
    AlreadyOwned,
    claim_children,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from kubeloop.runtime.rate_limiter import AtMost, Bucket, ExponentialBackoff, FastThenSlow, MaxOf
from kubeloop.runtime.reader import CachedReader
from kubeloop.runtime.result import DONE, REQUEUE, Reconciler, RequeueAfter, Result, TerminalError, Unfinished
from kubeloop.runtime.source import For, Owns, Watches
from kubeloop.runtime.status import StatusWriter
from kubeloop.runtime.workqueue import LOW_PRIORITY

__all__ = [
    "CREATED",
    "DONE",
    "LOW_PRIORITY",
    "REQUEUE",
    "UNCHANGED",
    "UPDATED",
    "AlreadyOwned",
    "AtMost",
    "Bucket",
    "CachedReader",
    "Controller",
    "ElectionTimes",
    "EventRecorder",
    "Expectations",
    "ExponentialBackoff",
    "FastThenSlow",
    "For",
    "LeaderElector",
    "Manager",
    "ManagerOptions",
    "MaxOf",
    "OwnWrites",
    "Owns",
    "Reconciler",
    "RequeueAfter",
    "Result",
    "StatusWriter",
    "TerminalError",
    "Unfinished",
    "Watches",
    "claim_children",
    "create_or_update",
    "ensure_finalizer",
    "finalize",
    "overlay",
    "patch_status",
    "remove_finalizer",
    "remove_owner_reference",
    "set_controller_reference",
    "set_owner_reference",
    "update_status",
]
