"""/podProxy/NAMESPACE/NAME/PORT/…: what a pod answers on a port. Kubelets have no such path; here pods have no network.

The API server asks for it where it would dial the pod (`pods/NAME/proxy`, `services/NAME/proxy`). A pod that really
runs is asked itself, on the ports that it declares; a simulated one answers with its page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from kubelet_sim.server.body import CHUNK
from kubelet_sim.server.cluster import page_of
from kubelet_sim.server.exchange import Exchange, HungUp, Refused, Unreachable
from kubelet_sim.server.pods import Pods
from kubelet_sim.server.tunnels import HOST, really_runs
from kubeloop.apimachinery.forwarding import NODE_HEADER
from kubeloop.runtime.http_request import Request

if TYPE_CHECKING:
    from kubelet_sim.process.runtime import ProcessRuntime

_REFUSED = "connect: connection refused"
_OURS = ("authorization", "connection", "host", NODE_HEADER)  # headers between the API server and this one


class PodProxy:
    def __init__(self, pods: Pods, real: ProcessRuntime | None = None) -> None:
        self._pods, self._real = pods, real

    async def answer(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        namespace, name, port, *_ = (*path, "", "", "")
        if not port.isdigit():
            raise Refused(404, "404 page not found")
        pod = self._pods.asked(request, exchange, namespace, name)
        page = page_of(pod, int(port))
        if (pod.get("status") or {}).get("phase") != "Running":
            raise Unreachable("connect: no route to host")
        if page.is_refused:
            raise Unreachable(_REFUSED)
        if really_runs(self._real, pod):
            await _pass_on(request, int(port), exchange)
            return
        await exchange.answer(200, page.body, has_body=request.method != "HEAD")


async def _pass_on(request: Request, port: int, exchange: Exchange) -> None:
    """To whoever listens there, and what he says back until he closes."""
    try:
        reader, writer = await asyncio.open_connection(HOST, port)
    except (OSError, OverflowError) as error:
        raise Unreachable(_REFUSED) from error
    asking = asyncio.create_task(_ask(request, port, exchange, writer))
    try:
        while data := await reader.read(CHUNK):
            await exchange.write_raw(data)
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        writer.close()
    if not exchange.has_begun:
        raise HungUp  # as he did


async def _ask(request: Request, port: int, exchange: Exchange, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        writer.write("\r\n".join([*_head(request, port), "", ""]).encode("latin-1"))
        while data := await exchange.body.read():
            writer.write(data)
            await writer.drain()


def _head(request: Request, port: int) -> Iterator[str]:
    """As it was sent, but for what led here."""
    first, *lines = request.head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, target, version = first.split(" ", 2)
    yield f"{method} /{target.split('/', 5)[5]} {version}"
    yield f"Host: {HOST}:{port}"
    yield "Connection: close"
    for line in lines:
        if line.partition(":")[0].strip().lower() not in _OURS:
            yield line
