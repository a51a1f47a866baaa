"""Carries a script out, as a generator of effects: the same code makes the logs and answers `kubectl exec`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from kubelet_sim.shell import expansion
from kubelet_sim.shell.characters import ShellSyntaxError
from kubelet_sim.shell.effects import STDERR, STDOUT, Effect, ReadLine, Running, Sleep, Write, WriteUnknown
from kubelet_sim.shell.expansion import ExpansionError
from kubelet_sim.shell.paths import resolved
from kubelet_sim.shell.syntax import MAX_DEPTH, parse
from kubelet_sim.shell.tree import Command, For, Group, If, Pipeline, Redirect, Script, Simple, While
from kubelet_sim.shell.world import UnknownProgram, World

COMMAND_SECONDS = 0.001  # what any program takes; a loop without a sleep goes around a thousand times a second
MAX_TEXT = 1 << 20  # of what a substitution keeps; the rest is dropped
NOT_FOUND, FAILED = 127, 2
_SILENT = ("/dev/null",)
_STREAMS = {"/dev/stdout": STDOUT, "/dev/stderr": STDERR, "/proc/1/fd/1": STDOUT, "/proc/1/fd/2": STDERR}
_CONSTANT = (("true",), (":",))


# Finds what runs under a name: `(shell, arguments) -> effects`.
Find = Callable[[str], "Callable[[Shell, Sequence[str]], Running] | None"]


class Exit(Exception):
    """The shell ends."""

    def __init__(self, code: int) -> None:
        self.code = code % 256


class Jump(Exception):
    """`break` or `continue`, out of so many loops."""

    def __init__(self, levels: int, goes_on: bool) -> None:
        self.levels, self.goes_on = levels, goes_on


class Forever(Exception):
    """A loop that will repeat itself until somebody stops it: said only while guessing."""


class Shell:
    """One shell: its variables, where it is, how the last command ended."""

    def __init__(
        self, world: World, find: Find, name: str = "sh", arguments: Sequence[str] = (), depth: int = 0
    ) -> None:
        """`find` knows the programs; `catalog.shell_in` makes a shell with all of them."""
        self.world, self.find = world, find
        self.name, self.arguments, self.depth = name, tuple(arguments), depth
        self.variables = {"PATH": "", **world.environment}
        self.exported = set(world.environment)
        self.directory = world.working_dir
        self.status = 0
        self.stops_at_failure = False
        self._guards = 0  # conditions under way, whose failures end nothing

    # --- variables (expansion.Context)

    def value(self, name: str) -> str | None:
        if name == "?":
            return str(self.status)
        if name == "$":
            return "1" if self.depth == 0 else str(self.depth + 10)
        if name == "#":
            return str(len(self.arguments))
        if name in ("@", "*"):
            return " ".join(self.arguments)
        if name.isdigit():
            i = int(name)
            return self.name if i == 0 else self.arguments[i - 1] if i <= len(self.arguments) else None
        return self.directory if name == "PWD" else self.variables.get(name)

    def set(self, name: str, text: str) -> None:
        self.variables[name] = text

    def environment(self) -> dict[str, str]:
        return {name: self.variables[name] for name in self.variables if name in self.exported}

    def path(self, name: str) -> str:
        return resolved(self.directory, name)

    def output_of(self, script: Script) -> Generator[Effect, Any, str]:
        inside = self.inner()
        texts, size = list[str](), 0
        running, answer = inside.to_end(script), None
        while True:
            try:
                effect = running.send(answer)
            except StopIteration as end:
                self.status = end.value
                return "".join(texts)
            answer = None
            if isinstance(effect, Write) and effect.stream == STDOUT:
                if size < MAX_TEXT:
                    texts.append(effect.text)
                    size += len(effect.text)
            elif isinstance(effect, WriteUnknown):
                raise UnknownProgram("what is substituted")
            else:
                answer = yield effect

    def matching(self, pattern: str) -> list[str]:
        """What an image holds is not known: while guessing a pattern stands for itself."""
        return [] if self.world.is_guess else self.world.matching(self.directory, pattern)

    def inner(self) -> Shell:
        """A shell within this one."""
        inside = Shell(self.world, self.find, self.name, self.arguments, self.depth + 1)
        if inside.depth > MAX_DEPTH:
            raise ExpansionError("shells are nested too deeply")
        inside.variables, inside.exported = dict(self.variables), set(self.exported)
        inside.directory, inside.status, inside.stops_at_failure = self.directory, self.status, self.stops_at_failure
        return inside

    # --- scripts

    def to_end(self, script: Script) -> Running:
        """The exit code, however the script comes to its end."""
        try:
            return (yield from self.run(script))
        except Exit as end:
            return end.code
        except Jump:
            return self.status

    def read_and_run(self, text: str) -> Running:
        """Errors of the language are told as a shell tells them."""
        try:
            return (yield from self.run(parse(text)))
        except (ShellSyntaxError, ExpansionError) as error:
            if self.world.is_guess:
                raise UnknownProgram(str(error)) from error
            yield Write(STDERR, f"{self.name}: {error}\n")
            self.status = FAILED
            return FAILED

    def run(self, script: Script) -> Running:
        for i, pipeline in enumerate(script):
            if pipeline.joined_by == "&&" and self.status != 0:
                continue
            if pipeline.joined_by == "||" and self.status == 0:
                continue
            yield from self._pipeline(pipeline)
            follows = script[i + 1].joined_by if i + 1 < len(script) else ""
            is_tested = follows in ("&&", "||") or pipeline.is_negated or self._guards
            if self.status and self.stops_at_failure and not is_tested:
                raise Exit(self.status)
        return self.status

    def _pipeline(self, pipeline: Pipeline) -> Running:
        if len(pipeline.commands) == 1:
            self.status = yield from self._command(pipeline.commands[0])
        else:
            running = self.inner()._alone(pipeline.commands[0])
            for command in pipeline.commands[1:]:
                running = _piped(running, self.inner()._alone(command))
            self.status = yield from running
        if pipeline.is_negated:
            self.status = 0 if self.status else 1
        return self.status

    def _alone(self, command: Command) -> Running:
        try:
            return (yield from self._command(command))
        except Exit as end:
            return end.code

    def _command(self, command: Command) -> Running:
        if not command.redirects:
            return (yield from self._bare(command))
        return (yield from self._redirected(self._bare(command), command.redirects))

    def _bare(self, command: Command) -> Running:
        match command:
            case Simple():
                return (yield from self._simple(command))
            case Group(script, is_subshell=True):
                return (yield from self.inner().to_end(script))
            case Group(script):
                return (yield from self.run(script))
            case If(branches, otherwise):
                for condition, then in branches:
                    if not (yield from self._tested(condition)):
                        return (yield from self._body(then))
                return (yield from self._body(otherwise))
            case While():
                return (yield from self._while(command))
            case For():
                return (yield from self._for(command))

    def _body(self, script: Script) -> Running:
        self.status = 0
        return (yield from self.run(script))

    def _tested(self, condition: Script) -> Running:
        self._guards += 1
        try:
            return (yield from self.run(condition))
        finally:
            self._guards -= 1

    def _while(self, loop: While) -> Running:
        status = 0
        while True:
            before, began = dict(self.variables), self.world.elapsed()
            held = yield from self._tested(loop.condition)
            if (held == 0) == loop.is_until:
                return status
            try:
                status = yield from self.run(loop.body)
            except Jump as jump:
                if jump.levels > 1:
                    raise Jump(jump.levels - 1, jump.goes_on) from jump
                if not jump.goes_on:
                    return 0
            if _is_constant(loop) and before == self.variables:
                yield from self._skip(self.world.elapsed() - began)
            yield Sleep(0)

    def _skip(self, around_seconds: float) -> Generator[Effect, Any, None]:
        """Nothing but the time is different after a round: rounds that nobody asks for can be left out."""
        if self.world.is_guess and not self.world.is_endless:
            raise Forever
        missing = self.world.skip_to_seconds - self.world.elapsed()
        if around_seconds > 0 and missing > around_seconds:
            yield Sleep(missing // around_seconds * around_seconds)

    def _for(self, loop: For) -> Running:
        status = 0
        for text in (yield from expansion.fields(loop.words, self)):
            self.set(loop.name, text)
            try:
                status = yield from self.run(loop.body)
            except Jump as jump:
                if jump.levels > 1:
                    raise Jump(jump.levels - 1, jump.goes_on) from jump
                if not jump.goes_on:
                    return 0
        return status

    # --- one command

    def _simple(self, command: Simple) -> Running:
        self.status = 0 if not command.words else self.status
        words = yield from expansion.fields(command.words, self)
        values = {}
        for name, word in command.assignments:
            values[name] = yield from expansion.joined(word, self)
        if command.words and not words and self.world.is_guess:
            raise UnknownProgram("what an unset variable names")
        if not words:
            self.variables.update(values)
            return self.status
        before = {name: self.variables.get(name) for name in values}
        exported = values.keys() - self.exported
        self.variables.update(values)
        self.exported |= exported
        try:
            return (yield from self.call(words))
        finally:
            self.exported -= exported
            for name, old in before.items():
                self.variables.pop(name, None)
                if old is not None:
                    self.variables[name] = old

    def call(self, words: Sequence[str]) -> Running:
        """A program by its name, or what the shell does itself."""
        program = self.find(words[0])
        if program is not None:
            if words[0] not in ("sleep", "exit"):
                yield Sleep(COMMAND_SECONDS)
            return (yield from program(self, words[1:]))
        if self.world.is_guess:
            raise UnknownProgram(words[0])
        yield Write(STDERR, f"{self.name}: {words[0]}: not found\n")
        return NOT_FOUND

    def _redirected(self, running: Running, redirects: Sequence[Redirect]) -> Running:
        """Each stream goes where the redirects say, in order: a stream, a file, or nowhere."""
        targets: dict[int, int | str] = {STDOUT: STDOUT, STDERR: STDERR}
        lines: list[str] | None = None
        for redirect in redirects:
            name = yield from expansion.joined(redirect.target, self)
            if redirect.operator in (">&", "<&"):
                targets[redirect.fd] = targets.get(int(name), STDOUT) if name.isdigit() else ""
            elif redirect.operator == "<":
                content = "" if name in _SILENT else self.world.files.get(self.path(name))
                if content is None:
                    yield from self._unreadable(name)
                    return 1
                lines = content.splitlines(keepends=True)
            else:
                targets[redirect.fd] = self._target(name, redirect.operator != ">>")
        answer: Any = None
        while True:
            try:
                effect = running.send(answer)
            except StopIteration as end:
                return int(end.value)
            answer = None
            if isinstance(effect, ReadLine) and lines is not None:
                answer = lines.pop(0) if lines else ""
            elif isinstance(effect, WriteUnknown):
                yield from _unknown_to(targets[STDOUT], effect)
            elif not isinstance(effect, Write):
                answer = yield effect
            elif isinstance(target := targets[effect.stream], int):
                yield Write(target, effect.text)
            elif target:
                self.world.files[target] = (self.world.files[target] + effect.text)[:MAX_TEXT]

    def _target(self, name: str, is_emptied: bool) -> int | str:
        if name in _SILENT:
            return ""
        if name in _STREAMS:
            return _STREAMS[name]
        path = self.path(name)
        if is_emptied or path not in self.world.files:
            self.world.files[path] = ""
        return path

    def _unreadable(self, name: str) -> Generator[Effect, Any, None]:
        if self.world.is_guess:
            raise UnknownProgram(name)
        yield Write(STDERR, f"{self.name}: can't open {name}: no such file\n")


def _unknown_to(target: int | str, unknown: WriteUnknown) -> Generator[Effect, Any, None]:
    """Into a file it may not go: what is read from there would be wrong."""
    if target and isinstance(target, str):
        raise UnknownProgram(target)
    if target:
        yield unknown


def _piped(left: Running, right: Running) -> Running:
    """What the left one writes is what the right one reads, as it asks for it."""
    source = _Source(left)
    answer: Any = None
    while True:
        try:
            effect = right.send(answer)
        except StopIteration as end:
            yield from source.drain()
            return int(end.value)
        answer = (yield from source.line()) if isinstance(effect, ReadLine) else (yield effect)


class _Source:
    """The lines of a script's output, run no further than they are asked for."""

    def __init__(self, running: Running) -> None:
        self._running, self._text, self._is_over = running, "", False

    def line(self) -> Generator[Effect, Any, str]:
        answer: Any = None
        while "\n" not in self._text and not self._is_over and len(self._text) < MAX_TEXT:
            try:
                effect = self._running.send(answer)
            except StopIteration:
                self._is_over = True
                break
            answer = None
            if isinstance(effect, Write) and effect.stream == STDOUT:
                self._text += effect.text
            elif isinstance(effect, WriteUnknown):
                raise UnknownProgram("what is piped")
            else:
                answer = yield effect
        line, end, self._text = self._text.partition("\n")
        return line + end

    def drain(self) -> Generator[Effect, Any, None]:
        """Nobody reads any more: the next line that is written ends the script, as SIGPIPE does."""
        answer: Any = None
        while not self._is_over:
            try:
                effect = self._running.send(answer)
            except StopIteration:
                return
            if isinstance(effect, WriteUnknown) or (isinstance(effect, Write) and effect.stream == STDOUT):
                self._running.close()
                return
            answer = yield effect


def _is_constant(loop: While) -> bool:
    """`while true`, `while :`."""
    match loop.condition:
        case (Pipeline(commands=(Simple(assignments=(), words=(word,), redirects=()),), is_negated=False),):
            return not loop.is_until and tuple(getattr(part, "text", "") for part in word) in _CONSTANT
    return False
