"""How a simulated container behaves: when it ends, becomes ready, stops, or cannot start.

Said by annotations on the pod (annotations.py):

    kubeloop.io/exit-after: 30s        ends on its own after this long (default: runs until stopped)
    kubeloop.io/exit-code: "1"         with this code; alone, the container ends at once
    kubeloop.io/exit-reason: OOMKilled shown instead of Completed or Error
    kubeloop.io/ready-after: 10s       ready this long after its start, or `never`
    kubeloop.io/stop-after: 5s         how long it takes to stop, well, when told to

How probes go (probes.py) and hooks (hooks.py), what a container uses of CPU and memory (usage.py) and what it logs
(log.py) is said in the same way.

A command that is known takes no notice of SIGTERM, as the first process of a container does not without a handler: it
ends as if its grace were over, though as soon as others. Nobody is done in the time that an eviction leaves.

Without them, the command is guessed at (commands.py), probes pass, and an init container or one of a Job ends well
after a while. An image whose name contains `invalid` or `does-not-exist` cannot be pulled.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from kubelet_sim import commands, hooks, images
from kubelet_sim.annotations import NEVER, BehaviourError, error, is_late, said, seconds
from kubelet_sim.commands import WELL_AT_ONCE, Ending
from kubelet_sim.environment import literals
from kubelet_sim.probes import Kind, Probes, probes_of
from kubelet_sim.usage import out_of_memory_after

KILLED = 137
OOM_KILLED = "OOMKilled"

_STOP_SECONDS = 0.3
_ENDINGS = ("exit-after", "exit-code", "memory-usage")
_OWN_WORDS = ("exit-after", "exit-code", "exit-reason", "ready-after", "stop-after", hooks.WORD)
_NOTHING_SAID = dict.fromkeys(_OWN_WORDS, "")
# All that may be said of a container's behaviour.
WORDS = frozenset((*_OWN_WORDS, "memory-usage", *(kind.value for kind in Kind)))
_UNPULLABLE = ("invalid", "does-not-exist")


class Behaviour(NamedTuple):
    """Seconds count from the container's start. NEVER is infinite.

    `hook_seconds`: how long its preStop hook takes. `stop_seconds`: from the signal to stop, which comes after that;
    `is_stop_said`: by an annotation. `is_deaf`: it does not listen to that signal, and is killed.
    """

    exit_after_seconds: float = NEVER
    exit_code: int = 0
    exit_reason: str = ""
    ready_after_seconds: float = 0  # of one without a readiness probe
    hook_seconds: float = 0
    stop_seconds: float = _STOP_SECONDS
    is_stop_said: bool = False
    is_deaf: bool = False
    post_start: Ending = WELL_AT_ONCE  # how long its postStart hook holds it up, and whether it fails
    is_pullable: bool = True
    image_error: str = ""  # why the name of its image cannot be read
    probes: Probes = MappingProxyType({})
    ends_since: datetime | None = None  # exit_after_seconds count from then at the earliest


def behaviour_of(
    container: Mapping[str, Any],
    annotations: Mapping[str, str],
    default_exit_seconds: float = NEVER,
    late: Collection[str] = (),
    since: datetime | None = None,
) -> Behaviour:
    """`late`: the annotations that were said at `since`, which may be while the container ran: their times count from
    then at the earliest. Raises BehaviourError.
    """
    words = {word: said(container["name"], annotations, word) for word in _OWN_WORDS} if annotations else _NOTHING_SAID
    exit_after, exit_code = _ending(container, words, default_exit_seconds)
    exit_reason = words["exit-reason"]
    killed_after = out_of_memory_after(container, annotations) if annotations else None
    if killed_after is not None and killed_after < exit_after:
        exit_after, exit_code, exit_reason = killed_after, KILLED, OOM_KILLED
    ready_after = _seconds("ready-after", words["ready-after"]) if words["ready-after"] else 0.0
    probes = probes_of(container, annotations, ready_after, late, since)
    return Behaviour(
        exit_after_seconds=exit_after,
        exit_code=exit_code,
        exit_reason=exit_reason,
        ready_after_seconds=0.0 if Kind.READINESS in probes else ready_after,
        hook_seconds=0.0 if words["stop-after"] else hooks.pre_stop_seconds(container),
        stop_seconds=_seconds("stop-after", words["stop-after"]) if words["stop-after"] else _STOP_SECONDS,
        is_stop_said=bool(words["stop-after"]),
        is_deaf=not words["stop-after"] and _is_deaf(container),
        post_start=hooks.post_start(container, words[hooks.WORD]),
        is_pullable=is_pullable(container.get("image") or ""),
        image_error=images.name_error(container.get("image") or ""),
        probes=probes,
        ends_since=since if late and any(is_late(container["name"], word, late) for word in _ENDINGS) else None,
    )


def is_pullable(image: str) -> bool:
    return not any(word in image for word in _UNPULLABLE)


def _ending(container: Mapping[str, Any], words: Mapping[str, str], default_exit_seconds: float) -> tuple[float, int]:
    if words["exit-after"] or words["exit-code"]:
        after = _seconds("exit-after", words["exit-after"]) if words["exit-after"] else 0.0
        return after, _exit_code(words["exit-code"] or "0")
    command = _command(container)
    guessed = commands.guess(command, literals(container))
    if guessed is None and not command:
        guessed = commands.IMAGES.get(commands.repository(container.get("image") or ""))
    return (guessed.after_seconds, guessed.exit_code) if guessed else (default_exit_seconds, 0)


def _is_deaf(container: Mapping[str, Any]) -> bool:
    command = _command(container)
    return commands.guess(command, literals(container)) is not None and not any("trap" in word for word in command)


def _command(container: Mapping[str, Any]) -> list[str]:
    return [*(container.get("command") or ()), *(container.get("args") or ())]


def _seconds(word: str, text: str) -> float:
    try:
        return NEVER if text == "never" else seconds(word, text)
    except BehaviourError as problem:
        raise BehaviourError(f'{problem}, or "never"') from problem


def _exit_code(text: str) -> int:
    if not text.isdigit() or int(text) > 255:
        raise error("exit-code", f"{text!r} is no exit code: write a number from 0 to 255")
    return int(text)
