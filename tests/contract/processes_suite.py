"""What every `Processes` must do. One is tested by a subclass that makes it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from kubelet_sim.process.processes import STDERR, STDOUT, CannotStart, Command, Process, Processes

Found = TypeVar("Found")


class ProcessesSuite:
    loop_factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop

    def make(self) -> Processes:
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path: Path) -> None:
        self.directory = tmp_path

    def command(self, *argv: str, **options: Any) -> Command:
        environment = {"PATH": os.defpath, **options.pop("environment", {})}
        return Command(argv, environment, self.directory, **options)

    @classmethod
    def run(cls, asked: Coroutine[Any, Any, Found]) -> Found:
        with asyncio.Runner(loop_factory=cls.loop_factory) as runner:
            return runner.run(asked)

    def ran(self, *argv: str, stdin: bytes | None = None, **options: Any) -> tuple[int, bytes, bytes]:
        """Exit code, standard output and standard error of a command that ends."""

        async def main() -> tuple[int, bytes, bytes]:
            process = await self.make().start(self.command(*argv, has_stdin=stdin is not None, **options))
            if stdin is not None:
                await process.write(stdin)
                await process.close_stdin()
            outputs = await asyncio.gather(everything(process, STDOUT), everything(process, STDERR))
            code = await process.wait()
            process.close()
            return code, *outputs

        return self.run(main())

    def test_a_process_has_an_exit_code_and_two_outputs(self) -> None:
        """They are kept apart."""
        assert (0, b"a b\n", b"") == self.ran("echo", "a", "b")
        assert (0, b"", b"why\n") == self.ran("sh", "-c", "echo why >&2")
        assert (7, b"", b"") == self.ran("sh", "-c", "exit 7")

    def test_it_has_the_environment_and_the_directory_that_it_was_given(self) -> None:
        """And nothing of this process's own."""
        _, environment, _ = self.ran("env", environment={"COLOUR": "blue"})
        _, directory, _ = self.ran("pwd")

        assert {f"PATH={os.defpath}", "COLOUR=blue"} == set(environment.decode().split("\n")[:-1])
        assert str(self.directory.resolve()) == str(Path(directory.decode().strip()).resolve())

    def test_it_reads_what_is_written_until_the_end(self) -> None:
        """Without standard input it is at the end at once."""
        assert (0, b"one\ntwo\n", b"") == self.ran("cat", stdin=b"one\ntwo\n")
        assert (0, b"", b"") == self.ran("cat")

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, 137)])
    def test_a_signal_ends_it(self, number: int, code: int) -> None:
        """The exit code says which; everybody who waits is told, and one more signal does nothing."""

        async def main() -> list[int]:
            process = await self.make().start(self.command("sleep", "1000"))
            waiting = [asyncio.ensure_future(process.wait()) for _ in range(2)]
            process.signal(number, group=number == signal.SIGKILL)
            codes = [*(await asyncio.gather(*waiting)), await process.wait()]
            process.signal(number)
            process.close()
            return codes

        assert [code] * 3 == self.run(main())

    def test_whoever_does_not_wait_any_more_does_not_end_it(self) -> None:
        """A wait that is cancelled leaves the process and the others who wait alone."""

        async def main() -> int:
            process = await self.make().start(self.command("sleep", "1000"))
            first, second = asyncio.ensure_future(process.wait()), asyncio.ensure_future(process.wait())
            await asyncio.sleep(0)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            process.signal(signal.SIGTERM)
            code = await second
            process.close()
            return code

        assert 143 == self.run(main())

    def test_what_is_closed_is_at_its_end(self) -> None:
        """Who reads is not left waiting for output that a grandchild may never write."""

        async def main() -> bytes:
            process = await self.make().start(self.command("sleep", "1000"))
            reading = asyncio.ensure_future(process.read(STDOUT))
            await asyncio.sleep(0)
            process.close()
            found = await reading
            process.signal(signal.SIGKILL)
            await process.wait()
            return found

        assert b"" == self.run(main())

    def test_a_program_that_is_not_there_is_told(self) -> None:
        """In a container runtime's words."""
        with pytest.raises(CannotStart, match=r'^exec: "no-such-program": executable file not found in \$PATH$'):
            self.ran("no-such-program")
        with pytest.raises(CannotStart, match=r'^exec: "/no/program": stat /no/program: no such file or directory$'):
            self.ran("/no/program")


async def everything(process: Process, stream: int) -> bytes:
    found = b""
    while data := await process.read(stream):
        found += data
    return found
