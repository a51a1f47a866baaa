"""The programs that every simulated container has, by name. One is added here, or in the tables it takes in.

Each is a generator of effects; what it is told of the container is in `shell.world`.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from kubelet_sim.shell.effects import STDERR, STDOUT, Effect, Kill, Running, Sleep, Write
from kubelet_sim.shell.interpreter import Exit, Shell
from kubelet_sim.shell.session import read_on
from kubelet_sim.shell.world import UnknownProgram

Program = Callable[[Shell, Sequence[str]], Running]

SHELLS = ("sh", "bash", "ash", "dash")
_UNITS_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DATE = "%a %b %e %H:%M:%S UTC %Y"
_SIGNALS = {"HUP": 1, "INT": 2, "QUIT": 3, "KILL": 9, "USR1": 10, "USR2": 12, "TERM": 15}
_MAX_NUMBERS = 100_000


def refuse(program: str, why: str, code: int = 1) -> Running:
    """A complaint on the standard error stream."""
    yield Write(STDERR, f"{program}: {why}\n")
    return code


def _echo(shell: Shell, arguments: Sequence[str]) -> Running:
    words, end, escapes = list(arguments), "\n", False
    while words and words[0] in ("-n", "-e", "-ne", "-en", "-E"):
        option = words.pop(0)
        end = "" if "n" in option else end
        escapes |= "e" in option
    text = " ".join(words)
    yield Write(STDOUT, (_unescaped(text) if escapes else text) + end)
    return 0


def _printf(shell: Shell, arguments: Sequence[str]) -> Running:
    if not arguments:
        return (yield from refuse("printf", "usage: printf FORMAT [ARGUMENT...]"))
    text, rest = _unescaped(arguments[0]), list(arguments[1:])
    while True:
        had, written = len(rest), _formatted(text, rest)
        yield Write(STDOUT, written)
        if not rest or len(rest) == had:
            return 0


def _formatted(text: str, rest: list[str]) -> str:
    """One round of a format; takes its arguments out of `rest`."""
    written, i = "", 0
    while i < len(text):
        end = i + 1
        if text[i] != "%":
            written, i = written + text[i], end
            continue
        while end < len(text) and text[end] in "-+ 0123456789.":
            end += 1
        kind, options = text[end : end + 1], text[i + 1 : end][:8]
        if kind == "%":
            written += "%"
        elif kind in ("s", "b", "c", "q"):
            written += f"%{options}s" % (rest.pop(0) if rest else "")
        elif kind in ("d", "i", "u", "x", "o"):
            argument = rest.pop(0) if rest else "0"
            number = int(argument) if argument.lstrip("-").isdigit() else 0
            written += f"%{options}{'d' if kind in 'iu' else kind}" % number
        i = end + 1
    return written


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    try:
        return codecs.decode(text.encode("latin-1", "backslashreplace"), "unicode_escape")
    except ValueError:
        return text


def ends(code: int) -> Program:
    """A program that only ends."""

    def end(shell: Shell, arguments: Sequence[str]) -> Running:
        return code
        yield

    return end


def _date(shell: Shell, arguments: Sequence[str]) -> Running:
    form, now, given = _DATE, shell.world.now(), iter(arguments)
    for argument in given:
        if argument.startswith("+"):
            form = argument[1:].replace("%s", str(int(now.timestamp()))).replace("%N", f"{now.microsecond:06d}000")
        elif argument.startswith("-I"):
            form = "%Y-%m-%dT%H:%M:%S+00:00" if argument.endswith("seconds") else "%Y-%m-%d"
        elif argument.startswith("-R"):
            form = "%a, %d %b %Y %H:%M:%S +0000"
        elif argument in ("-d", "--date"):
            next(given, None)  # other times than now are not understood
        elif not argument.startswith("-"):
            yield Write(STDERR, f"date: invalid date '{argument}'\n")
            return 1
    yield Write(STDOUT, now.strftime(form) + "\n")
    return 0


def _sleep(shell: Shell, arguments: Sequence[str]) -> Running:
    seconds = 0.0
    for argument in arguments:
        number, unit = (argument[:-1], argument[-1:]) if argument[-1:].isalpha() else (argument, "")
        if argument in ("infinity", "inf"):
            number, unit = "inf", ""
        try:
            seconds += float(number) * _UNITS_SECONDS[unit]
        except (ValueError, KeyError):
            if shell.world.is_guess:
                raise UnknownProgram(f"sleep {argument}") from None
            return (yield from refuse("sleep", f"invalid number '{argument}'"))
    if not arguments:
        return (yield from refuse("sleep", "missing operand"))
    yield Sleep(seconds)
    return 0


def _env(shell: Shell, arguments: Sequence[str]) -> Running:
    """The environment, or a program with something added to it."""
    words, added = list(arguments), dict[str, str]()
    while words and "=" in words[0]:
        name, _, text = words.pop(0).partition("=")
        added[name] = text
    inside = shell.inner()
    inside.variables.update(added)
    inside.exported |= added.keys()
    if words:
        return (yield from inside.call(words))
    yield Write(STDOUT, "".join(f"{name}={text}\n" for name, text in inside.environment().items()))
    return 0


def _printenv(shell: Shell, arguments: Sequence[str]) -> Running:
    if not arguments:
        return (yield from _env(shell, ()))
    known = shell.environment()
    for name in arguments:
        if name in known:
            yield Write(STDOUT, f"{known[name]}\n")
    return 0 if all(name in known for name in arguments) else 1


def says(text: Callable[[Shell, Sequence[str]], str]) -> Program:
    """A program that prints something and ends well."""

    def say(shell: Shell, arguments: Sequence[str]) -> Running:
        yield Write(STDOUT, text(shell, arguments) + "\n")
        return 0

    return say


def _hostname(shell: Shell, arguments: Sequence[str]) -> str:
    world = shell.world
    if not {"-i", "-I"} & set(arguments):
        return world.hostname
    hosts = [line.split() for line in world.files.get("/etc/hosts", "").splitlines()]
    return next((address for address, *names in filter(None, hosts) if world.hostname in names), "127.0.0.1")


def _which(shell: Shell, arguments: Sequence[str]) -> Running:
    code = 0
    for name in arguments:
        path = name if "/" in name else f"/bin/{name}"
        if shell.find(path) is not None:
            yield Write(STDOUT, f"{path}\n")
        elif shell.world.is_guess:
            raise UnknownProgram(f"which {name}")
        else:
            code = 1
    return code


def _id(shell: Shell, arguments: Sequence[str]) -> str:
    world = shell.world
    groups = tuple(dict.fromkeys((world.group, *world.more_groups)))
    short = {
        "-u": str(world.user),
        "-g": str(world.group),
        "-G": " ".join(map(str, groups)),
        "-un": world.user_name,
    }
    if arguments and arguments[0] in short:
        return short[arguments[0]]
    user, group, *others = (f"{n}(root)" if n == 0 else str(n) for n in (world.user, *groups))
    return f"uid={user} gid={group} groups={','.join((group, *others))}"


def _uname(shell: Shell, arguments: Sequence[str]) -> str:
    facts = {"-s": "Linux", "-n": shell.world.hostname, "-r": "6.12.0-kubeloop", "-m": "x86_64"}
    if not arguments:
        return "Linux"
    if arguments[0] == "-a":
        return " ".join(facts.values())
    return " ".join(facts.get(argument, "") for argument in arguments).strip()


def _ps(shell: Shell, arguments: Sequence[str]) -> Running:
    world = shell.world
    rows = [(1, " ".join(world.process) or "/entrypoint"), (12, " ".join(("ps", *arguments)))]
    lines = ["PID   USER     TIME  COMMAND", *(f"{pid:>5} {world.user_name:<8}  0:00 {text}" for pid, text in rows)]
    yield Write(STDOUT, "\n".join(lines) + "\n")
    return 0


def _kill(shell: Shell, arguments: Sequence[str]) -> Running:
    signal, pids = 15, []
    for argument in arguments:
        if argument.startswith("-"):
            name = argument[1:].removeprefix("SIG").upper()
            signal = int(name) if name.isdigit() else _SIGNALS.get(name, 0)
        else:
            pids.append(argument)
    if not pids or not signal:
        return (yield from refuse("sh", "kill: usage: kill [-SIGNAL] PID"))
    for pid in pids:
        if pid != "1":
            return (yield from refuse("sh", f"can't kill pid {pid}: No such process"))
        yield Kill(signal)
    return 0


def _seq(shell: Shell, arguments: Sequence[str]) -> Running:
    try:
        numbers = [int(argument) for argument in arguments]
        first, step, last = {1: (1, 1, numbers[0]), 2: (numbers[0], 1, numbers[-1])}.get(
            len(numbers), (numbers[0], numbers[1] if len(numbers) > 2 else 1, numbers[-1])
        )
        found = range(first, last + (1 if step > 0 else -1), step)[:_MAX_NUMBERS]
    except (ValueError, IndexError):
        return (yield from refuse("seq", "usage: seq [FIRST [STEP]] LAST"))
    yield Write(STDOUT, "".join(f"{number}\n" for number in found))
    return 0


def _shell(shell: Shell, arguments: Sequence[str]) -> Running:
    """A shell within: `-c SCRIPT [NAME [ARGUMENT…]]`, a script file, or what it reads."""
    inside = shell.inner()
    for i, argument in enumerate(arguments):
        if not argument.startswith("-"):
            content = shell.world.files.get(shell.path(argument))
            if content is None:
                if shell.world.is_guess:
                    raise UnknownProgram(argument)
                return (yield from refuse("sh", f"0: can't open '{argument}': No such file", code=2))
            inside.name, inside.arguments = argument, tuple(arguments[i + 1 :])
            return (yield from _until_exit(inside, content))
        if not argument.startswith("--"):
            inside.stops_at_failure |= "e" in argument
            if argument.endswith("c"):
                return (yield from _given(inside, arguments[i + 1 :]))
    if shell.world.is_guess:
        raise UnknownProgram("sh")  # it reads what nobody writes
    prompt = "\\w # " if shell.world.has_terminal else ""
    return (yield from read_on(inside, prompt))


def _given(inside: Shell, rest: Sequence[str]) -> Running:
    if not rest:
        if inside.world.is_guess:
            raise UnknownProgram("sh -c")
        return (yield from refuse("sh", "-c requires an argument", code=2))
    inside.name, inside.arguments = rest[1] if len(rest) > 1 else inside.name, tuple(rest[2:])
    return (yield from _until_exit(inside, rest[0]))


def _until_exit(inside: Shell, text: str) -> Running:
    try:
        return (yield from inside.read_and_run(text))
    except Exit as end:
        return end.code


def write_lines(lines: Sequence[str]) -> Generator[Effect, Any, None]:
    if lines:
        yield Write(STDOUT, "".join(lines))


PROGRAMS: Mapping[str, Program] = {
    **dict.fromkeys(SHELLS, _shell),
    "basename": says(lambda shell, arguments: (arguments or ("",))[0].rstrip("/").rpartition("/")[2]),
    "date": _date,
    "dirname": says(lambda shell, arguments: (arguments or ("",))[0].rpartition("/")[0] or "."),
    "echo": _echo,
    "env": _env,
    "false": ends(1),
    "hostname": says(_hostname),
    "id": says(_id),
    "kill": _kill,
    "nproc": says(lambda shell, arguments: "1"),
    "printenv": _printenv,
    "printf": _printf,
    "ps": _ps,
    "pwd": says(lambda shell, arguments: shell.directory),
    "seq": _seq,
    "sleep": _sleep,
    "true": ends(0),
    "uname": says(_uname),
    "which": _which,
    "whoami": says(lambda shell, arguments: shell.world.user_name),
}
