"""What a simulated container leaves for people when it ends: `terminationMessagePath` and `terminationMessagePolicy`.

Semantics: kuberuntime (v1.36). What its command writes there is found by playing it once more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import datetime
from itertools import takewhile
from typing import Any

from kubelet_sim import log
from kubelet_sim.environment import environment
from kubeloop.apimachinery.meta import ReadOnlyObject

MESSAGE_PATH = "/dev/termination-log"
MAX_MESSAGE_BYTES = 4096
MAX_LOG_LINES, MAX_LOG_BYTES = 80, 2048


def left_by(
    pod: ReadOnlyObject, container: Mapping[str, Any], started_at: datetime, finished_at: datetime, exit_code: int
) -> str:
    """The message of a run that has ended; "" where it left none."""
    seconds = (finished_at - started_at).total_seconds()
    message = _of_file(pod, container, started_at, seconds)
    if not message and exit_code and container.get("terminationMessagePolicy") == "FallbackToLogsOnError":
        return _of_log(pod, container, started_at, seconds)
    return message


def _of_file(pod: ReadOnlyObject, container: Mapping[str, Any], started_at: datetime, seconds: float) -> str:
    path = container.get("terminationMessagePath") or MESSAGE_PATH
    words = (*(container.get("command") or ()), *(container.get("args") or ()))
    if not any(path in word for word in words):
        return ""
    play, world = log.playing(pod, container, environment(pod, container), started_at)
    for _ in range(log.MAX_STEPS):
        if not play.step() or play.elapsed_seconds > seconds:
            break
    return _end(world.files.get(path, ""), MAX_MESSAGE_BYTES)


def _of_log(pod: ReadOnlyObject, container: Mapping[str, Any], started_at: datetime, seconds: float) -> str:
    written = log.lines(pod, container, started_at, max(seconds - log.KEPT_SECONDS, 0.0))
    until_then = takewhile(lambda line: line.after_seconds <= seconds, written)
    known = (line.text for line in until_then if line.stream != log.SILENCE and line.unknown is None)
    last = deque(known, MAX_LOG_LINES)
    return _end("".join(f"{text}\n" for text in last), MAX_LOG_BYTES)


def _end(text: str, size: int) -> str:
    return text.encode()[-size:].decode("utf-8", "replace")
