"""When does a command end, and how? A guess from what is written in a container's command and args.

The command is played through by the shell of `kubelet_sim.shell`, in no time. None means that something in it is not
known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from kubelet_sim.environment import command_of, expanded
from kubelet_sim.shell.playing import Play
from kubelet_sim.shell.programs import SHELLS
from kubelet_sim.shell.world import World


@dataclass(frozen=True, slots=True)
class Ending:
    """`after_seconds` is infinite for a command that is known never to end."""

    after_seconds: float
    exit_code: int


WELL_AT_ONCE = Ending(0.0, 0)  # of what is not there
_AT_ONCE_SECONDS = 0.1
_MAX_STEPS = 3000  # a script that goes on then is taken to go on for ever
_NEVER = Ending(math.inf, 0)

# Programs that the shell does not play, by their base names.
ENDINGS: dict[str, Ending] = {
    "perl": Ending(1, 0),  # the documentation's Job computes digits of pi with it
}

# Images whose own entry point ends at once.
IMAGES: dict[str, Ending] = {"hello-world": Ending(_AT_ONCE_SECONDS, 0)}


# Images that run a shell where a container names no command.
SHELL_OF_IMAGE: Mapping[str, str] = {
    **dict.fromkeys(("alpine", "busybox"), "sh"),
    **dict.fromkeys(("bash", "centos", "debian", "fedora", "ubuntu"), "bash"),
}


def repository(image: str) -> str:
    """The last part of its name: `docker.io/library/hello-world:latest` -> `hello-world`."""
    return image.rpartition("/")[2].partition("@")[0].partition(":")[0]


def shell_at(container: Mapping[str, Any], known: Mapping[str, str]) -> Sequence[str] | None:
    """The shell that does what somebody who attaches types: of a container that keeps its standard input open
    (`stdin: true`) and runs a shell without a script. None where it runs something else.
    """
    if not container.get("stdin"):
        return None
    command = command_of(container, known)
    if not command:
        shell = SHELL_OF_IMAGE.get(repository(container.get("image") or ""))
        return [shell] if shell else None
    name, *options = command
    return command if name.rpartition("/")[2] in SHELLS and all(map(_is_of_reader, options)) else None


def _is_of_reader(option: str) -> bool:
    """Whether a shell with this option still reads its script from its standard input."""
    return option.startswith("--") or (option.startswith("-") and "c" not in option)


def guess(command: Sequence[str], environment: Mapping[str, str] = MappingProxyType({})) -> Ending | None:
    """The ending of a command line (`command` and `args` of a container, joined)."""
    return _guess(tuple(command), tuple(environment.items())) if command else None


@lru_cache(maxsize=4096)  # pods of a template share their command; full: the least recent is played again
def _guess(command: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> Ending | None:
    ending = ENDINGS.get(command[0].rpartition("/")[2])
    if ending is not None:
        return ending
    known = dict(environment)
    play = Play(World(known, is_guess=True), [expanded(word, known) for word in command])
    for _ in range(_MAX_STEPS):
        if not play.step():
            break
    else:
        return _NEVER
    if play.is_endless:
        return _NEVER
    if play.exit_code is None:
        return None
    return Ending(max(play.elapsed_seconds, _AT_ONCE_SECONDS), play.exit_code)
