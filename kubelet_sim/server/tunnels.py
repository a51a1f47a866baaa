"""Port-forwarding to a pod that really runs: each of the client's connections is one to a port of loopback.

In frames of SPDY, or in the channels of a WebSocket: spdy_forwarding and channel_forwarding say how they look. Pods
share the ports of this machine, so only those that a container of the pod declares are reached: whoever may forward
ports is not let in to everything that listens here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kubelet_sim.server import spdy
from kubelet_sim.server.channel_forwarding import channels_of
from kubelet_sim.server.cluster import declared_ports
from kubelet_sim.server.exchange import HungUp
from kubelet_sim.server.pod_connection import refusal_of
from kubelet_sim.server.spdy_forwarding import MAX_STREAMS
from kubelet_sim.server.websocket import WebSocket
from kubeloop.apimachinery.meta import Object

if TYPE_CHECKING:
    from kubelet_sim.process.runtime import ProcessRuntime

HOST = "127.0.0.1"  # where pods that really run listen
_CHUNK = 32 * 1024
_MAX_WAITING = 64  # pieces that the pod has not read; then the client has to wait

Say = Callable[[bytes], Awaitable[None]]


@dataclass(slots=True)
class Tunnel:
    port: int
    is_declared: bool
    to_pod: asyncio.Queue[bytes] = field(default_factory=lambda: asyncio.Queue(_MAX_WAITING))  # b"": the end
    data_stream: int = 0
    error_stream: int = 0  # 0 until it is opened
    is_over: bool = False

    async def take(self, content: bytes) -> None:
        if not self.is_over:
            await self.to_pod.put(content)

    async def carry(self, say: Say) -> bool:
        """Both ways, until the pod closes; False where nobody listens."""
        try:
            if not self.is_declared:
                raise ConnectionRefusedError
            reader, writer = await asyncio.open_connection(HOST, self.port)
        except (OSError, OverflowError):
            self._end()
            return False
        feeding = asyncio.create_task(self._feed(writer))
        try:
            with suppress(ConnectionError):
                while data := await reader.read(_CHUNK):
                    await say(data)
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
            writer.close()
            self._end()
        return True

    async def _feed(self, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await self.to_pod.get():
                writer.write(piece)
                await writer.drain()
            writer.write_eof()

    def _end(self) -> None:
        """Nobody is to wait for room that will never be."""
        self.is_over = True
        while not self.to_pod.empty():
            self.to_pod.get_nowait()


def really_runs(real: ProcessRuntime | None, pod: Object) -> bool:
    """Whether somebody may listen on its ports."""
    return real is not None and any(map(real.runs, pod["spec"]["containers"]))


def _tunnel(pod: Object, port: int) -> Tunnel:
    return Tunnel(port, port in declared_ports(pod))


class SpdyTunnels:
    def __init__(self, socket: WebSocket, pod: Object) -> None:
        self._socket, self._pod = socket, pod
        self._decoder, self._encoder = spdy.Decoder(), spdy.Encoder()
        self._tunnels: dict[str, Tunnel] = {}  # by request id
        self._by_stream: dict[int, Tunnel] = {}  # streams for data

    async def run(self) -> None:
        """Until the client closes."""
        try:
            async with asyncio.TaskGroup() as tasks:
                while (message := await self._socket.receive()) is not None:
                    for event in self._decoder.feed(message):
                        await self._take(event, tasks)
                raise HungUp
        except* (spdy.SpdyError, HungUp, OSError):
            pass

    async def _take(self, event: spdy.Event, tasks: asyncio.TaskGroup) -> None:
        match event:
            case spdy.Opened():
                await self._open(event, tasks)
            case spdy.Data(stream, content, is_done):
                await self._hand_on(stream, content, is_done)
            case spdy.Reset(stream):
                await self._hand_on(stream, b"", True)
            case spdy.Ping(frame):
                await self._socket.send(frame)

    async def _open(self, opened: spdy.Opened, tasks: asyncio.TaskGroup) -> None:
        """The stream for errors may come before the one for data, or after it."""
        if len(self._tunnels) >= MAX_STREAMS:
            raise spdy.SpdyError("too many streams")
        headers = opened.headers
        port, request_id = headers.get("port", ""), headers.get("requestid", "")
        tunnel = self._tunnels.setdefault(request_id, _tunnel(self._pod, int(port) if port.isdigit() else 0))
        await self._socket.send(self._encoder.reply(opened.stream))
        if headers.get("streamtype") == "error":
            tunnel.error_stream = opened.stream
        else:
            tunnel.data_stream = opened.stream
            self._by_stream[opened.stream] = tunnel
            tasks.create_task(self._carry(request_id, tunnel), name=f"forward to {port}")

    async def _hand_on(self, stream: int, content: bytes, is_done: bool) -> None:
        tunnel = self._by_stream.get(stream)
        if tunnel is None:
            return
        if content:
            await tunnel.take(content)
        if is_done:
            await tunnel.take(b"")

    async def _carry(self, request_id: str, tunnel: Tunnel) -> None:
        async def say(content: bytes) -> None:
            await self._socket.send(spdy.data(tunnel.data_stream, content))

        error = "" if await tunnel.carry(say) else refusal_of(self._pod, tunnel.port)
        self._tunnels.pop(request_id, None)
        self._by_stream.pop(tunnel.data_stream, None)
        if tunnel.error_stream:
            await self._socket.send(spdy.data(tunnel.error_stream, error.encode(), is_done=True))
        await self._socket.send(spdy.data(tunnel.data_stream, b"", is_done=True))


class ChannelTunnels:
    def __init__(self, socket: WebSocket, pod: Object, ports: Sequence[int]) -> None:
        self._socket, self._pod, self._ports = socket, pod, ports
        self._tunnels = [_tunnel(pod, port) for port in ports]

    async def run(self) -> None:
        """Until the client closes, or the pod has closed every connection."""
        try:
            for message in channels_of(self._ports):
                await self._socket.send(message)
            async with asyncio.TaskGroup() as tasks:
                carrying = [tasks.create_task(self._carry(index, tunnel)) for index, tunnel in enumerate(self._tunnels)]
                reading = tasks.create_task(self._read())
                await asyncio.wait(carrying)
                reading.cancel()
            await self._socket.close()
            await self._socket.until_closed()
        except* (HungUp, OSError):
            pass

    async def _read(self) -> None:
        while (message := await self._socket.receive()) is not None:
            index, is_error_channel = divmod(message[0], 2) if message else (len(self._tunnels), 0)
            if not is_error_channel and index < len(self._tunnels):
                await self._tunnels[index].take(message[1:])
        raise HungUp

    async def _carry(self, index: int, tunnel: Tunnel) -> None:
        async def say(content: bytes) -> None:
            await self._socket.send(bytes([2 * index]) + content)

        if not await tunnel.carry(say):
            await self._socket.send(bytes([2 * index + 1]) + refusal_of(self._pod, tunnel.port).encode())
