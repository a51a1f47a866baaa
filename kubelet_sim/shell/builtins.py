"""What the shell does itself: everything that changes the shell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kubelet_sim.shell.effects import STDERR, STDOUT, ReadLine, Running, Write
from kubelet_sim.shell.interpreter import NOT_FOUND, Exit, Jump, Shell
from kubelet_sim.shell.programs import refuse
from kubelet_sim.shell.world import UnknownProgram

Builtin = Callable[[Shell, Sequence[str]], Running]


def _exit(shell: Shell, arguments: Sequence[str]) -> Running:
    if arguments and not arguments[0].isdigit():
        raise UnknownProgram(f"exit {arguments[0]}") if shell.world.is_guess else Exit(2)
    raise Exit(int(arguments[0]) if arguments else shell.status)
    yield  # a generator like the others


def _jump(goes_on: bool) -> Builtin:
    def jump(shell: Shell, arguments: Sequence[str]) -> Running:
        levels = int(arguments[0]) if arguments and arguments[0].isdigit() else 1
        raise Jump(levels, goes_on)
        yield

    return jump


def _set(shell: Shell, arguments: Sequence[str]) -> Running:
    for i, option in enumerate(arguments):
        if option == "--":
            shell.arguments = tuple(arguments[i + 1 :])
            break
        if option[0] in "-+" and "e" in option:
            shell.stops_at_failure = option[0] == "-"
    return 0
    yield


def _shift(shell: Shell, arguments: Sequence[str]) -> Running:
    count = int(arguments[0]) if arguments and arguments[0].isdigit() else 1
    if count > len(shell.arguments):
        return 1
    shell.arguments = shell.arguments[count:]
    return 0
    yield


def _cd(shell: Shell, arguments: Sequence[str]) -> Running:
    wanted = arguments[0] if arguments else shell.value("HOME") or "/root"
    path = shell.path(wanted)
    if not shell.world.is_directory(path) and not shell.world.is_guess:
        return (yield from refuse("sh", f"cd: can't cd to {wanted}: No such file or directory"))
    shell.directory = path
    return 0


def _export(shell: Shell, arguments: Sequence[str]) -> Running:
    for argument in arguments:
        name, is_set, text = argument.partition("=")
        if is_set:
            shell.set(name, text)
        shell.exported.add(name)
        shell.variables.setdefault(name, "")
    return 0
    yield


def _unset(shell: Shell, arguments: Sequence[str]) -> Running:
    for name in arguments:
        shell.variables.pop(name, None)
        shell.exported.discard(name)
    return 0
    yield


def _eval(shell: Shell, arguments: Sequence[str]) -> Running:
    return (yield from shell.read_and_run(" ".join(arguments)))


def _exec(shell: Shell, arguments: Sequence[str]) -> Running:
    if not arguments:
        return 0
    raise Exit((yield from shell.call(arguments)))


def _read(shell: Shell, arguments: Sequence[str]) -> Running:
    names = [name for name in arguments if not name.startswith("-")] or ["REPLY"]
    line: str = yield ReadLine()
    pieces = line.rstrip("\n").split(maxsplit=len(names) - 1) if len(names) > 1 else [line.rstrip("\n").strip()]
    for i, name in enumerate(names):
        shell.set(name, pieces[i] if i < len(pieces) else "")
    return 0 if line.endswith("\n") else 1


def _command(shell: Shell, arguments: Sequence[str]) -> Running:
    """`command -v NAME`: whether there is such a program."""
    names = [name for name in arguments if not name.startswith("-")]
    if len(names) == len(arguments):
        return (yield from shell.call(arguments)) if arguments else 0
    for name in names:
        if name not in BUILTINS and shell.find(name) is None:
            return NOT_FOUND
        yield Write(STDOUT, f"{name if name in BUILTINS else f'/bin/{name}'}\n")
    return 0


def _type(shell: Shell, arguments: Sequence[str]) -> Running:
    code = 0
    for name in arguments:
        if name in BUILTINS:
            yield Write(STDOUT, f"{name} is a shell builtin\n")
        elif shell.find(name) is not None:
            yield Write(STDOUT, f"{name} is /bin/{name}\n")
        else:
            yield Write(STDERR, f"{name}: not found\n")
            code = NOT_FOUND
    return code


def _source(shell: Shell, arguments: Sequence[str]) -> Running:
    content = shell.world.files.get(shell.path(arguments[0])) if arguments else None
    if content is None:
        return (yield from refuse("sh", f".: can't open '{' '.join(arguments[:1])}'", code=2))
    return (yield from shell.read_and_run(content))


def _nothing(shell: Shell, arguments: Sequence[str]) -> Running:
    return 0
    yield


def _wait(shell: Shell, arguments: Sequence[str]) -> Running:
    """There are no jobs to wait for."""
    if arguments:
        yield Write(STDERR, f"sh: wait: no such job: {arguments[0]}\n")
        return 127
    return 0


BUILTINS: Mapping[str, Builtin] = {
    ":": _nothing,
    ".": _source,
    "break": _jump(goes_on=False),
    "cd": _cd,
    "command": _command,
    "continue": _jump(goes_on=True),
    "eval": _eval,
    "exec": _exec,
    "exit": _exit,
    "export": _export,
    "read": _read,
    "set": _set,
    "shift": _shift,
    "trap": _nothing,
    "type": _type,
    "umask": _nothing,
    "unset": _unset,
    "wait": _wait,
}
