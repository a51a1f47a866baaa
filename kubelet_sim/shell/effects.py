"""What a running script wants of whoever drives it. Sent back to it: a line for ReadLine, an answer for Ask."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

STDOUT, STDERR = 1, 2


@dataclass(frozen=True, slots=True)
class Write:
    """`stream`: STDOUT or STDERR."""

    stream: int
    text: str


@dataclass(frozen=True, slots=True)
class Sleep:
    """Goes on after so long, which may be for ever."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ReadLine:
    """Sent back: a line of the standard input with its end, or "" when there is no more."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Something about the rest of the cluster. `what`: "addresses" (of a host name) or "page" (of HOST:PORT/path).

    Sent back: a list of addresses, or a `Page`; None where nobody has such a name.
    """

    what: str
    name: str
    port: int = 0


@dataclass(frozen=True, slots=True)
class WriteUnknown:
    """Something is written to the standard output, and nobody knows what: only where a script is guessed at.

    Whoever can ask may `ask`, and `told` makes the text of the answer.
    """

    ask: Ask
    told: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Kill:
    """The container's first process gets this signal."""

    signal: int


class Interrupted(Exception):
    """Thrown into a script: somebody has pressed Ctrl-C."""


Effect = Write | WriteUnknown | Sleep | ReadLine | Ask | Kill
Running = Generator[Effect, Any, int]  # returns the exit code
