"""What a simulated container logs. Pure: of the same run and moment the same lines, whoever asks and how often.

What its command would print, as far as that is known (commands.py), and what annotations on the pod say; they count
for each of its containers, or with `.NAME` appended for one of them. A line each:

    kubeloop.io/log: listening on :8080            when the container starts
    kubeloop.io/log: |
      after 3s: ready                              so long after the start
      every 5s: GET /healthz 200, request {n}      again and again, the first time after 5s; {n} counts from 1
      stderr: deprecated flag --x                  on the standard error stream; `after 3s: stderr: …` goes too

A container of which neither says anything logs one line about itself, but for a shell that waits for somebody. An
annotation that cannot be understood is left out, and the log begins by saying so, where lines are missed.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from kubelet_sim import annotations as words
from kubelet_sim.annotations import BehaviourError
from kubelet_sim.commands import shell_at
from kubelet_sim.environment import command_of, environment
from kubelet_sim.naming import hostname
from kubelet_sim.shell.effects import WriteUnknown
from kubelet_sim.shell.playing import Play, Written
from kubelet_sim.shell.world import World
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of, metadata
from kubeloop.apimachinery.times import format_time

SILENCE, STDOUT, STDERR = 0, 1, 2
# A node keeps only the end of a long log, as a kubelet that rotates it: so much of what repeats itself…
KEPT_SECONDS = 3600.0
# … and of a script that has never been the same twice only its beginning.
MAX_STEPS = 200_000
_STEPS_AT_ONCE = 100  # then others get a turn
_FIRST_WORDS = 10  # so many times

_STATEMENT = re.compile(r"(?:(after|every) ([^\s:]+): ?)?(?:(stderr): ?)?(.*)")
_SHORTEST_SECONDS = 0.01


class Line(NamedTuple):
    """`after_seconds`: since the start of the run. `text` has no end of line. `unknown`: what others answer, instead of
    a text; that may be several lines, or none.

    SILENCE for a stream: nothing is written at that moment, and whoever reads may look at his watch.
    """

    after_seconds: float
    stream: int
    text: str
    unknown: WriteUnknown | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A line of the annotation: at one moment, or again and again."""

    seconds: float
    stream: int
    text: str
    repeats: bool = False


def lines(
    pod: ReadOnlyObject, container: Mapping[str, Any], started_at: datetime, from_seconds: float = 0.0
) -> Iterator[Line]:
    """In order, perhaps without end. What repeats itself may be left out before `from_seconds`."""
    known, annotations = environment(pod, container), annotations_of(pod)
    statements, problem = said(annotations, container["name"]), misunderstood(annotations, container["name"])
    sources = [_of_statement(one, from_seconds) for one in statements]
    sources += [iter((Line(0.0, STDERR, f"kubeloop: {problem}"),))] if problem else []
    printed = _of_command(pod, container, known, started_at, from_seconds)
    begun = list(islice(printed, _FIRST_WORDS))
    sources += [iter(begun), printed]
    is_silent = not statements and all(line.stream == SILENCE for line in begun)
    if is_silent and shell_at(container, known) is None:
        sources.append(iter((_default(pod, container, started_at),)))
    yield from heapq.merge(*sources, key=lambda line: line.after_seconds)


def check(container: Mapping[str, Any], annotations: Mapping[str, str]) -> None:
    """Raises BehaviourError where the annotation on its pod cannot be understood."""
    _parsed(words.said(container["name"], annotations, "log"))


def said(annotations: Mapping[str, str], container: str) -> Sequence[Said]:
    """Nothing where it cannot be understood."""
    try:
        return _parsed(words.said(container, annotations, "log"))
    except BehaviourError:
        return ()


def misunderstood(annotations: Mapping[str, str], container: str) -> str:
    """Why the annotation cannot be understood; "" where it can."""
    try:
        check({"name": container}, annotations)
    except BehaviourError as problem:
        return str(problem)
    return ""


@lru_cache(maxsize=1024)  # pods of a template share it; full: the least recent is read again
def _parsed(text: str) -> Sequence[Said]:
    return [_statement(line) for line in text.splitlines() if line.strip()]


def _statement(line: str) -> Said:
    match = _STATEMENT.fullmatch(line.strip())
    assert match is not None, "everything is optional"
    word, time, stream, text = match.groups()
    seconds = words.seconds("log", time) if word else 0.0
    if word == "every" and seconds < _SHORTEST_SECONDS:
        raise words.error("log", f"every {time} is too often: write every 10ms or more")
    return Said(seconds, STDERR if stream else STDOUT, text, word == "every")


def _of_statement(one: Said, from_seconds: float) -> Iterator[Line]:
    if not one.repeats:
        yield Line(one.seconds, one.stream, one.text.replace("{n}", "1"))
        return
    n = max(1, int(from_seconds // one.seconds))
    while True:
        yield Line(n * one.seconds, one.stream, one.text.replace("{n}", str(n)))
        n += 1


def _default(pod: ReadOnlyObject, container: Mapping[str, Any], started_at: datetime) -> Line:
    meta = metadata(pod)
    text = (
        f"kubeloop: container {container['name']} of pod {meta['namespace']}/{meta['name']} is simulated on node "
        f"{pod['spec'].get('nodeName')}: image {container.get('image')}, running since {format_time(started_at)}"
    )
    return Line(0.0, STDOUT, text)


def _of_command(
    pod: ReadOnlyObject,
    container: Mapping[str, Any],
    known: Mapping[str, str],
    started_at: datetime,
    from_seconds: float,
) -> Iterator[Line]:
    if not command_of(container, known):
        return
    play, _ = playing(pod, container, known, started_at, from_seconds)
    begun = dict[int, Written]()  # lines whose end is not written yet
    for step in range(1, MAX_STEPS):
        goes_on = play.step()
        for written in play.written:
            yield from _whole_lines(written, begun)
        play.written.clear()
        if step % _STEPS_AT_ONCE == 0:
            yield Line(play.elapsed_seconds, SILENCE, "")
        if not goes_on:
            break
    yield from (Line(*rest) for rest in begun.values() if rest.text)


def playing(
    pod: ReadOnlyObject,
    container: Mapping[str, Any],
    known: Mapping[str, str],
    started_at: datetime,
    from_seconds: float = 0.0,
) -> tuple[Play, World]:
    """The command of a run, and what it sees. `known`: its environment."""
    command = command_of(container, known)
    world = World(known, hostname=hostname(pod), process=command, is_guess=True, skip_to_seconds=from_seconds)
    world.working_dir = container.get("workingDir") or "/"
    world.is_endless = True
    play = Play(world, command)
    world.now = lambda: started_at + timedelta(seconds=play.elapsed_seconds)
    return play, world


def _whole_lines(written: Written, begun: dict[int, Written]) -> Iterator[Line]:
    if written.unknown is not None:
        yield Line(*written)
        return
    before = begun.pop(written.stream, Written(written.after_seconds, written.stream, ""))
    *whole, rest = (before.text + written.text).split("\n")
    for text in whole:
        yield Line(written.after_seconds, written.stream, text)
    if rest:
        begun[written.stream] = Written(written.after_seconds, written.stream, rest)
