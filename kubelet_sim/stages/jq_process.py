"""jq in a process of its own, as a program in jq may never end, or fill the memory: such a one ends with it.

What an evaluation may use is counted in CPU time, so a machine that is busy with other things makes nothing fail. The
file is run as a script, by a Python that sees no more than its libraries: one line of JSON for each question and
answer.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import IO, Any

MOST_SECONDS = 2  # of CPU, for one evaluation
MOST_BYTES = 1 << 30  # of addresses
MOST_RESULTS = 10_000
MAX_PROGRAMS = 500  # compiled ones; full: all are forgotten

Found = list[Any]


class JqProcess:
    """Started with the first question, and again after one that it did not survive."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def find(self, program: str, text: str) -> Found | None:
        """What the program, which compiles, finds in a document of JSON; nothing where it fails.

        None: it took more than it may, or more memory than there is.
        """
        if self._process is not None and self._process.poll() is not None:
            self.close()
        process = self._process = self._process or _started()
        assert process.stdin and process.stdout
        try:
            process.stdin.write(json.dumps([program, text]).encode() + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = b""
        if not answer.endswith(b"\n"):
            self.close()
            return None
        found: Found = json.loads(answer)
        return found

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def _started() -> subprocess.Popen[bytes]:
    """In a session of its own: Ctrl-C is not for it. It ends with its standard input."""
    command = [sys.executable, "-I", __file__]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        start_new_session=True,
    )


def _serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    import resource
    from itertools import islice

    import jq

    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    programs: dict[str, Any] = {}
    for line in questions:
        program, text = json.loads(line)
        used = resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + MOST_SECONDS, hard))
        if program not in programs:
            if len(programs) >= MAX_PROGRAMS:
                programs.clear()
            programs[program] = jq.compile(program)
        try:
            found = list(islice(programs[program].input_text(text), MOST_RESULTS))
        except ValueError:
            found = []
        answers.write(json.dumps(found).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    _serve(sys.stdin.buffer, sys.stdout.buffer)
