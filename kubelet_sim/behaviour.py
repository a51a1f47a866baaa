"""How a simulated container behaves: when it ends, becomes ready, stops, or cannot start.

Said by annotations on the pod, which count for all of its containers, or with `.NAME` appended for one of them:

    kubeloop.io/exit-after: 30s        ends on its own after this long (default: runs until stopped)
    kubeloop.io/exit-code: "1"         with this code; alone, the container ends at once
    kubeloop.io/exit-reason: OOMKilled shown instead of Completed or Error
    kubeloop.io/ready-after: 10s       ready this long after its start, or `never`
    kubeloop.io/stop-after: 5s         how long it takes to stop when told to

What a container uses of CPU and memory is said in the same way (usage.py).

Without them, the command is guessed at (commands.py), readiness follows from the probes' delays, and an init container
ends well after a while. An image whose name contains `invalid` or `does-not-exist` cannot be pulled.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubelet_sim import commands
from kubeloop.runtime.flags import duration

PREFIX = "kubeloop.io/"
NEVER = float("inf")

_STOP_SECONDS = 0.3
_HOOK_SECONDS = 0.5  # a preStop hook whose length nobody can know
_UNPULLABLE = ("invalid", "does-not-exist")


class BehaviourError(ValueError):
    """An annotation that cannot be understood; the text says which, and what would do."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Seconds count from the container's start (stopping: from the order to stop). NEVER is infinite."""

    exit_after_seconds: float = NEVER
    exit_code: int = 0
    exit_reason: str = ""
    started_after_seconds: float = 0
    ready_after_seconds: float = 0
    stop_seconds: float = _STOP_SECONDS
    is_pullable: bool = True


def behaviour_of(
    container: Mapping[str, Any], annotations: Mapping[str, str], default_exit_seconds: float = NEVER
) -> Behaviour:
    """Raises BehaviourError."""
    said = {
        word: annotations.get(f"{PREFIX}{word}.{container['name']}", annotations.get(f"{PREFIX}{word}", ""))
        for word in ("exit-after", "exit-code", "exit-reason", "ready-after", "stop-after")
    }
    exit_after, exit_code = _ending(container, said, default_exit_seconds)
    started_after = _probe_seconds(container.get("startupProbe"))
    ready_after = started_after + _probe_seconds(container.get("readinessProbe"))
    return Behaviour(
        exit_after_seconds=exit_after,
        exit_code=exit_code,
        exit_reason=said["exit-reason"],
        started_after_seconds=started_after,
        ready_after_seconds=_seconds("ready-after", said["ready-after"]) if said["ready-after"] else ready_after,
        stop_seconds=_seconds("stop-after", said["stop-after"]) if said["stop-after"] else _stop_seconds(container),
        is_pullable=is_pullable(container.get("image") or ""),
    )


def is_pullable(image: str) -> bool:
    return not any(word in image for word in _UNPULLABLE)


def _ending(container: Mapping[str, Any], said: Mapping[str, str], default_exit_seconds: float) -> tuple[float, int]:
    if said["exit-after"] or said["exit-code"]:
        after = _seconds("exit-after", said["exit-after"]) if said["exit-after"] else 0.0
        return after, _exit_code(said["exit-code"] or "0")
    command = [*(container.get("command") or ()), *(container.get("args") or ())]
    guessed = commands.guess(command)
    if guessed is None and not command:
        guessed = commands.IMAGES.get(_repository(container.get("image") or ""))
    return (guessed.after_seconds, guessed.exit_code) if guessed else (default_exit_seconds, 0)


def _repository(image: str) -> str:
    """`docker.io/library/hello-world:latest` -> `hello-world`."""
    return image.rpartition("/")[2].partition("@")[0].partition(":")[0]


def _probe_seconds(probe: Mapping[str, Any] | None) -> float:
    """The first check after the initial delay succeeds; some probes want several in a row."""
    if not probe:
        return 0.0
    repeats = (probe.get("successThreshold") or 1) - 1
    return float((probe.get("initialDelaySeconds") or 0) + repeats * (probe.get("periodSeconds") or 10))


def _stop_seconds(container: Mapping[str, Any]) -> float:
    hook = (container.get("lifecycle") or {}).get("preStop") or {}
    if "sleep" in hook:
        return float((hook["sleep"] or {}).get("seconds") or 0) + _STOP_SECONDS
    return _STOP_SECONDS + (_HOOK_SECONDS if hook else 0)


def _seconds(word: str, text: str) -> float:
    if text == "never":
        return NEVER
    try:
        return duration(text)
    except argparse.ArgumentTypeError as error:
        raise BehaviourError(f'annotation {PREFIX}{word}: {error}, or "never"') from error


def _exit_code(text: str) -> int:
    if not text.isdigit() or int(text) > 255:
        raise BehaviourError(f"annotation {PREFIX}exit-code: {text!r} is no exit code: write a number from 0 to 255")
    return int(text)
