"""Reads a script into its tree: the part of the POSIX shell language that commands of containers are written in.

Functions, `case`, here-documents and background jobs are not read: Unsupported says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from kubelet_sim.shell.characters import ENDS_WORD, Incomplete, ShellSyntaxError, Unsupported
from kubelet_sim.shell.tree import Command, For, Group, If, Pipeline, Redirect, Script, Simple, While, Word
from kubelet_sim.shell.words import Words

_CLOSING = frozenset({"then", "elif", "else", "fi", "do", "done", "}"})
MAX_DEPTH = 40  # of commands within commands


@lru_cache(maxsize=512)  # scripts of templates come again and again; full: the least recent is read again
def parse(text: str) -> Script:
    """Raises ShellSyntaxError."""
    parser = _Parser(text)
    script = parser.script(())
    if not parser.at_end():
        raise ShellSyntaxError(f'syntax error: unexpected "{parser.rest_word()}"')
    return script


class _Parser(Words):
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
            elif self.at_end() or self._text[self._i] in ENDS_WORD:
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
            is_empty = self.at_end() or self._text[self._i] in ENDS_WORD
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


_COMPOUND = {"{": "_group", "if": "_if", "while": "_while", "until": "_until", "for": "_for"}
