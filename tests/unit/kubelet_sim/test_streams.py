"""What a client says on the channels of an exec or attach."""

from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.server.exchange import HungUp
from kubelet_sim.server.streams import RawStreams, Streams
from kubeloop.runtime.http_request import Request
from kubeloop.testing.virtual_time import run

_RESIZE = b"\x04"


class Said:
    """A socket whose other end says these messages and goes."""

    def __init__(self, *messages: bytes) -> None:
        self._messages = list(messages)

    async def receive(self) -> bytes | None:
        return self._messages.pop(0) if self._messages else None

    async def send(self, message: bytes) -> None:
        """Nobody looks."""


@pytest.mark.parametrize(
    "odd", [b'{"Width":1.5,"Height":2}', b'{"Width":-1,"Height":2}', b'{"Width":70000,"Height":2}', b"[]", b"{", b""]
)
def test_sizes_that_no_terminal_has_are_passed_over(odd: bytes) -> None:
    """The session goes on; the next good size counts."""
    sizes: list[tuple[int, int]] = []
    socket: Any = Said(_RESIZE + odd, _RESIZE + b'{"Width":80,"Height":24}')
    streams = RawStreams(socket, Request("POST", "/exec", {"tty": ["1"]}, {}, b""))
    streams.on_resize(lambda columns, rows: sizes.append((columns, rows)))

    async def main() -> None:
        try:
            await streams.run()
        except Exception as error:  # HungUp: the other end is gone
            assert type(error).__name__ == "HungUp"

    run(main())

    assert sizes == [(80, 24)]


def test_ctrl_c_takes_back_what_nobody_has_read() -> None:
    """Lines typed ahead are gone, as with a real terminal; what is typed then counts."""
    socket: Any = Said(b"\x00sleep 1000\rda", b"\x00te\r\x03", b"\x00pwd\r")
    streams = Streams(socket, Request("POST", "/exec", {"tty": ["1"], "input": ["1"]}, {}, b""))

    async def main() -> str:
        with pytest.raises(HungUp):
            await streams.run()
        return await streams.read_line()

    assert ("pwd\n", True) == (run(main()), streams.interrupted.is_set())
