"""What a recording waits for when it is played, and what has to be right at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import yaml

from tests.conformance import playing
from tests.conformance.playing import play

POD = "/api/v1/namespaces/default/pods/web"
LOOK = {"do": f"GET {POD}", "only": ["status.phase"], "show": ["body"]}
WAIT = {"wait": f"GET {POD}", "until": {"kind": "Pod"}, "expect": {"reached": True}}
WRITE = {"do": f"PATCH {POD}", "show": ["status"], "expect": {"status": 200}}


class Target:
    """A server with one pod, which is another one after so many looks; loops are who changes it."""

    def __init__(self, *pods: dict[str, Any]) -> None:
        self._pods = list(pods)

    def send(self, method: str, *_: Any) -> httpx.Response:
        is_last = method != "GET" or len(self._pods) == 1
        return httpx.Response(200, json={"kind": "Pod", **(self._pods[0] if is_last else self._pods.pop(0))})


class Watched(Target):
    """A server with something to watch."""

    server, token = "http://server", ""

    def headers(self, _: str | None = None) -> dict[str, str]:
        return {}


def a_pod(phase: str, uid: str = "11111111-1111-1111-1111-111111111111") -> dict[str, Any]:
    return {"metadata": {"name": "web", "uid": uid}, "status": {"phase": phase}}


def seeing(**body: Any) -> dict[str, Any]:
    return {**LOOK, "only": list(body), "expect": {"body": body}}


def played(tmp_path: Path, target: Target, *steps: dict[str, Any], patience_seconds: float = 60) -> str:
    path = tmp_path / "recording.yaml"
    path.write_text(yaml.dump({"namespace": "none", "steps": list(steps)}))
    return "\n".join(play(target, path, patience_seconds))


RUNNING = seeing(**{"status.phase": "Running"})


def test_what_loops_are_still_at_is_looked_at_again(tmp_path: Path) -> None:
    """After a recording has given them time, however little, what it saw is waited for."""
    target = Target(a_pod("Pending"), a_pod("Pending"), a_pod("Pending"), a_pod("Running"))

    assert "" == played(tmp_path, target, WRITE, WAIT, RUNNING)


def test_what_follows_a_write_is_right_at_once(tmp_path: Path) -> None:
    """Who reads after a write sees it, though somebody had time before."""
    target = Target(a_pod("Pending"), a_pod("Pending"), a_pod("Running"))

    assert 'status.phase: "Pending", want "Running"' in played(tmp_path, target, WAIT, WRITE, RUNNING)


def test_what_never_comes_differs(tmp_path: Path) -> None:
    """With the step and what was seen last."""
    found = played(tmp_path, Target(a_pod("Pending"), a_pod("Failed")), WAIT, RUNNING, patience_seconds=0.1)

    assert f"step 2 (do GET {POD}):" in found
    assert 'status.phase: "Failed", want "Running"' in found


def test_only_the_look_that_counts_is_remembered(tmp_path: Path) -> None:
    """Identifiers are numbered in the order of the recording, in which nobody looked twice."""
    recorded = {"metadata.uid": "<uid 1>", "status.phase": "Running"}
    earlier = a_pod("Pending", "22222222-2222-2222-2222-222222222222")

    assert "" == played(tmp_path, Target(a_pod("Pending"), earlier, a_pod("Running")), WAIT, seeing(**recorded))


def a_table(age: str, *columns: str) -> dict[str, Any]:
    definitions = [{"name": name} for name in columns] or None
    return {
        "type": "MODIFIED",
        "object": {"kind": "Table", "columnDefinitions": definitions, "rows": [{"cells": [age]}]},
    }


def watching(monkeypatch: pytest.MonkeyPatch, *lines: dict[str, Any]) -> None:
    """From now on a watch answers with these lines, and ends."""

    @contextmanager
    def stream(*_: Any, **__: Any) -> Iterator[httpx.Response]:
        yield httpx.Response(200, text="".join(f"{json.dumps(line)}\n" for line in lines))

    monkeypatch.setattr(httpx, "stream", stream)


WATCH = {"watch": "w GET /pods", "expect": {"status": 200}}


def events(*recorded: dict[str, Any]) -> dict[str, Any]:
    return {"events": "w", "count": len(recorded), "expect": {"events": list(recorded)}}


@pytest.mark.parametrize(("column", "differs"), [("Age", False), ("Restarts", True)])
def test_ages_differ_in_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str, differs: bool) -> None:
    """Nor do those of a watch's later Tables, which do not repeat what the columns are."""
    watching(monkeypatch, a_table("5s", column), a_table("7s"))
    recorded = [a_table("<age>" if column == "Age" else "5s", column), a_table("0s")]

    found = played(tmp_path, Watched(a_pod("Running")), WATCH, events(*recorded))

    assert differs == ('rows[0].cells[0]: "7s", want "0s"' in found)
    assert differs == bool(found)


def test_what_a_watch_answers_need_be_no_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a secret is none, though it has a type."""
    watching(monkeypatch, {"kind": "Secret", "type": "Opaque"})

    assert "" == played(tmp_path, Watched(a_pod("Running")), WATCH, events({"type": "Opaque", "object": None}))


def test_a_sleep_counts_from_the_last_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was looked at meanwhile is part of it: others did not stop for that."""
    now, slept = [0.0], list[float]()
    monkeypatch.setattr(playing, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=slept.append))

    class Slow(Target):
        def send(self, *request: Any) -> httpx.Response:
            now[0] += 0.25
            return super().send(*request)

    played(tmp_path, Slow(a_pod("Running")), WAIT, RUNNING, RUNNING, {"sleep": 2})

    assert [2 - 0.5] == slept
