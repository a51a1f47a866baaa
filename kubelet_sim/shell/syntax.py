"""Reads a script into its tree: the part of the POSIX shell language that commands of containers are written in.

Functions, `case`, here-documents, background jobs and file name patterns are not read: Unsupported says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from kubelet_sim.shell.tree import (
    Arithmetic,
    Command,
    For,
    Group,
    If,
    Part,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Substitution,
    Text,
    Variable,
    While,
    Word,
)

_ENDS_WORD = frozenset(" \t\r\n;&|<>()")
_CLOSING = frozenset({"then", "elif", "else", "fi", "do", "done", "}"})
_NAME_STARTS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME = _NAME_STARTS | frozenset("0123456789")
_SPECIAL = frozenset("?$#!@*0123456789")
_OPERATORS = (":-", ":=", ":+", ":?", "-", "=", "+", "?", "%%", "%", "##", "#")
MAX_DEPTH = 40  # of commands within commands


class ShellSyntaxError(ValueError):
    """The text says what is wrong, as a shell does."""


class Incomplete(ShellSyntaxError):
    """The script ends within a quote or a compound command: another line may complete it."""


class Unsupported(ShellSyntaxError):
    """A shell would know what to do; this one does not."""


@lru_cache(maxsize=512)  # scripts of templates come again and again; full: the least recent is read again
def parse(text: str) -> Script:
    """Raises ShellSyntaxError."""
    parser = _Parser(text)
    script = parser.script(())
    if not parser.at_end():
        raise ShellSyntaxError(f'syntax error: unexpected "{parser.rest_word()}"')
    return script


class _Parser:
    def __init__(self, text: str, depth: int = 0) -> None:
        self._text, self._i, self._depth = text, 0, depth

    def at_end(self) -> bool:
        return self._i >= len(self._text)

    def rest_word(self) -> str:
        return self._text[self._i :].split(maxsplit=1)[0] if self._text[self._i :].strip() else "newline"

    def script(self, until: tuple[str, ...]) -> Script:
        """Pipelines up to one of the closing words, or `)`, or the end; the closing word is left there."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Unsupported("commands are nested too deeply")
        pipelines: list[Pipeline] = []
        joined_by = ""
        while True:
            self._skip_blank(lines=True)
            if self.at_end() or self._peek(")") or self._keyword() in until or self._keyword() in _CLOSING:
                if joined_by in ("&&", "||"):
                    raise Incomplete("syntax error: unexpected end of file")
                break
            pipelines.append(self._pipeline(joined_by))
            joined_by = self._join()
        self._depth -= 1
        return tuple(pipelines)

    def _join(self) -> str:
        self._skip_blank()
        for operator in ("&&", "||"):
            if self._take(operator):
                return operator
        if self._peek(";;"):
            raise ShellSyntaxError('syntax error: unexpected ";;"')
        if self._peek("&"):
            raise Unsupported("background jobs are not simulated")
        if self._take(";") or self._take("\n") or self.at_end() or self._peek(")"):
            return ";"
        raise ShellSyntaxError(f'syntax error: unexpected "{self.rest_word()}"')

    def _pipeline(self, joined_by: str) -> Pipeline:
        is_negated = False
        if self._keyword() == "!":
            self._i, is_negated = self._i + 1, True
        commands = [self._command()]
        self._skip_blank()
        while self._peek("|") and not self._peek("||"):
            self._i += 1
            self._skip_blank(lines=True)
            commands.append(self._command())
            self._skip_blank()
        return Pipeline(joined_by, tuple(commands), is_negated)

    def _command(self) -> Command:
        self._skip_blank()
        if self.at_end():
            raise Incomplete("syntax error: unexpected end of file")
        word = self._keyword()
        if word in ("case", "function", "select"):
            raise Unsupported(f"{word} is not simulated")
        if word in _COMPOUND:
            self._i += len(word)
            read: Callable[[], Command] = getattr(self, _COMPOUND[word])
            return read()
        if self._take("("):
            script = self.script(())
            self._expect(")")
            return Group(script, is_subshell=True, redirects=self._redirects())
        return self._simple()

    def _group(self) -> Command:
        script = self.script(("}",))
        self._expect_word("}")
        return Group(script, redirects=self._redirects())

    def _if(self) -> Command:
        branches, otherwise = [], Script()
        while True:
            condition = self.script(("then",))
            self._expect_word("then")
            branches.append((condition, self.script(("elif", "else", "fi"))))
            if self._keyword() != "elif":
                break
            self._i += len("elif")
        if self._keyword() == "else":
            self._i += len("else")
            otherwise = self.script(("fi",))
        self._expect_word("fi")
        return If(tuple(branches), otherwise, self._redirects())

    def _while(self) -> Command:
        condition, body = self._loop()
        return While(condition, body, redirects=self._redirects())

    def _until(self) -> Command:
        condition, body = self._loop()
        return While(condition, body, is_until=True, redirects=self._redirects())

    def _loop(self) -> tuple[Script, Script]:
        condition = self.script(("do",))
        return condition, self._body()

    def _body(self) -> Script:
        self._skip_blank(lines=True)
        self._expect_word("do")
        body = self.script(("done",))
        self._expect_word("done")
        return body

    def _for(self) -> Command:
        self._skip_blank()
        name = self._name()
        if not name:
            raise ShellSyntaxError("syntax error: bad for loop variable")
        words: list[Word] = []
        self._skip_blank(lines=True)
        self._expect_word("in")
        self._skip_blank()
        while not self.at_end() and self._text[self._i] not in ";\n":
            words.append(self._word())
            self._skip_blank()
        self._take(";")
        return For(name, tuple(words), self._body(), self._redirects())

    def _simple(self) -> Simple:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self._skip_blank()
            redirect = self._redirect()
            if redirect is not None:
                redirects.append(redirect)
            elif self.at_end() or self._text[self._i] in _ENDS_WORD:
                break
            elif not words and (assignment := self._assignment()) is not None:
                assignments.append(assignment)
            else:
                words.append(self._word())
        if self._peek("(") and words:
            raise Unsupported("functions are not simulated")
        if not (assignments or words or redirects):
            raise ShellSyntaxError(f'syntax error: unexpected "{self.rest_word()}"')
        return Simple(tuple(assignments), tuple(words), tuple(redirects))

    def _assignment(self) -> tuple[str, Word] | None:
        start, name = self._i, self._name()
        if name and self._take("="):
            is_empty = self.at_end() or self._text[self._i] in _ENDS_WORD
            return name, () if is_empty else self._word()
        self._i = start
        return None

    def _redirects(self) -> tuple[Redirect, ...]:
        found = []
        self._skip_blank()
        while (redirect := self._redirect()) is not None:
            found.append(redirect)
            self._skip_blank()
        return tuple(found)

    def _redirect(self) -> Redirect | None:
        start, fd = self._i, -1
        if not self.at_end() and self._text[self._i].isdigit() and self._text[self._i + 1 : self._i + 2] in ("<", ">"):
            fd, self._i = int(self._text[self._i]), self._i + 1
        if self._peek("<<") or self._peek("&>"):
            raise Unsupported("here-documents are not simulated")
        for operator in (">>", ">&", "<&", ">|", ">", "<"):
            if self._take(operator):
                self._skip_blank()
                fd = fd if fd >= 0 else 0 if operator[0] == "<" else 1
                return Redirect(fd, operator, self._word())
        self._i = start
        return None

    # --- words

    def _word(self) -> Word:
        parts: list[Part] = []
        while not self.at_end() and (char := self._text[self._i]) not in _ENDS_WORD:
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
        inner = _Parser(self._text[self._i + 1 : end], self._depth)
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

    # --- characters

    def _name(self) -> str:
        start = self._i
        if not self.at_end() and self._text[self._i] in _NAME_STARTS:
            while not self.at_end() and self._text[self._i] in _NAME:
                self._i += 1
        return self._text[start : self._i]

    def _keyword(self) -> str:
        """The word that begins here, if nothing in it is quoted."""
        end = self._i
        while end < len(self._text) and self._text[end] not in _ENDS_WORD:
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


_COMPOUND = {"{": "_group", "if": "_if", "while": "_while", "until": "_until", "for": "_for"}


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
