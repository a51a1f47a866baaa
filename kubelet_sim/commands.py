"""When does a command end, and how? A guess from what is written in a container's command and args.

No command is run. The table knows programs that end at once in any image; a shell line is read as far as every word
of it is known. None means that nothing is known: such a container runs until it is told to stop.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ending:
    after_seconds: float
    exit_code: int


Rule = Callable[[Sequence[str]], Ending | None]

_AT_ONCE_SECONDS = 0.1
_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})
_UNITS_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_OPERATORS = ";&|<>()\n"
_REDIRECTION = ">"


def guess(command: Sequence[str]) -> Ending | None:
    """The ending of a command line (`command` and `args` of a container, joined)."""
    if not command:
        return None
    program = command[0].rpartition("/")[2]
    rule = RULES.get(program)
    return rule(command[1:]) if rule else None


def _ends(exit_code: int, after_seconds: float = _AT_ONCE_SECONDS) -> Rule:
    return lambda _: Ending(after_seconds, exit_code)


def _sleep(arguments: Sequence[str]) -> Ending | None:
    seconds = 0.0
    for argument in arguments:
        match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)([smhd]?)", argument)
        if match is None:
            return None  # `infinity`, or what only a shell could tell
        seconds += float(match[1]) * _UNITS_SECONDS[match[2]]
    return Ending(seconds, 0) if arguments else None


def _exit(arguments: Sequence[str]) -> Ending | None:
    if not arguments:
        return Ending(0, 0)
    return Ending(0, int(arguments[0]) % 256) if arguments[0].isdigit() else None


def _shell(arguments: Sequence[str]) -> Ending | None:
    """`-c SCRIPT`, with any other single-letter options before or around the c."""
    for i, argument in enumerate(arguments):
        if not argument.startswith("-"):
            return None  # a script file
        if not argument.startswith("--") and argument.endswith("c"):
            return _script(arguments[i + 1]) if i + 1 < len(arguments) else None
    return None


def _script(script: str) -> Ending | None:
    """Commands one after another, joined by `;`, `&&` or line ends."""
    seconds, exit_code, stops_at_failure = 0.0, 0, False
    for joined_by, words in _commands(script) or [("", ["unknown"])]:
        if exit_code and (joined_by == "&&" or stops_at_failure):
            continue
        if words[0] == "set":
            stops_at_failure = True
            continue
        ending = guess(words)
        if ending is None:
            return None
        seconds, exit_code = seconds + ending.after_seconds, ending.exit_code
        if words[0] == "exit":
            break
    return Ending(max(seconds, _AT_ONCE_SECONDS), exit_code)


def _commands(script: str) -> list[tuple[str, list[str]]]:
    """Each command with what joins it to the one before; nothing where only a real shell would know."""
    commands: list[tuple[str, list[str]]] = []
    joined_by, words = "", list[str]()
    for token in [*_tokens(script), ";"]:
        if set(token) <= {";", "\n"} or token == "&&":
            if words:
                commands.append((joined_by, words))
            joined_by, words = token, []
        elif set(token) <= {"<", ">"}:
            words.append(_REDIRECTION)
        elif words and words[-1] == _REDIRECTION:
            words.pop()  # the file
        elif set(token) <= set(_OPERATORS) or ("$" in token and not words):
            return []
        else:
            words.append(token)
    return commands


def _tokens(script: str) -> list[str]:
    lexer = shlex.shlex(script, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    try:
        return list(lexer)
    except ValueError:
        return ["unclosed quote"]


# Programs by their base name. A name is added here, and nowhere else.
RULES: dict[str, Rule] = {
    **dict.fromkeys(_SHELLS, _shell),
    "sleep": _sleep,
    "exit": _exit,
    "false": _ends(1),
    **dict.fromkeys(
        (
            "true",
            ":",
            "echo",
            "printf",
            "date",
            "env",
            "printenv",
            "id",
            "hostname",
            "uname",
            "whoami",
            "pwd",
            "ls",
            "seq",
            "touch",
            "mkdir",
            "chmod",
            "chown",
            "cp",
            "mv",
            "rm",
            "ln",
        ),
        _ends(0),
    ),
    "perl": _ends(0, after_seconds=1),  # the documentation's Job computes digits of pi with it
}

# Images whose own entry point ends at once.
IMAGES: dict[str, Ending] = {"hello-world": Ending(_AT_ONCE_SECONDS, 0)}
