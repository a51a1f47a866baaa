"""The controller runtime, for kubeloop's own loops and for operators; docs/writing-a-controller.md shows its use."""

from kubeloop.runtime.controller import Controller
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.expectations import Expectations
from kubeloop.runtime.manager import Manager, ManagerOptions
from kubeloop.runtime.result import DONE, REQUEUE, Reconciler, RequeueAfter, Result, TerminalError, Unfinished
from kubeloop.runtime.source import For, Owns, Watches

__all__ = [
    "DONE",
    "REQUEUE",
    "Controller",
    "EventRecorder",
    "Expectations",
    "For",
    "Manager",
    "ManagerOptions",
    "Owns",
    "Reconciler",
    "RequeueAfter",
    "Result",
    "TerminalError",
    "Unfinished",
    "Watches",
]
