"""Shells that somebody types to, and what becomes of them when he goes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubelet_sim.server.consoles import Console
from kubelet_sim.server.driving import Driver
from kubelet_sim.shell.world import World
from kubeloop.testing.virtual_time import run

DRIVER: Any = Driver(None, "default", lambda signal: None)  # type: ignore[arg-type]


class Typist:
    """Whoever is attached: types some lines, and then waits. `is_closed`: or closes his input."""

    has_stdin, has_terminal = True, True

    def __init__(self, *lines: str, is_closed: bool = False) -> None:
        self._lines, self.is_closed = list(lines), is_closed
        self.interrupted = asyncio.Event()
        self.shown = ""

    async def read_line(self) -> str:
        if self._lines:
            return self._lines.pop(0) + "\n"
        if not self.is_closed:
            await asyncio.Event().wait()
        return ""

    async def write(self, stream: int, text: str) -> None:
        self.shown += text


def a_console(is_once: bool = False) -> Console:
    return Console(World(has_terminal=True), ["sh"], is_once)


async def for_a_while(console: Console, typist: Typist) -> int | None:
    """None where the shell goes on."""
    try:
        async with asyncio.timeout(60):
            return await console.attach(typist, DRIVER)  # type: ignore[arg-type]
    except TimeoutError:
        return None


def test_a_shell_goes_on_for_the_next_one() -> None:
    """With its variables; and its exit code is the container's."""

    async def main() -> None:
        console = a_console()
        first, second = Typist("X=7"), Typist("echo $X", "exit 3")

        assert None is await for_a_while(console, first)
        assert 3 == await for_a_while(console, second)
        assert ("/ # / # ", "7\n/ # ") == (first.shown, second.shown)

    run(main())


def test_one_types_and_others_look_on() -> None:
    """Who comes second has the keyboard when the first is gone."""

    async def main() -> None:
        console = a_console()
        first, second = Typist("echo one"), Typist("echo two")
        await asyncio.gather(for_a_while(console, first), for_a_while(console, second))

        assert "/ # one\n/ # " == first.shown
        assert first.shown == second.shown
        third = Typist("echo three")
        await for_a_while(console, third)
        assert "three\n/ # " == third.shown

    run(main())


def test_a_closed_input_ends_only_who_has_no_other() -> None:
    """With stdinOnce the shell reads the end; otherwise the container's own standard input stays open."""

    async def main() -> None:
        assert 0 == await for_a_while(a_console(is_once=True), Typist("true", is_closed=True))
        assert None is await for_a_while(a_console(), Typist("true", is_closed=True))

    run(main())


def test_who_goes_for_good_leaves_an_end() -> None:
    """A shell at its prompt ends as it would with its input, one that is busy is hung up on."""

    async def main() -> None:
        waiting, busy = a_console(is_once=True), a_console(is_once=True)
        await for_a_while(waiting, Typist("false"))
        await for_a_while(busy, Typist("sleep 1000"))

        assert (1, 129) == (waiting.hang_up(), busy.hang_up())

    run(main())


class Interrupting(Typist):
    """Presses Ctrl-C the first time that a prompt is written: before it is shown, or before anything is typed."""

    def __init__(self, *lines: str, is_shown: bool) -> None:
        super().__init__(*lines)
        self._is_shown, self._has_pressed = is_shown, False

    async def write(self, stream: int, text: str) -> None:
        await super().write(stream, text)
        if not self._is_shown:
            self._press()

    async def read_line(self) -> str:
        self._press()
        return await super().read_line()

    def _press(self) -> None:
        if not self._has_pressed:
            self._has_pressed = True
            self.interrupted.set()


@pytest.mark.parametrize("is_shown", [True, False])
def test_ctrl_c_at_a_prompt_is_the_end_of_nothing(is_shown: bool) -> None:
    """The shell asks again; what is left is the exit code 130, as in every shell."""

    async def main() -> None:
        typist = Interrupting(*["echo said $?"] * 2, is_shown=is_shown)

        assert None is await for_a_while(a_console(), typist)
        assert "said 130\n" in typist.shown

    run(main())
