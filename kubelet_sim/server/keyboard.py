"""What a terminal makes of keys: lines, which are shown while they are typed, and handed on when they are done."""

from __future__ import annotations

from typing import NamedTuple

END = 4  # Ctrl-D
_ENTER, _INTERRUPT, _BACKSPACE, _TAB, _ESCAPE, _FIRST_SHOWN = b"\r\n", 3, (8, 127), 9, 27, 32
_ERASED = b"\b \b"
# Keys that are several characters, as arrows are: an escape, one of these, and all up to a letter or a tilde.
_INTRODUCERS = b"[O"
_WAYS = {ord("A"): 1, ord("B"): -1}  # up and down
_MAX_PAST = 100  # lines; then the first ones are forgotten


class Typed(NamedTuple):
    """`done`: whole lines, and END where Ctrl-D was pressed on an empty one. `shown`: what appears on the screen.

    `interrupts`: Ctrl-C was pressed. What was typed before and nobody has read is gone then, as with a real terminal.
    """

    done: bytes
    shown: bytes
    interrupts: bool


class Keyboard:
    """Of one who types. Pure. Up and down lead to the lines that were typed before."""

    def __init__(self) -> None:
        self._line = self._escape = b""
        self._past: list[bytes] = []
        self._back = 0  # so many lines before the one being typed is shown

    def press(self, keys: bytes) -> Typed:
        done = shown = b""
        interrupts = False
        for key in keys:
            if self._escape or key == _ESCAPE:
                shown += self._escaped(key)
            elif key in _ENTER:
                done, shown = done + self._line + b"\n", shown + b"\r\n"
                self._begin_line()
            elif key == _INTERRUPT:
                done, shown, self._line, interrupts = b"", shown + b"^C\r\n", b"", True
                self._begin_line()
            elif key == END:
                done += b"" if self._line else bytes([END])
            elif key in _BACKSPACE:
                shown += _ERASED if self._line else b""
                self._line = self._line[:-1]
            elif key >= _FIRST_SHOWN or key == _TAB:
                shown, self._line = shown + bytes([key]), self._line + bytes([key])
        return Typed(done, shown, interrupts)

    def _begin_line(self) -> None:
        if self._line.strip():
            self._past = [*self._past, self._line][-_MAX_PAST:]
        self._line, self._back = b"", 0

    def _escaped(self, key: int) -> bytes:
        """What is shown for it. Keys that lead nowhere are passed over."""
        self._escape += bytes([key])
        if len(self._escape) == 2 and key not in _INTRODUCERS:
            self._escape = b""
        if len(self._escape) < 3 or not ord("@") <= key <= ord("~"):
            return b""
        self._escape = b""
        back = self._back + _WAYS.get(key, 0)
        if back == self._back or not 0 <= back <= len(self._past):
            return b""
        erased, self._back = _ERASED * len(self._line.decode("utf-8", "replace")), back
        self._line = self._past[-back] if back else b""
        return erased + self._line
