"""A WebSocket on a connection whose request has been read: messages in, messages out.

The protocol is that of the library `websockets`, without its own connections. It takes 50 ms to load, so it is loaded
when the first WebSocket is asked for.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubelet_sim.server.exchange import Exchange, HungUp, Refused
from kubeloop.runtime.http_request import Request

if TYPE_CHECKING:
    from websockets.server import ServerProtocol

MAX_MESSAGE_BYTES = 1 << 20
_CHUNK = 64 * 1024
NORMAL_CLOSURE = 1000
_GOODBYE_SECONDS = 10


def offered_subprotocols(request: Request) -> list[str]:
    """Those that a client would speak, its first choice first; [""] where it names none."""
    return [name.strip() for name in request.headers.get("sec-websocket-protocol", "").split(",")]


class WebSocket:
    """`subprotocol`: the chosen. With base64 in its name messages are text: the channel as a digit, then base64."""

    def __init__(self, exchange: Exchange, protocol: ServerProtocol, subprotocol: str) -> None:
        self._exchange, self._protocol = exchange, protocol
        self.subprotocol, self._is_base64 = subprotocol, "base64" in subprotocol
        self._messages: list[bytes] = []  # received, at most those of one chunk
        self._begun = b""  # of a message in several frames
        self._is_closed = False

    @classmethod
    async def accept(cls, request: Request, exchange: Exchange, subprotocols: Sequence[str]) -> WebSocket:
        """With the first of the client's subprotocols that is known, "" for none. Raises Refused, or HungUp."""
        from websockets.http11 import Request as Handshake
        from websockets.server import ServerProtocol

        offered = offered_subprotocols(request)
        if request.headers.get("upgrade", "").lower() != "websocket":
            raise Refused(400, "only WebSockets are upgraded")
        chosen = next((name for name in offered if name in subprotocols), None)
        if chosen is None:
            raise Refused(
                403, f"unable to negotiate protocol: client supports {offered}, server accepts {subprotocols}"
            )
        protocol = ServerProtocol(max_size=MAX_MESSAGE_BYTES)
        protocol.receive_data(request.head)
        handshake = protocol.events_received()[0]
        assert isinstance(handshake, Handshake)
        # Chosen here: the names that Kubernetes gives its protocols are no tokens of HTTP (`SPDY/3.1+…`).
        if chosen:
            del handshake.headers["Sec-WebSocket-Protocol"]
        response = protocol.accept(handshake)
        if response.status_code == 101 and chosen:
            response.headers["Sec-WebSocket-Protocol"] = chosen
        protocol.send_response(response)
        await _flush(exchange, protocol)
        if response.status_code != 101:
            raise HungUp
        return cls(exchange, protocol, chosen)

    async def receive(self) -> bytes | None:
        """The next message; None when the other end has closed."""
        while not self._messages:
            if self._is_closed:
                return None
            data = await self._exchange.reader.read(_CHUNK)
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
                self._is_closed = True
            self._take()
            await _flush(self._exchange, self._protocol)
        return self._messages.pop(0)

    def _take(self) -> None:
        from websockets.frames import Frame, Opcode

        for event in self._protocol.events_received():
            assert isinstance(event, Frame)
            if event.opcode is Opcode.CLOSE:
                self._is_closed = True
            elif event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                self._begun += bytes(event.data)
                if event.fin:
                    message = _from_base64(self._begun) if self._is_base64 else self._begun
                    if message is not None:
                        self._messages.append(message)
                    self._begun = b""

    async def send(self, data: bytes) -> None:
        """Waits while the other end is slow. HungUp where it has closed."""
        if self._is_closed:
            raise HungUp
        if self._is_base64:
            self._protocol.send_text(bytes([data[0] + ord("0")]) + base64.b64encode(data[1:]))
        else:
            self._protocol.send_binary(data)
        await _flush(self._exchange, self._protocol)

    async def ping(self) -> None:
        """Learn whether the other end is there, without reading: OSError, once it has been gone for a while."""
        self._protocol.send_ping(b"")
        await _flush(self._exchange, self._protocol)

    async def close(self) -> None:
        if not self._is_closed:
            self._protocol.send_close(NORMAL_CLOSURE)
            await _flush(self._exchange, self._protocol)

    async def until_closed(self) -> None:
        """Wait a while for the other end's goodbye: some clients drop what they have not read when a line breaks."""
        try:
            async with asyncio.timeout(_GOODBYE_SECONDS):
                while await self.receive() is not None:
                    pass
        except TimeoutError:
            raise HungUp from None


async def _flush(exchange: Exchange, protocol: ServerProtocol) -> None:
    data = b"".join(protocol.data_to_send())
    if data:
        await exchange.write_raw(data)


def _from_base64(message: bytes) -> bytes | None:
    """None where it is something else, which is passed over."""
    try:
        return bytes([(message[0] - ord("0")) & 0xFF]) + base64.b64decode(message[1:], validate=True)
    except (IndexError, binascii.Error):
        return None
