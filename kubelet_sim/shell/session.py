"""A shell that reads what somebody types, or a script that is sent to it, line by line."""

from __future__ import annotations

from kubelet_sim.shell.characters import Incomplete, ShellSyntaxError
from kubelet_sim.shell.effects import STDERR, Interrupted, ReadLine, Running, Write
from kubelet_sim.shell.interpreter import Exit, Shell
from kubelet_sim.shell.syntax import parse

INTERRUPTED = 130  # the exit code of what Ctrl-C ended
MAX_SCRIPT = 1 << 20  # of one command over several lines; longer ones are given up


def read_on(shell: Shell, prompt: str) -> Running:
    """Until `exit` or the end of the input. `prompt` with `\\w` for the directory; "": nobody is looking."""
    pending = ""
    while True:
        try:
            if prompt:
                yield Write(STDERR, "> " if pending else prompt.replace("\\w", shell.directory))
            line: str = yield ReadLine()
        except Interrupted:
            pending, shell.status = "", INTERRUPTED
            continue
        if not line:
            return shell.status
        pending += line
        if len(pending) < MAX_SCRIPT and _is_incomplete(pending):
            continue
        text, pending = pending, ""
        try:
            yield from shell.read_and_run(text)
        except Exit as end:
            return end.code
        except Interrupted:
            shell.status = INTERRUPTED


def _is_incomplete(text: str) -> bool:
    try:
        parse(text)
    except Incomplete:
        return True
    except ShellSyntaxError:
        return False
    return False
