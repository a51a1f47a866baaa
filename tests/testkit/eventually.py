"""Waiting for something that real processes will bring about, with the reason why it is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

POLL_SECONDS = 0.05
# Long, because it costs nothing where all is well: on busy cores an operator may take half a minute just to start.
WITHIN_SECONDS = 90.0


def eventually(check: Callable[[], Value], why: str, within_seconds: float = WITHIN_SECONDS) -> Value:
    """What `check` returns as soon as that is true; AssertionError with `why` where it never is.

    An AssertionError inside `check` means "not yet": the last one is told in the end.
    """
    deadline = time.monotonic() + within_seconds
    while True:
        try:
            value, seen = check(), ""
        except AssertionError as error:
            value, seen = None, str(error)
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_seconds:g} s: {why}; last seen: {seen or repr(value)}")
        time.sleep(POLL_SECONDS)
