"""/portForward: connections to the ports of a simulated pod.

kubectl speaks SPDY through a WebSocket (spdy_forwarding), client libraries use channels (channel_forwarding).
"""

from __future__ import annotations

from kubelet_sim.server import channel_forwarding, spdy_forwarding
from kubelet_sim.server.channel_forwarding import MAX_PORTS, ChannelForwarding
from kubelet_sim.server.exchange import Exchange, HungUp, Refused
from kubelet_sim.server.pods import Pods
from kubelet_sim.server.spdy import SpdyError
from kubelet_sim.server.spdy_forwarding import SpdyForwarding
from kubelet_sim.server.websocket import WebSocket, offered_subprotocols
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object
from kubeloop.runtime.http_request import Request

_MAX_PORT = 65535


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
        forwarding, subprotocols = _forwarding(request, pod)
        socket = await WebSocket.accept(request, exchange, subprotocols)
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


def _forwarding(request: Request, pod: Object) -> tuple[SpdyForwarding | ChannelForwarding, tuple[str, ...]]:
    """In what way, and the subprotocols for it."""
    if set(spdy_forwarding.SUBPROTOCOLS) & set(offered_subprotocols(request)):
        return SpdyForwarding(pod), spdy_forwarding.SUBPROTOCOLS
    return ChannelForwarding(pod, _ports(request)), channel_forwarding.SUBPROTOCOLS


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
