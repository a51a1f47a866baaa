"""/portForward: connections to the ports of a simulated pod, which answers HTTP with a page that names it.

Facts: pkg/kubelet streaming/portforward/httpstream.go and client-go/tools/portforward (v1.36). Each connection is two
streams with the same request id: one for data, and one on which errors are told. kubectl speaks SPDY through a
WebSocket (`SPDY/3.1+portforward.k8s.io`).
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from kubelet_sim.server import spdy
from kubelet_sim.server.cluster import page_of
from kubelet_sim.server.exchange import Exchange, HungUp, Refused
from kubelet_sim.server.pods import Pods
from kubelet_sim.server.websocket import WebSocket
from kubeloop.apimachinery.meta import Object
from kubeloop.runtime.http_request import MAX_HEAD_BYTES, Request

SUBPROTOCOLS = ("SPDY/3.1+portforward.k8s.io",)

MAX_STREAMS = 1000  # open at once on one connection; more end it


@dataclass(slots=True)
class _Stream:
    kind: str
    port: int
    request_id: str
    received: bytes = b""
    is_answered: bool = False


class PortForward:
    def __init__(self, pods: Pods) -> None:
        self._pods = pods

    async def answer(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        if len(path) != 2:
            raise Refused(404, "404 page not found")
        pod = self._pods.get(*path)
        phase = (pod.get("status") or {}).get("phase")
        if phase != "Running":
            raise Refused(500, f"unable to forward port because pod is not running. Current status={phase}")
        socket = await WebSocket.accept(request, exchange, SUBPROTOCOLS)
        forwarding = Forwarding(pod)
        try:
            while (message := await socket.receive()) is not None:
                for frame in forwarding.received(message):
                    await socket.send(frame)
            await socket.close()
        except (spdy.SpdyError, HungUp):
            pass


class Forwarding:
    """One client's connections to the pod. Pure: bytes in, frames to send out."""

    def __init__(self, pod: Object) -> None:
        self._pod = pod
        self._decoder, self._encoder = spdy.Decoder(), spdy.Encoder()
        self._streams: dict[int, _Stream] = {}

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
        stream = _Stream(
            headers.get("streamtype", ""), int(port) if port.isdigit() else 0, headers.get("requestid", "")
        )
        self._streams[opened.stream] = stream
        frames = [self._encoder.reply(opened.stream)]
        if stream.kind == "data" and page_of(self._pod, stream.port).is_refused:
            frames += self._end(opened.stream, stream, self._refusal(stream.port))
        return frames

    def _read(self, stream_id: int, content: bytes) -> list[bytes]:
        stream = self._streams.get(stream_id)
        if stream is None or stream.kind != "data" or stream.is_answered:
            return []
        stream.received = (stream.received + content)[: MAX_HEAD_BYTES + 1]
        if b"\r\n\r\n" not in stream.received:
            return self._end(stream_id, stream) if len(stream.received) > MAX_HEAD_BYTES else []
        return [spdy.data(stream_id, self._page(stream)), *self._end(stream_id, stream)]

    def _page(self, stream: _Stream) -> bytes:
        method = stream.received.split(b" ", 1)[0]
        body = page_of(self._pod, stream.port).body.encode()
        head = (
            f"HTTP/1.1 200 {HTTPStatus.OK.phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + (b"" if method == b"HEAD" else body)

    def _end(self, stream_id: int, stream: _Stream, error: str = "") -> list[bytes]:
        """Nothing more is said on the stream, nor on the one for its errors."""
        stream.is_answered = True
        frames = [spdy.data(stream_id, b"", is_done=True)]
        for other_id, other in list(self._streams.items()):
            if other.request_id == stream.request_id:
                if other.kind == "error":
                    frames.insert(0, spdy.data(other_id, error.encode(), is_done=True))
                del self._streams[other_id]
        return frames

    def _refusal(self, port: int) -> str:
        meta = self._pod["metadata"]
        return (
            f"error forwarding port {port} to pod {meta['name']}, uid {meta['uid']}: failed to connect to "
            f"localhost:{port} inside the pod: dial tcp4 127.0.0.1:{port}: connect: connection refused"
        )
