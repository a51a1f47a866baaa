"""Real processes, and those of tests on virtual time, keep one contract."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import uvloop

from kubelet_sim.process.processes import STDERR, STDOUT, CannotStart, Command, LocalProcesses, Process, Processes
from kubeloop.container_processes import ROOT_VARIABLE, end_processes_of
from tests.contract.processes_suite import ProcessesSuite, everything
from tests.testkit.eventually import eventually
from tests.testkit.fake_processes import FakeProcesses


class TestFakeProcesses(ProcessesSuite):
    def make(self) -> Processes:
        return FakeProcesses()


class TestLocalProcesses(ProcessesSuite):
    def make(self) -> Processes:
        return LocalProcesses()

    def test_what_is_left_of_its_group_ends_with_it(self) -> None:
        """A child that it started, and that would go on."""
        code, output, _ = self.ran("sh", "-c", "sleep 1000 & echo $!")

        assert 0 == code
        eventually(lambda: not is_alive(int(output)), "the child is gone")

    def test_who_leaves_the_group_is_found_by_the_environment(self) -> None:
        """It keeps the root of the container it came from; others are left alone."""

        async def main() -> tuple[int, int]:
            mine, others = self.directory / "mine", self.directory / "mine-not"
            started = [await daemon(self.make(), self.directory, root) for root in (mine, others)]
            await self.make().end_strays(mine)
            return started[0], started[1]

        mine, other = self.run(main())
        try:
            eventually(lambda: not is_alive(mine), "the stray is gone")
            assert is_alive(other)
        finally:
            assert 1 == end_processes_of(self.directory)

    def test_a_terminal_is_one(self) -> None:
        """With a size that can change; what is typed is echoed, and Ctrl-D is the end."""

        async def main() -> tuple[int, bytes, bytes]:
            script = "read word; stty size; echo got $word; cat"
            process = await self.make().start(self.command("sh", "-c", script, has_terminal=True, has_stdin=True))
            process.resize(120, 40)
            await process.write(b"hello\n")
            reading = asyncio.ensure_future(everything(process, STDOUT))
            await process.close_stdin()
            code = await process.wait()
            found = await reading, await process.read(STDERR)
            process.close()
            return code, *found

        assert (0, b"hello\r\n40 120\r\ngot hello\r\n", b"") == self.run(main())

    def test_what_nobody_reads_any_more_is_dropped(self) -> None:
        """Writing to a process that has ended is no error."""

        async def main() -> int:
            process = await self.make().start(self.command("sh", "-c", "exec 0<&-; exit 3", has_stdin=True))
            code = await process.wait()
            await process.write(b"x" * 1_000_000)
            process.close()
            return code

        assert 3 == self.run(main())

    def test_what_cannot_be_executed_is_told(self) -> None:
        """A file without the right, and one that is no program."""
        plain, broken = self.directory / "plain", self.directory / "broken"
        plain.write_text("text")
        broken.write_bytes(b"\x00\x01")
        broken.chmod(0o755)

        with pytest.raises(CannotStart, match=r'^exec: "\./plain": permission denied$'):
            self.ran("./plain")
        with pytest.raises(CannotStart, match=r"^exec .*/broken: exec format error$"):
            self.ran("./broken")


class TestLocalProcessesOnUvloop(TestLocalProcesses):
    """What the kubelets' process runs on."""

    loop_factory = staticmethod(uvloop.new_event_loop)


def test_children_end_with_their_parent_however_it_ends(tmp_path: Path) -> None:
    """kill -9 of the process that started them."""
    script = f"""
import asyncio, os, pathlib
from kubelet_sim.process.processes import Command, LocalProcesses
async def main():
    command = Command(["sleep", "1000"], {{"PATH": os.defpath}}, pathlib.Path({str(tmp_path)!r}))
    process = await LocalProcesses().start(command)
    print(process.pid, flush=True)
    await process.wait()
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.send_signal(signal.SIGKILL)

    eventually(lambda: not is_alive(child), "the child is gone")


async def daemon(processes: Processes, directory: Path, root: Path) -> int:
    """The pid of a process that has left the group and the session of the one that started it."""
    environment = {"PATH": os.defpath, ROOT_VARIABLE: str(root)}
    script = "setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' & wait"
    process: Process = await processes.start(Command(["sh", "-c", script], environment, directory))
    pid = int(await process.read(STDOUT))
    process.signal(signal.SIGKILL)
    await process.wait()
    process.close()
    return pid


def is_alive(pid: int) -> bool:
    """Also of a process that is not our child; one that nobody has reaped yet is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
