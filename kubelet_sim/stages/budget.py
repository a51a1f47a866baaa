"""What rendering one template may cost, so that it always ends and never fills the memory.

Lists are gone through again and again by ranges within ranges, and `{{ $x = print $x $x }}` doubles a text each turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubelet_sim.stages.expression import StageError

MOST_WORK = 5_000_000  # characters and items made; an object has at most 1.5 million
TURN = 100  # what a turn of a range costs
_SIGN, _WRAP = 1 << 63, 1 << 64
_MAKERS = ("append", "concat", "dict", "list", "merge", "prepend")


class Budget:
    def __init__(self) -> None:
        self._left = MOST_WORK

    def spend(self, work: int) -> None:
        """Raises StageError where that is too much."""
        self._left -= work
        if self._left < 0:
            raise StageError("the template takes too many turns, or makes too much text")

    def taken(self, function: str, value: Any) -> Any:
        """What a function gave; whole numbers wrap around, as Go's do."""
        if isinstance(value, str):
            self.spend(len(value))
        elif isinstance(value, int) and not -_SIGN <= value < _SIGN:
            return (value + _SIGN) % _WRAP - _SIGN
        elif function in _MAKERS:  # others give what was there before
            self._weigh(value)
        return value

    def _weigh(self, value: Any) -> None:
        """With all that is in it, as often as it is: it may be spelled."""
        waiting = [value]
        while waiting:
            one = waiting.pop()
            self.spend(1)
            if isinstance(one, str):
                self.spend(len(one))
            elif isinstance(one, Mapping):
                waiting.extend(one.values())
            elif isinstance(one, (list, tuple)):
                waiting.extend(one)
