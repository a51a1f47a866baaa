"""Small numbers for questions about a node ("how many pods here match this selector?"), to remember answers under.

A node's `memo` is asked once per node and pod; hashing a selector that often would cost more than it saves.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count

_numbers = count()  # shared by all: two questions must never have one number, whoever asks them
MAX_QUESTIONS = 10_000  # full: all are forgotten, and asked again under new numbers


class Tokens:
    """Equal questions have equal numbers."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}

    def of(self, question: Hashable) -> int:
        token = self._known.get(question)
        if token is None:
            if len(self._known) >= MAX_QUESTIONS:
                self._known.clear()
            token = self._known[question] = next(_numbers)
        return token
