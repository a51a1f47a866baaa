"""A connection to a port of a simulated pod, which answers one HTTP request with a page that names it."""

from __future__ import annotations

from http import HTTPStatus

from kubelet_sim.server.cluster import page_of
from kubeloop.apimachinery.meta import Object
from kubeloop.runtime.http_request import MAX_HEAD_BYTES


class PodConnection:
    """Pure: bytes in, the answer out. `refusal` says why there is none, "" where somebody listens."""

    def __init__(self, pod: Object, port: int) -> None:
        self._pod, self._port = pod, port
        self._received = b""
        self.refusal = refusal_of(pod, port) if page_of(pod, port).is_refused else ""
        self.is_over = bool(self.refusal)

    def received(self, content: bytes) -> bytes:
        """What the pod says to it; `is_over` when it has then closed the connection."""
        if self.is_over:
            return b""
        self._received = (self._received + content)[: MAX_HEAD_BYTES + 1]
        is_whole = b"\r\n\r\n" in self._received
        self.is_over = is_whole or len(self._received) > MAX_HEAD_BYTES
        return self._page() if is_whole else b""

    def _page(self) -> bytes:
        method = self._received.split(b" ", 1)[0]
        body = page_of(self._pod, self._port).body.encode()
        head = (
            f"HTTP/1.1 200 {HTTPStatus.OK.phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + (b"" if method == b"HEAD" else body)


def refusal_of(pod: Object, port: int) -> str:
    meta = pod["metadata"]
    return (
        f"error forwarding port {port} to pod {meta['name']}, uid {meta['uid']}: failed to connect to "
        f"localhost:{port} inside the pod: dial tcp4 127.0.0.1:{port}: connect: connection refused"
    )
