"""/portForward: connections to the ports of a pod.

kubectl speaks SPDY through a WebSocket (spdy_forwarding), client libraries use channels (channel_forwarding). A pod
that really runs is connected to (tunnels), a simulated one answers for itself.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kubelet_sim.server import channel_forwarding, spdy_forwarding
from kubelet_sim.server.channel_forwarding import MAX_PORTS, ChannelForwarding
from kubelet_sim.server.exchange import Exchange, HungUp, Refused
from kubelet_sim.server.pods import Pods
from kubelet_sim.server.spdy import SpdyError
from kubelet_sim.server.spdy_forwarding import SpdyForwarding
from kubelet_sim.server.tunnels import ChannelTunnels, SpdyTunnels, really_runs
from kubelet_sim.server.websocket import WebSocket, offered_subprotocols
from kubeloop.apimachinery.field import go_quote
from kubeloop.runtime.http_request import Request

if TYPE_CHECKING:
    from kubelet_sim.process.runtime import ProcessRuntime

_MAX_PORT = 65535


class PortForward:
    def __init__(self, pods: Pods, real: ProcessRuntime | None = None) -> None:
        self._pods, self._real = pods, real

    async def answer(self, request: Request, path: tuple[str, ...], exchange: Exchange) -> None:
        if len(path) != 2:
            raise Refused(404, "404 page not found")
        pod = self._pods.asked(request, exchange, *path)
        phase = (pod.get("status") or {}).get("phase")
        if phase != "Running":
            raise Refused(500, f"unable to forward port because pod is not running. Current status={phase}")
        is_spdy = bool(set(spdy_forwarding.SUBPROTOCOLS) & set(offered_subprotocols(request)))
        ports = [] if is_spdy else _ports(request)
        subprotocols = spdy_forwarding.SUBPROTOCOLS if is_spdy else channel_forwarding.SUBPROTOCOLS
        socket = await WebSocket.accept(request, exchange, subprotocols)
        if really_runs(self._real, pod):
            await (SpdyTunnels(socket, pod) if is_spdy else ChannelTunnels(socket, pod, ports)).run()
        else:
            look = partial(self._pods.again, pod)
            await _answered(socket, SpdyForwarding(pod, look) if is_spdy else ChannelForwarding(pod, ports, look))


async def _answered(socket: WebSocket, forwarding: SpdyForwarding | ChannelForwarding) -> None:
    """By a simulated pod."""
    try:
        for message in forwarding.begin():
            await socket.send(message)
        while not forwarding.is_over and (received := await socket.receive()) is not None:
            for message in forwarding.received(received):
                await socket.send(message)
        await socket.close()
        await socket.until_closed()
    except (SpdyError, HungUp):
        pass


def _ports(request: Request) -> list[int]:
    """Those of the query, in its order. Raises Refused."""
    texts = request.query.get("port") or ()
    if not texts:
        raise Refused(400, 'query parameter "port" is required')
    ports = [_port(port) for text in texts for port in text.split(",")]
    if len(ports) > MAX_PORTS:
        raise Refused(400, f"at most {MAX_PORTS} ports can be forwarded over one connection")
    return ports


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _MAX_PORT):
        raise Refused(400, f"unable to parse {go_quote(text)} as a port")
    if text.strip("0") == "":
        raise Refused(400, f"port {go_quote(text)} must be > 0")
    return int(text)
