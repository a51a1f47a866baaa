"""The streams of an exec or attach over a WebSocket: stdin, stdout, stderr, and how it ended.

Facts: apimachinery/pkg/util/remotecommand/constants.go and cri-streaming/pkg/streaming/remotecommand/websocket.go
(v1.36): the first byte of a message is its channel; in v5 the channel 255 says which one is closed. Before v4 only a
failure is told, as text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import orjson

from kubelet_sim.server.exchange import HungUp
from kubelet_sim.server.keyboard import END, Keyboard
from kubelet_sim.server.websocket import WebSocket
from kubelet_sim.shell.effects import STDOUT
from kubeloop.apimachinery.meta import Object
from kubeloop.runtime.http_request import Request

_V5 = "v5.channel.k8s.io"
_WITH_STATUS = (_V5, "v4.channel.k8s.io", "v4.base64.channel.k8s.io")
SUBPROTOCOLS = (*_WITH_STATUS, "channel.k8s.io", "base64.channel.k8s.io", "")

_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255
_MOST_CELLS = 0xFFFF  # a side of a terminal is 16 bits
_MAX_WAITING = 64  # pieces of input nobody has read yet; then the other end has to wait
_PING_SECONDS = 1.0  # between signs of life asked of an end that waits


class Streams:
    """`has_terminal`: what is typed is shown, and both outputs are one."""

    def __init__(self, socket: WebSocket, request: Request) -> None:
        self._socket = socket
        self.has_stdin, self._has_stdout, self._has_stderr, self.has_terminal = (
            request.first(name) == "1" for name in ("input", "output", "error", "tty")
        )
        self._input: asyncio.Queue[bytes] = asyncio.Queue(_MAX_WAITING)  # b"": the end
        self._pending = b""
        self.is_closed = not self.has_stdin  # nothing more will come
        self._drops_input = False
        self._keyboard = Keyboard()
        self.interrupted = asyncio.Event()

    async def begin(self) -> None:
        """An empty message: the command is about to start."""
        channel = _STDOUT if self._has_stdout else _STDERR if self._has_stderr else _ERROR
        await self._socket.send(bytes([channel]))

    def drop_input(self) -> None:
        """Nobody will read it."""
        self._drops_input = True
        self._forget_input()

    def _forget_input(self) -> None:
        self._pending = b""
        while not self._input.empty():
            self._input.get_nowait()

    async def run(self) -> None:
        """Take in what comes. Raises HungUp or OSError when the other end is gone."""
        while (message := await self._socket.receive()) is not None:
            channel, data = (message[0], message[1:]) if message else (-1, b"")
            if self._drops_input:
                continue
            if channel == _RESIZE:
                self._resized(data)
            elif channel == _CLOSE and data[:1] == bytes([_STDIN]) and self._socket.subprotocol == _V5:
                await self._hand_on(b"")
            elif channel == _STDIN and (piece := await self._typed(data) if self.has_terminal else data):
                await self._hand_on(piece)
        raise HungUp

    async def _hand_on(self, piece: bytes) -> None:
        """While nobody takes it nothing is read either, and only writing shows whether somebody is still there."""
        while True:
            try:
                async with asyncio.timeout(_PING_SECONDS):
                    await self._input.put(piece)
                return
            except TimeoutError:
                await self._socket.ping()

    async def write(self, stream: int, text: str) -> None:
        if self.has_terminal:
            stream, text = STDOUT, text.replace("\n", "\r\n")
        await self.write_raw(stream, text.encode("utf-8", "replace"))

    async def write_raw(self, stream: int, data: bytes) -> None:
        if (self._has_stdout if stream == STDOUT else self._has_stderr) and data:
            await self._socket.send(bytes([stream]) + data)

    async def read_raw(self) -> bytes:
        """What has come next; b"" when there is no more."""
        if self.is_closed:
            return b""
        piece = await self._input.get()
        self.is_closed = not piece
        return piece

    async def read_line(self) -> str:
        """With its end; "" when there is no more, or somebody at a terminal has pressed Ctrl-D."""
        while b"\n" not in self._pending and not self._is_end_typed() and not self.is_closed:
            piece = await self._input.get()
            self.is_closed = not piece
            self._pending += piece
        if self._is_end_typed():
            self._pending = self._pending[1:]
            return ""
        line, end, self._pending = self._pending.partition(b"\n")
        return (line + end).decode("utf-8", "replace")

    def _is_end_typed(self) -> bool:
        return self.has_terminal and self._pending[:1] == bytes([END])

    async def end(self, status: Object) -> None:
        if self._socket.subprotocol in _WITH_STATUS:
            await self._socket.send(bytes([_ERROR]) + orjson.dumps(status))
        elif status["status"] != "Success":
            await self._socket.send(bytes([_ERROR]) + status["message"].encode())
        await self._socket.close()

    def _resized(self, data: bytes) -> None:
        """A simulated terminal has no size."""

    async def _typed(self, data: bytes) -> bytes:
        """What a terminal makes of keys: they are shown, and lines are handed on when they are done."""
        typed = self._keyboard.press(data)
        if typed.interrupts:
            self._forget_input()
            self.interrupted.set()
        if typed.shown:
            await self._socket.send(bytes([STDOUT]) + typed.shown)
        return typed.done


class RawStreams(Streams):
    """For a process that has a terminal of its own: keys go there as they are, and so do changes of its size."""

    def __init__(self, socket: WebSocket, request: Request) -> None:
        super().__init__(socket, request)
        self._resize: Callable[[int, int], None] | None = None
        self._size: tuple[int, int] | None = None

    def on_resize(self, resize: Callable[[int, int], None]) -> None:
        """Called with columns and rows, also with those that came before."""
        self._resize = resize
        if self._size is not None:
            resize(*self._size)

    def _resized(self, data: bytes) -> None:
        try:
            size = orjson.loads(data)
            self._size = (_cells(size["Width"]), _cells(size["Height"]))
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return  # as a kubelet, which stops listening to sizes
        if self._resize is not None:
            self._resize(*self._size)

    async def _typed(self, data: bytes) -> bytes:
        return data


def _cells(number: object) -> int:
    if not isinstance(number, int) or not 0 <= number <= _MOST_CELLS:
        raise ValueError(number)
    return number


def exit_status(code: int) -> Object:
    """What a kubelet says of a command that has ended."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def failure(why: str) -> Object:
    """Of a command that could not be started."""
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"Internal error occurred: {why}",
        "reason": "InternalError",
        "details": {"causes": [{"message": why}]},
        "code": 500,
    }
