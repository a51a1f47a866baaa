"""Programs that read files, or look at them: those of the world, which what a script writes is added to."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from kubelet_sim.shell.effects import STDOUT, Effect, ReadLine, Running, Write
from kubelet_sim.shell.interpreter import Shell
from kubelet_sim.shell.programs import Program, refuse, write_lines
from kubelet_sim.shell.world import UnknownProgram

Lines = Generator[Effect, Any, list[str]]

NO_SUCH_FILE = "No such file or directory"


class _Missing(Exception):
    """A file that is not there."""


def _cat(shell: Shell, arguments: Sequence[str]) -> Running:
    names, code = [name for name in arguments if name == "-" or not name.startswith("-")], 0
    if not names:
        while line := (yield ReadLine()):
            yield Write(STDOUT, line)
        return 0
    for name in names:
        content = _content(shell, name)
        if content is None:
            why = "read error: Is a directory" if shell.world.is_directory(shell.path(name)) else NO_SUCH_FILE
            code = yield from refuse("cat", f"can't open '{name}': {why}")
        elif content:
            yield Write(STDOUT, content)
    return code


def _content(shell: Shell, name: str) -> str | None:
    content = "" if name == "/dev/null" else shell.world.files.get(shell.path(name))
    if content is None and shell.world.is_guess:
        raise UnknownProgram(name)  # the image may have it
    return content


def _lines(shell: Shell, names: Sequence[str]) -> Lines:
    """Of the files, or else of the standard input. Raises _Missing."""
    lines: list[str] = []
    for name in names:
        content = _content(shell, name)
        if content is None:
            raise _Missing(name)
        lines += content.splitlines(keepends=True)
    if not names:
        while line := (yield ReadLine()):
            lines.append(line)
    return lines


def _filter(program: str, work: Callable[[list[str], Sequence[str]], tuple[list[str], int]], takes: str) -> Program:
    """A program that reads lines and writes some. `takes`: options with a value of their own."""

    def run(shell: Shell, arguments: Sequence[str]) -> Running:
        options, names = parted(arguments, takes)
        if program == "grep":
            options, names = [*options, "--", *names[:1]], names[1:]
        try:
            lines = yield from _lines(shell, names)
        except _Missing as missing:
            return (yield from refuse(program, f"{missing}: {NO_SUCH_FILE}"))
        try:
            found, code = work(lines, options)
        except ValueError as error:
            return (yield from refuse(program, str(error), code=2))
        yield from write_lines(found)
        return code

    return run


def parted(arguments: Sequence[str], takes: str = "") -> tuple[list[str], list[str]]:
    """Options and names. `takes`: options with a value of their own."""
    options: list[str] = []
    names: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-") or argument == "-":
            names.append(argument)
            continue
        options.append(argument)
        if len(argument) == 2 and argument[1] in takes and rest:
            options.append(rest.pop(0))
    return options, names


def _count(options: Sequence[str], default: int) -> int:
    text = "".join(options).removeprefix("-n").removeprefix("-")
    if not text:
        return default
    if not text.isdigit():
        raise ValueError(f"invalid number '{text}'")
    return int(text)


def _head(lines: list[str], options: Sequence[str]) -> tuple[list[str], int]:
    return lines[: _count(options, 10)], 0


def _tail(lines: list[str], options: Sequence[str]) -> tuple[list[str], int]:
    count = _count(options, 10)
    return lines[-count:] if count else [], 0


def _wc(lines: list[str], options: Sequence[str]) -> tuple[list[str], int]:
    text = "".join(lines)
    counts = {"-l": text.count("\n"), "-w": len(text.split()), "-c": len(text.encode())}
    shown = [counts[option] for option in options if option in counts] or list(counts.values())
    return [" ".join(str(count) for count in shown) + "\n"], 0


def _sort(lines: list[str], options: Sequence[str]) -> tuple[list[str], int]:
    found = sorted(set(lines) if "-u" in options else lines, reverse="-r" in options)
    return found, 0


def _grep(lines: list[str], options: Sequence[str]) -> tuple[list[str], int]:
    at = list(options).index("--")
    letters, patterns = "".join(options[:at]), options[at + 1 :]
    if not patterns:
        raise ValueError("no pattern")
    pattern = patterns[0][:200]
    # Only plain text and the simplest patterns: nobody's pattern may keep the node busy.
    plain = re.escape(pattern) if "F" in letters else _pattern(pattern)
    expression = re.compile(plain, re.IGNORECASE if "i" in letters else 0)
    found = [line for line in lines if bool(expression.search(line)) != ("v" in letters)]
    code = 0 if found else 1
    if "q" in letters:
        return [], code
    return ([f"{len(found)}\n"] if "c" in letters else found), code


def _pattern(pattern: str) -> str:
    """`.`, `.*`, `^` and `$` mean what they do; every other character itself."""
    parts = re.split(r"(\.\*|[.^$])", pattern)
    return "".join(part if part in (".*", ".", "^", "$") else re.escape(part) for part in parts)


def _tee(shell: Shell, arguments: Sequence[str]) -> Running:
    options, names = parted(arguments)
    paths = [shell.path(name) for name in names if not name.startswith("/dev/")]
    for path in paths:
        if "-a" not in options or path not in shell.world.files:
            shell.world.files[path] = ""
    while line := (yield ReadLine()):
        for path in paths:
            shell.world.files[path] += line
        yield Write(STDOUT, line)
    return 0


def _test(shell: Shell, arguments: Sequence[str]) -> Running:
    words = list(arguments)
    return 0 if _holds(shell, words) else 1
    yield


def _bracket(shell: Shell, arguments: Sequence[str]) -> Running:
    if not arguments or arguments[-1] != "]":
        return (yield from refuse("sh", "[: missing ]", code=2))
    return (yield from _test(shell, arguments[:-1]))


def _holds(shell: Shell, words: list[str]) -> bool:
    for joint, combine in (("-o", any), ("-a", all)):
        if joint in words:
            at = words.index(joint)
            return combine((_holds(shell, words[:at]), _holds(shell, words[at + 1 :])))
    match words:
        case ["!", *rest]:
            return not _holds(shell, rest)
        case []:
            return False
        case [text]:
            return bool(text)
        case ["-n", text]:
            return bool(text)
        case ["-z", text]:
            return not text
        case ["-d", name]:
            return shell.world.is_directory(shell.path(name))
        case ["-f" | "-r" | "-s" | "-x" | "-e", name]:
            path = shell.path(name)
            is_file = path in shell.world.files and (words[0] != "-s" or bool(shell.world.files[path]))
            return is_file or (words[0] == "-e" and shell.world.is_directory(path))
        case [left, "=" | "==", right]:
            return left == right
        case [left, "!=", right]:
            return left != right
        case [left, operator, right] if operator in _NUMBERS and _is_number(left) and _is_number(right):
            return _NUMBERS[operator](int(left), int(right))
    return False


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()


_NUMBERS: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}

FILE_PROGRAMS: Mapping[str, Program] = {
    "[": _bracket,
    "cat": _cat,
    "grep": _filter("grep", _grep, ""),
    "head": _filter("head", _head, "n"),
    "sort": _filter("sort", _sort, "k"),
    "tail": _filter("tail", _tail, "n"),
    "tee": _tee,
    "test": _test,
    "wc": _filter("wc", _wc, ""),
}
