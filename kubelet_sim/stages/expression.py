"""Paths into an object as a Stage writes them: `.status.phase`, `.metadata.labels["a.b/c"]`, `.spec.containers[].name`.

The plain part of jq that kwok's stages select with; filters and functions are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

_STEP = re.compile(r"""\.?\[\s*"(?P<quoted>[^"]*)"\s*\]|\.?(?P<each>\[\s*\])|\.(?P<name>[A-Za-z_][\w-]*)""")

Path = Callable[[Any], Sequence[Any]]


class StageError(ValueError):
    """A Stage that cannot be understood; the text says what, and where."""


def path(text: str) -> Path:
    """What is found there in an object: nothing, or one value, or more where `[]` goes through a list.

    Raises StageError.
    """
    steps: list[str | None] = []
    rest = text.strip()
    while rest:
        match = _STEP.match(rest)
        if match is None:
            raise StageError(f'{text!r} is no path: write it as .status.phase or .metadata.labels["name"]')
        steps.append(None if match["each"] else match["quoted"] if match["quoted"] is not None else match["name"])
        rest = rest[match.end() :]
    return lambda obj: _find(obj, steps)


def is_about_marks(text: str) -> bool:
    """Whether the path leads to the labels or annotations of the object."""
    return text.strip().startswith((".metadata.labels", ".metadata.annotations"))


def _find(obj: Any, steps: Sequence[str | None]) -> Sequence[Any]:
    found = [obj]
    for step in steps:
        if step is None:
            found = [one for value in found if isinstance(value, list) for one in value]
        else:
            found = [value[step] for value in found if isinstance(value, dict) and value.get(step) is not None]
    return found
