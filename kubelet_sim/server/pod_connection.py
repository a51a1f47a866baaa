"""A connection to a port of a simulated pod, which answers one HTTP request with a page that names it."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from kubelet_sim.server.cluster import page_of
from kubeloop.apimachinery.meta import Object
from kubeloop.runtime.http_request import MAX_HEAD_BYTES

# A pod as it is at this moment; None once it is gone.
Look = Callable[[], Object | None]


class PodConnection:
    """Bytes in, the answer out. `refusal` says why there is none, "" while somebody listens."""

    def __init__(self, pod: Object, port: int, look: Look) -> None:
        self._pod, self._port, self._look = pod, port, look
        self._received = b""
        self.refusal = self._why_not()
        self.is_over = bool(self.refusal)

    def received(self, content: bytes) -> bytes:
        """What the pod says to it; `is_over` when it has then closed the connection."""
        if self.is_over:
            return b""
        self._received = (self._received + content)[: MAX_HEAD_BYTES + 1]
        is_whole = b"\r\n\r\n" in self._received
        self.is_over = is_whole or len(self._received) > MAX_HEAD_BYTES
        self.refusal = self._why_not() if is_whole else ""
        return self._page() if is_whole and not self.refusal else b""

    def _why_not(self) -> str:
        pod = self._look()
        if pod is None or (pod.get("status") or {}).get("phase") != "Running":
            return not_there(self._pod, self._port)
        return refusal_of(pod, self._port) if page_of(pod, self._port).is_refused else ""

    def _page(self) -> bytes:
        method = self._received.split(b" ", 1)[0]
        body = page_of(self._pod, self._port).body.encode()
        head = (
            f"HTTP/1.1 200 {HTTPStatus.OK.phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + (b"" if method == b"HEAD" else body)


def refusal_of(pod: Object, port: int) -> str:
    """Nobody listens there."""
    why = (
        f"failed to connect to localhost:{port} inside the pod: dial tcp4 127.0.0.1:{port}: connect: connection refused"
    )
    return _error(pod, port, why)


def not_there(pod: Object, port: int) -> str:
    """The pod has ended, or is gone: containerd's words for that."""
    return _error(pod, port, f'network namespace for sandbox "{pod["metadata"]["uid"]}" is closed')


def _error(pod: Object, port: int, why: str) -> str:
    meta = pod["metadata"]
    return f"error forwarding port {port} to pod {meta['name']}, uid {meta['uid']}: {why}"
