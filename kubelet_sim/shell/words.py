"""Reads the words of a script: quotes, variables, substitutions and sums in them."""

from __future__ import annotations

from abc import abstractmethod

from kubelet_sim.shell.characters import ENDS_WORD, Characters, Incomplete, ShellSyntaxError
from kubelet_sim.shell.tree import Arithmetic, Part, Script, Substitution, Text, Variable, Word

_SPECIAL = frozenset("?$#!@*0123456789")
_OPERATORS = (":-", ":=", ":+", ":?", "-", "=", "+", "?", "%%", "%", "##", "#")


class Words(Characters):
    @abstractmethod
    def script(self, until: tuple[str, ...]) -> Script:
        """The commands within a substitution."""

    def _word(self) -> Word:
        parts: list[Part] = []
        while not self.at_end() and (char := self._text[self._i]) not in ENDS_WORD:
            if char == "'":
                end = self._text.find("'", self._i + 1)
                if end < 0:
                    raise Incomplete("syntax error: unterminated quoted string")
                parts.append(Text(self._text[self._i + 1 : end], is_quoted=True))
                self._i = end + 1
            elif char == '"':
                self._i += 1
                parts += self._until_quote()
            elif char == "\\":
                parts.append(Text(self._text[self._i + 1 : self._i + 2], is_quoted=True))
                self._i += 2
            elif char == "`":
                parts.append(self._backquoted(is_quoted=False))
            elif char == "$":
                parts.append(self._dollar(is_quoted=False))
            else:
                parts.append(Text(char))
                self._i += 1
        if not parts:
            if self.at_end():
                raise Incomplete("syntax error: unexpected end of file")
            raise ShellSyntaxError(f'syntax error: unexpected "{self.rest_word()}"')
        return _joined(parts)

    def _until_quote(self) -> list[Part]:
        parts: list[Part] = [Text("", is_quoted=True)]
        while not self.at_end():
            char = self._text[self._i]
            if char == '"':
                self._i += 1
                return parts
            if char == "\\" and self._text[self._i + 1 : self._i + 2] in ("$", "`", '"', "\\", "\n"):
                escaped = self._text[self._i + 1]
                parts.append(Text("" if escaped == "\n" else escaped, is_quoted=True))
                self._i += 2
            elif char == "`":
                parts.append(self._backquoted(is_quoted=True))
            elif char == "$":
                parts.append(self._dollar(is_quoted=True))
            else:
                parts.append(Text(char, is_quoted=True))
                self._i += 1
        raise Incomplete("syntax error: unterminated quoted string")

    def _backquoted(self, is_quoted: bool) -> Part:
        end = self._text.find("`", self._i + 1)
        if end < 0:
            raise Incomplete("syntax error: EOF in backquote substitution")
        inner = type(self)(self._text[self._i + 1 : end], self._depth)
        script = inner.script(())
        self._i = end + 1
        return Substitution(script, is_quoted)

    def _dollar(self, is_quoted: bool) -> Part:
        self._i += 1
        if self._take("(("):
            return Arithmetic(self._arithmetic(), is_quoted)
        if self._take("("):
            script = self.script(())
            self._expect(")")
            return Substitution(script, is_quoted)
        if self._take("{"):
            return self._braced(is_quoted)
        if not self.at_end() and self._text[self._i] in _SPECIAL:
            self._i += 1
            return Variable(self._text[self._i - 1], is_quoted)
        name = self._name()
        return Variable(name, is_quoted) if name else Text("$", is_quoted)

    def _braced(self, is_quoted: bool) -> Part:
        if self._take("#"):
            name = self._name()
            self._expect("}")
            return Variable(name, is_quoted, "#len")
        name = self._text[self._i] if self._text[self._i : self._i + 1] in _SPECIAL else ""
        self._i += len(name)
        name = name or self._name()
        operator = next((one for one in _OPERATORS if self._take(one)), "")
        parts: list[Part] = []
        while not self.at_end() and not self._peek("}"):
            if self._peek("$"):
                parts.append(self._dollar(is_quoted))
            else:
                parts.append(Text(self._text[self._i], is_quoted))
                self._i += 1
        self._expect("}")
        if not name or (parts and not operator):
            raise ShellSyntaxError("syntax error: bad substitution")
        return Variable(name, is_quoted, operator, _joined(parts))

    def _arithmetic(self) -> Word:
        parts: list[Part] = []
        depth = 0
        while not self.at_end():
            if depth == 0 and self._take("))"):
                return _joined(parts)
            char = self._text[self._i]
            if char == "$":
                parts.append(self._dollar(is_quoted=True))
                continue
            depth += (char == "(") - (char == ")")
            parts.append(Text(char, is_quoted=True))
            self._i += 1
        raise Incomplete("syntax error: missing '))'")


def _joined(parts: list[Part]) -> Word:
    """Neighbouring characters of one kind as one text."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, Text) and isinstance(last, Text) and part.is_quoted == last.is_quoted:
            joined[-1] = Text(last.text + part.text, part.is_quoted)
        else:
            joined.append(part)
    return tuple(joined)
