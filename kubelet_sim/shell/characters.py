"""The characters of a script: where a reader of it has got to, and what comes next."""

from __future__ import annotations

ENDS_WORD = frozenset(" \t\r\n;&|<>()")
_NAME_STARTS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME = _NAME_STARTS | frozenset("0123456789")


class ShellSyntaxError(ValueError):
    """The text says what is wrong, as a shell does."""


class Incomplete(ShellSyntaxError):
    """The script ends within a quote or a compound command: another line may complete it."""


class Unsupported(ShellSyntaxError):
    """A shell would know what to do; this one does not."""


class Characters:
    """A text and the place in it. `depth`: of commands within commands."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self._text, self._i, self._depth = text, 0, depth

    def at_end(self) -> bool:
        return self._i >= len(self._text)

    def rest_word(self) -> str:
        return self._text[self._i :].split(maxsplit=1)[0] if self._text[self._i :].strip() else "newline"

    def _name(self) -> str:
        start = self._i
        if not self.at_end() and self._text[self._i] in _NAME_STARTS:
            while not self.at_end() and self._text[self._i] in _NAME:
                self._i += 1
        return self._text[start : self._i]

    def _keyword(self) -> str:
        """The word that begins here, if nothing in it is quoted."""
        end = self._i
        while end < len(self._text) and self._text[end] not in ENDS_WORD:
            end += 1
        return self._text[self._i : end]

    def _skip_blank(self, lines: bool = False) -> None:
        while not self.at_end():
            char = self._text[self._i]
            if char == "#":
                end = self._text.find("\n", self._i)
                self._i = len(self._text) if end < 0 else end
            elif self._text.startswith("\\\n", self._i):
                self._i += 2
            elif char in " \t\r" or (lines and char in "\n;" and not self._peek(";;")):
                self._i += 1
            else:
                return

    def _peek(self, text: str) -> bool:
        return self._text.startswith(text, self._i)

    def _take(self, text: str) -> bool:
        is_there = self._peek(text)
        self._i += len(text) if is_there else 0
        return is_there

    def _expect(self, text: str) -> None:
        if not self._take(text):
            if self.at_end():
                raise Incomplete("syntax error: unexpected end of file")
            raise ShellSyntaxError(f'syntax error: unexpected "{self.rest_word()}" (expecting "{text}")')

    def _expect_word(self, word: str) -> None:
        if self._keyword() == word:
            self._i += len(word)
        elif self.at_end():
            raise Incomplete(f'syntax error: unexpected end of file (expecting "{word}")')
        else:
            raise ShellSyntaxError(f'syntax error: unexpected "{self.rest_word()}" (expecting "{word}")')
