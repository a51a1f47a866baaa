"""Plays a recording as `truth` does, but waits for what is recorded instead of for so many seconds.

A recording gives loops a fixed time: it sleeps, or waits for one field, and then looks. On a busy machine they may need
longer. So an answer that only loops can still change is looked at again until it is as recorded, or for good another.
What is compared stays the same, and so does everything that has to be right at once: answers to writes, and what is
read after a write before the recording itself gives anybody time. A sleep is slept, for it also shows that nothing
comes that should not; it counts from the last write or wait, for whoever goes on trying meanwhile does not stop while
this machine takes its time over what was only read.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from tests.conformance import truth
from tests.testkit.eventually import eventually

# How long something that differs is looked at again.
PATIENCE_SECONDS = 30.0
# How long anything may take that ends by itself: a client's command, the events that are waited for.
ENDS_WITHIN_SECONDS = 120.0
POLL_SECONDS = 0.2
LINES = 12  # differences that are told of a step

Step = dict[str, Any]

_WAITING = ("sleep", "wait", "gone", "events")
_WAITING_COMMANDS = ("wait", "rollout status")
_READING_COMMANDS = ("get", "describe", "events", "logs", "top", "rollout history")


def play(target: Any, path: Path, patience_seconds: float = PATIENCE_SECONDS) -> list[str]:
    """What differs in the first step that does; nothing where all is as recorded. `target`: a truth.Target."""
    recording = yaml.load(path.read_text(), truth.Loader)
    run = Run(target, recording, patience_seconds)
    try:
        run.prepare()
        for number, step in enumerate(recording["steps"], 1):
            found = run.differences(step)
            if found:
                return [f"step {number} ({_what(step)}):", *found[:LINES]]
    except Exception as error:  # whatever breaks is a difference, and the others are played
        return [f"broke: {type(error).__name__}: {error}"]
    finally:
        with suppress(Exception):  # a server that is gone was told of above
            run.close()
    return []


class Run(truth.Run):  # type: ignore[misc]
    """One recording, step by step."""

    def __init__(self, target: Any, recording: Step, patience_seconds: float) -> None:
        super().__init__(target, recording)
        self._patience_seconds = patience_seconds
        self._had_time = False  # whether anybody was given time since the last write
        self._since = time.monotonic()  # when the last step ended that was more than a look

    def prepare(self) -> None:
        """The namespace, with the service account without which pods are refused."""
        needs_account = self.doc.pop("serviceaccount", False)
        super().prepare()
        if self.ns and needs_account:
            account = f"/api/v1/namespaces/{self.ns}/serviceaccounts/default"
            eventually(lambda: self.t.send("GET", account).status_code == 200, "the default service account comes")

    def differences(self, step: Step) -> list[str]:
        """Between what is recorded and what is seen, now or within the patience."""
        may_change = self._may_change(step)
        names = deepcopy(self.names)  # numbers of what was seen first: a look that does not count takes none
        found = self._look(step)
        deadline = time.monotonic() + self._patience_seconds
        while found and may_change and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            self.names = deepcopy(names)
            found = self._look(step)
        if not _is_reading(step):
            self._since = time.monotonic()
        return found

    def _look(self, step: Step) -> list[str]:
        if "sleep" in step:
            time.sleep(max(0.0, self._since + step["sleep"] - time.monotonic()))
            return []
        seen = self.step(self._with_time(step))
        if "watch" in step:
            watch = self.watches[step["watch"].split()[0]]
            watch.opened.wait(ENDS_WITHIN_SECONDS)
            seen = {"status": watch.status}
        expected, seen = deepcopy(step.get("expect")), json.loads(json.dumps(seen))
        if "events" in step:
            for events in (expected["events"], seen["events"]):
                _mask_ages(events)
        return list(truth.differences(expected, seen))

    def _may_change(self, step: Step) -> bool:
        """Whether the step only looks, and others may still be at what it looks at."""
        if _is_waiting(step):
            self._had_time = True
        elif not _is_reading(step):
            self._had_time = False
        return self._had_time and "watch" not in step and "events" not in step  # a watch is opened once, and read once

    def _with_time(self, step: Step) -> Step:
        """As it is recorded, and with enough time for what ends by itself."""
        if "kubectl" in step:
            return {**step, "within": max(step.get("within", 0), ENDS_WITHIN_SECONDS)}
        if "events" not in step:
            return step
        watch, expected = self.watches[step["events"]], len(step["expect"]["events"])
        _wait(lambda: len(watch.events) >= expected or not watch.is_alive())
        if step.get("count") == expected:
            return {**step, "within": max(step.get("within", 0), ENDS_WITHIN_SECONDS)}
        return step  # what must not come has the recorded time to come


def _mask_ages(events: list[Any]) -> None:
    """Also in the later Tables of a watch, which leave the columns to the first one: they count up to now."""
    columns = None
    for event in events:
        table = event.get("object") or event  # a GET that is watched answers with an object, which is no event
        columns = table.get("columnDefinitions") or columns
        truth.Run.mask_ages({**table, "columnDefinitions": columns})


def _wait(check: Callable[[], bool]) -> None:
    """Until it is so, or the time is over."""
    deadline = time.monotonic() + ENDS_WITHIN_SECONDS
    while not check() and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def _is_waiting(step: Step) -> bool:
    return any(kind in step for kind in _WAITING) or _is_command(step, _WAITING_COMMANDS)


def _is_reading(step: Step) -> bool:
    return step.get("do", "").startswith("GET ") or "watch" in step or _is_command(step, _READING_COMMANDS)


def _is_command(step: Step, commands: tuple[str, ...]) -> bool:
    return any(f"{step.get('kubectl', '')} ".startswith(f"{command} ") for command in commands)


def _what(step: Step) -> str:
    return next(f"{kind} {step[kind]}" for kind in ("do", "watch", "kubectl", *_WAITING) if kind in step)
