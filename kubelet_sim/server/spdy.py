"""Frames of SPDY/3.1, as far as port-forwarding speaks it: streams with headers, data, pings. No I/O.

Both ends of a Kubernetes port-forward leave flow control alone (moby/spdystream), and so does this. Layouts:
draft-mbelshe-httpbis-spdy-00, chapter 2.6.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kubelet_sim.server.spdy_dictionary import DICTIONARY

_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING, _GO_AWAY = 1, 2, 3, 6, 7
_VERSION = 3
_FIN = 1
_HEAD_BYTES = 8
_ID = 0x7FFFFFFF
MAX_FRAME_BYTES = 1 << 20
MAX_HEADER_BYTES = 16 * 1024


class SpdyError(ValueError):
    """The other end does not speak SPDY/3.1, or says too much at once."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The other end has opened a stream; header names are in lower case."""

    stream: int
    headers: Mapping[str, str]
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class Data:
    """`is_done`: the other end says no more on this stream."""

    stream: int
    data: bytes
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    """The stream is given up."""

    stream: int


@dataclass(frozen=True, slots=True)
class Ping:
    """To be sent back as it is."""

    frame: bytes


@dataclass(frozen=True, slots=True)
class GoAway:
    """The other end is about to leave."""


Event = Opened | Data | Reset | Ping | GoAway


@dataclass(slots=True)
class Decoder:
    """Bytes in, events out. Header blocks of a connection share one stream of compression."""

    _buffer: bytearray = field(default_factory=bytearray)
    _headers: zlib._Decompress = field(default_factory=lambda: zlib.decompressobj(zdict=DICTIONARY))

    def feed(self, data: bytes) -> Iterator[Event]:
        """Raises SpdyError."""
        self._buffer += data
        while len(self._buffer) >= _HEAD_BYTES:
            size = int.from_bytes(self._buffer[5:8], "big")
            if size > MAX_FRAME_BYTES:
                raise SpdyError(f"a frame of {size} bytes")
            if len(self._buffer) < _HEAD_BYTES + size:
                return
            frame = bytes(self._buffer[: _HEAD_BYTES + size])
            del self._buffer[: _HEAD_BYTES + size]
            event = self._event(frame)
            if event is not None:
                yield event

    def _event(self, frame: bytes) -> Event | None:
        word, flags, payload = int.from_bytes(frame[:4], "big"), frame[4], frame[_HEAD_BYTES:]
        is_done = bool(flags & _FIN)
        if not word >> 31:
            return Data(word & _ID, payload, is_done)
        if (word >> 16) & 0x7FFF != _VERSION:
            raise SpdyError("not SPDY/3")
        kind = word & 0xFFFF
        stream = int.from_bytes(payload[:4], "big") & _ID
        if kind == _SYN_STREAM:
            return Opened(stream, self._header_block(payload[10:]), is_done)
        if kind == _RST_STREAM:
            return Reset(stream)
        if kind == _PING:
            return Ping(frame)
        return GoAway() if kind == _GO_AWAY else None  # settings and windows change nothing here

    def _header_block(self, block: bytes) -> Mapping[str, str]:
        try:
            plain = self._headers.decompress(block, MAX_HEADER_BYTES)
            if self._headers.unconsumed_tail:
                raise SpdyError("too many headers")
            (count,) = struct.unpack_from(">I", plain)
            at, headers = 4, {}
            for _ in range(count):
                name, at = _text(plain, at)
                headers[name], at = _text(plain, at)
            return headers
        except (zlib.error, struct.error) as error:
            raise SpdyError("headers cannot be read") from error


def _text(plain: bytes, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from(">I", plain, at)
    end = at + 4 + size
    if end > len(plain):
        raise SpdyError("headers end early")
    return plain[at + 4 : end].decode("latin-1"), end


class Encoder:
    """Frames to send."""

    def __init__(self) -> None:
        self._headers = zlib.compressobj(zdict=DICTIONARY)

    def reply(self, stream: int) -> bytes:
        """A stream is accepted; there is nothing to be said about it."""
        block = self._block({})
        return _control(_SYN_REPLY, struct.pack(">I", stream) + block)

    def open(self, stream: int, headers: Mapping[str, str]) -> bytes:
        return _control(_SYN_STREAM, struct.pack(">IIH", stream, 0, 0) + self._block(headers))

    def _block(self, headers: Mapping[str, str]) -> bytes:
        plain = struct.pack(">I", len(headers))
        for text in (text for pair in headers.items() for text in pair):
            plain += struct.pack(">I", len(text)) + text.encode("latin-1")
        return self._headers.compress(plain) + self._headers.flush(zlib.Z_SYNC_FLUSH)


def data(stream: int, content: bytes, is_done: bool = False) -> bytes:
    return struct.pack(">IB", stream, _FIN if is_done else 0) + len(content).to_bytes(3, "big") + content


def _control(kind: int, payload: bytes) -> bytes:
    return struct.pack(">HHB", 0x8000 | _VERSION, kind, 0) + len(payload).to_bytes(3, "big") + payload
