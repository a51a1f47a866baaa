"""Plays a command in virtual time: what it writes at which moment, and when and how it ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from kubelet_sim.shell.catalog import shell_in
from kubelet_sim.shell.effects import STDOUT, ReadLine, Sleep, Write, WriteUnknown
from kubelet_sim.shell.interpreter import Exit, Forever, Jump
from kubelet_sim.shell.world import UnknownProgram, World


class Written(NamedTuple):
    """`stream`: 1 is the standard output, 2 the standard error. `unknown`: what nobody knows, instead of a text."""

    after_seconds: float
    stream: int
    text: str
    unknown: WriteUnknown | None = None


class Play:
    """`exit_code` is None until the command has ended.

    `is_stuck`: it will not end (`is_endless`), or goes on as nobody knows.
    """

    def __init__(self, world: World, command: Sequence[str]) -> None:
        self.elapsed_seconds = 0.0
        self.exit_code: int | None = None
        self.is_stuck = self.is_endless = False
        self.written: list[Written] = []  # taken by whoever steps
        world.elapsed = lambda: self.elapsed_seconds
        self._running = shell_in(world).call(command)
        self._answer: Any = None

    def step(self) -> bool:
        """One effect; whether there may be another."""
        if self.exit_code is not None or self.is_stuck:
            return False
        try:
            effect = self._running.send(self._answer)
        except StopIteration as end:
            self.exit_code = end.value
            return False
        except Exit as end:
            self.exit_code = end.code
            return False
        except Forever:
            self.is_stuck = self.is_endless = True
            return False
        except (UnknownProgram, Jump, RecursionError):
            self.is_stuck = True
            return False
        self._answer = "" if isinstance(effect, ReadLine) else None  # a container has no standard input
        match effect:
            case Sleep(seconds) if math.isinf(seconds):
                self.is_stuck = self.is_endless = True
            case Sleep(seconds):
                self.elapsed_seconds += seconds
            case Write(stream, text):
                self.written.append(Written(self.elapsed_seconds, stream, text))
            case WriteUnknown():
                self.written.append(Written(self.elapsed_seconds, STDOUT, "", effect))
        return not self.is_stuck
