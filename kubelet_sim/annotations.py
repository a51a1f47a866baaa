"""How annotations on a pod say what is simulated: whom they are about, durations, and values over time.

    kubeloop.io/WORD: VALUE             for every container of the pod
    kubeloop.io/WORD.NAME: VALUE        for one of them; it goes before the other

A value over time is a list of `VALUE@TIME`, in order of time, counted from the container's start; `VALUE` alone is
said for all the time.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence

from kubeloop.runtime.flags import duration

PREFIX = "kubeloop.io/"
NEVER = float("inf")


class BehaviourError(ValueError):
    """An annotation that cannot be understood; the text says which, and what would do."""


def said(name: str, annotations: Mapping[str, str], word: str) -> str:
    """Of the container `name`; empty where nothing is said."""
    return annotations.get(f"{PREFIX}{word}.{name}", annotations.get(f"{PREFIX}{word}", ""))


def is_late(name: str, word: str, late: Collection[str]) -> bool:
    """Whether what is said of `word` is among the annotations `late`."""
    return bool(late) and (f"{PREFIX}{word}.{name}" in late or f"{PREFIX}{word}" in late)


def error(word: str, why: str) -> BehaviourError:
    return BehaviourError(f"annotation {PREFIX}{word}: {why}")


def seconds(word: str, text: str) -> float:
    """Of a duration. Raises BehaviourError."""
    try:
        return duration(text)
    except argparse.ArgumentTypeError as problem:
        raise error(word, str(problem)) from problem


def over_time(word: str, text: str, example: str) -> Sequence[tuple[str, float]]:
    """The values of a text with the second that each is for; `example` is shown to whoever wrote none.

    Raises BehaviourError.
    """
    parts = [part.strip() for part in text.split(",")]
    points: list[tuple[str, float]] = []
    for part in parts:
        value, at, time = part.partition("@")
        if not at and len(parts) > 1:
            raise error(word, f"{part!r} has no time: {example}")
        moment = seconds(word, time) if at else 0.0
        if points and moment < points[-1][1]:
            raise error(word, f"{part!r} comes after {points[-1][1]:g}s: {example}")
        points.append((value, moment))
    return points
