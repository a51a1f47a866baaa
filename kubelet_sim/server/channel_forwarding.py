"""Port-forwarding in the channels of a WebSocket, as client libraries do it.

Facts: cri-streaming/pkg/streaming/portforward/websocket.go (v1.36). One connection for each port of the query; the
first byte of a message is its channel. Port number n of the query has 2n for data and 2n+1 for errors, and the first
message on each is the port in two bytes, the lower one first.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubelet_sim.server.pod_connection import Look, PodConnection
from kubeloop.apimachinery.meta import Object

SUBPROTOCOLS = ("v4.channel.k8s.io", "v4.base64.channel.k8s.io", "")

MAX_PORTS = 128  # whose channels fit into a byte


class ChannelForwarding:
    """One client's connections to the pod: messages in, messages to send out."""

    def __init__(self, pod: Object, ports: Sequence[int], look: Look) -> None:
        self._ports = ports
        self._connections = [PodConnection(pod, port, look) for port in ports]

    @property
    def is_over(self) -> bool:
        return all(connection.is_over for connection in self._connections)

    def begin(self) -> list[bytes]:
        """The port on each channel, and at once why it does not listen."""
        refusals = [
            bytes([2 * index + 1]) + connection.refusal.encode()
            for index, connection in enumerate(self._connections)
            if connection.refusal
        ]
        return channels_of(self._ports) + refusals

    def received(self, message: bytes) -> list[bytes]:
        index, is_error_channel = divmod(message[0], 2) if message else (MAX_PORTS, 0)
        if is_error_channel or index >= len(self._connections):
            return []
        connection = self._connections[index]
        if connection.is_over:
            return []
        answer = connection.received(message[1:])
        if connection.refusal:
            return [bytes([2 * index + 1]) + connection.refusal.encode()]
        return [message[:1] + answer] if answer else []


def channels_of(ports: Sequence[int]) -> list[bytes]:
    """The first message on each channel: its port."""
    return [
        bytes([channel]) + port.to_bytes(2, "little")
        for index, port in enumerate(ports)
        for channel in (2 * index, 2 * index + 1)
    ]
