"""Port-forwarding in frames of SPDY, as kubectl does it through a WebSocket.

Facts: pkg/kubelet streaming/portforward/httpstream.go and client-go/tools/portforward (v1.36). Each connection is two
streams with the same request id: one for data, and one on which errors are told.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubelet_sim.server import spdy
from kubelet_sim.server.pod_connection import Look, PodConnection
from kubeloop.apimachinery.meta import Object

SUBPROTOCOLS = ("SPDY/3.1+portforward.k8s.io",)

MAX_STREAMS = 1000  # open at once on one connection; more end it


@dataclass(slots=True)
class _Stream:
    kind: str
    request_id: str
    connection: PodConnection


class SpdyForwarding:
    """One client's connections to the pod: bytes in, frames to send out."""

    is_over = False  # the client ends it

    def __init__(self, pod: Object, look: Look) -> None:
        self._pod, self._look = pod, look
        self._decoder, self._encoder = spdy.Decoder(), spdy.Encoder()
        self._streams: dict[int, _Stream] = {}

    def begin(self) -> list[bytes]:
        return []

    def received(self, message: bytes) -> list[bytes]:
        """Raises SpdyError."""
        frames: list[bytes] = []
        for event in self._decoder.feed(message):
            match event:
                case spdy.Opened():
                    frames += self._open(event)
                case spdy.Data(stream, content):
                    frames += self._read(stream, content)
                case spdy.Reset(stream):
                    self._streams.pop(stream, None)
                case spdy.Ping(frame):
                    frames.append(frame)
        return frames

    def _open(self, opened: spdy.Opened) -> list[bytes]:
        if len(self._streams) >= MAX_STREAMS:
            raise spdy.SpdyError("too many streams")
        headers = opened.headers
        port = headers.get("port", "")
        connection = PodConnection(self._pod, int(port) if port.isdigit() else 0, self._look)
        stream = _Stream(headers.get("streamtype", ""), headers.get("requestid", ""), connection)
        self._streams[opened.stream] = stream
        frames = [self._encoder.reply(opened.stream)]
        if stream.kind == "data" and connection.is_over:
            frames += self._end(opened.stream, stream)
        return frames

    def _read(self, stream_id: int, content: bytes) -> list[bytes]:
        stream = self._streams.get(stream_id)
        if stream is None or stream.kind != "data":
            return []
        answer = stream.connection.received(content)
        frames = [spdy.data(stream_id, answer)] if answer else []
        return frames + (self._end(stream_id, stream) if stream.connection.is_over else [])

    def _end(self, stream_id: int, stream: _Stream) -> list[bytes]:
        """Nothing more is said on the stream, nor on the one for its errors."""
        frames = [spdy.data(stream_id, b"", is_done=True)]
        for other_id, other in list(self._streams.items()):
            if other.request_id == stream.request_id:
                if other.kind == "error":
                    frames.insert(0, spdy.data(other_id, stream.connection.refusal.encode(), is_done=True))
                del self._streams[other_id]
        return frames
