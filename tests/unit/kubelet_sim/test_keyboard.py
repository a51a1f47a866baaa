"""What a simulated terminal makes of keys."""

from __future__ import annotations

import pytest

from kubelet_sim.server.keyboard import Keyboard

UP, DOWN, LEFT, DELETE, HOME = b"\x1b[A", b"\x1b[B", b"\x1b[D", b"\x1b[3~", b"\x1bOH"


@pytest.mark.parametrize(
    ("keys", "done", "shown"),
    [
        (b"ls\r", b"ls\n", b"ls\r\n"),
        (b"lx\x7fs\r", b"ls\n", b"lx\b \bs\r\n"),
        (b"\x7f\x08", b"", b""),
        (b"\x04", b"\x04", b""),
        (b"l\x04s\r", b"ls\n", b"ls\r\n"),
        (b"a" + LEFT + DELETE + HOME + b"\x1bb" + b"b\r", b"ab\n", b"ab\r\n"),
    ],
)
def test_lines_are_shown_while_they_are_typed(keys: bytes, done: bytes, shown: bytes) -> None:
    """And handed on when they are done; keys that lead nowhere are passed over, in one piece or byte by byte."""
    assert (done, shown, False) == Keyboard().press(keys)

    slowly = Keyboard()
    pieces = [slowly.press(bytes([key])) for key in keys]
    assert (done, shown) == (b"".join(one.done for one in pieces), b"".join(one.shown for one in pieces))


def test_lines_come_back() -> None:
    """Up and down, as far as there are lines; one that was changed is what was typed."""
    keyboard = Keyboard()
    keyboard.press(b"first\rsecond\r\r")

    assert b"second" == keyboard.press(UP).shown
    assert b"\b \b" * 6 + b"first" == keyboard.press(UP).shown
    assert b"" == keyboard.press(UP).shown
    assert b"first!\n" == keyboard.press(b"!\r").done
    assert (b"first!\n", b"") == (keyboard.press(UP + b"\r").done, keyboard.press(DOWN).shown)
    keyboard.press(UP)
    assert b"\b \b" * 6 == keyboard.press(DOWN).shown


def test_an_interrupt_begins_a_new_line() -> None:
    """What was typed is dropped, and is not among the lines that come back."""
    keyboard = Keyboard()

    assert (b"", b"oops^C\r\n", True) == keyboard.press(b"oops\x03")
    assert b"pwd\n" == keyboard.press(b"true\r\x03pwd\r").done
    assert (b"ls\n", b"") == (keyboard.press(b"ls\r").done, keyboard.press(DOWN).shown)
    assert [b"ls", b"\b \b" * 2 + b"pwd"] == [keyboard.press(UP).shown, keyboard.press(UP).shown]
