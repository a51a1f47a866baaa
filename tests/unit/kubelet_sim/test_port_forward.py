"""Port-forwarding: frames of SPDY, channels, and what a simulated pod answers through them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import pytest

from kubelet_sim.server import spdy
from kubelet_sim.server.channel_forwarding import ChannelForwarding
from kubelet_sim.server.cluster import page_of
from kubelet_sim.server.spdy_dictionary import DICTIONARY
from kubelet_sim.server.spdy_forwarding import SpdyForwarding
from kubeloop.apimachinery.meta import Object
from tests.unit.kubelet_sim.played_pod import a_container, a_pod

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def a_web_pod() -> Object:
    pod = a_pod(a_container(ports=[{"containerPort": 80, "protocol": "TCP"}]))
    pod["metadata"]["labels"] = {"app": "web"}
    pod["status"]["phase"] = "Running"
    return pod


class Client:
    """kubectl's end. `pod` is how the pod is by now, None once it is gone."""

    def __init__(self) -> None:
        self.pod: Object | None = a_web_pod()
        self._pod = SpdyForwarding(a_web_pod(), lambda: self.pod)
        self._encoder = spdy.Encoder()
        self._last = -1

    def connect(self, port: int, request_id: str = "0") -> tuple[int, int, bytes]:
        """The streams for errors and for data, and what was said at once."""
        said = b""
        for kind in ("error", "data"):
            self._last += 2
            headers = {"streamtype": kind, "port": str(port), "requestid": request_id}
            said += self.send(self._encoder.open(self._last, headers))
        return self._last - 2, self._last, said

    def send(self, frame: bytes) -> bytes:
        return b"".join(self._pod.received(frame))


def said_on(frames: bytes, stream: int) -> tuple[bytes, bool]:
    """Everything, and whether that is the end."""
    found, is_done = b"", False
    while frames:
        size = int.from_bytes(frames[5:8], "big")
        if int.from_bytes(frames[:4], "big") == stream:
            found, is_done = found + frames[8 : 8 + size], bool(frames[4] & 1)
        frames = frames[8 + size :]
    return found, is_done


def test_a_pod_answers_with_a_page_that_names_it() -> None:
    """Its name, namespace, node, labels and the port; then the connection ends, without an error."""
    client = Client()
    errors, data, _ = client.connect(80)

    frames = client.send(spdy.data(data, GET[:10])) + client.send(spdy.data(data, GET[10:]))

    page, is_done = said_on(frames, data)
    assert page.startswith(b"HTTP/1.1 200 OK\r\n") and is_done
    assert all(line in page for line in (b"pod: p\n", b"namespace: default\n", b"port: 80\n", b"label: app=web\n"))
    assert (b"", True) == said_on(frames, errors)


def test_connections_share_one_client() -> None:
    """Each by its own request id; the compression of headers goes on from one to the next."""
    client = Client()
    _, first, _ = client.connect(80, "0")
    _, second, _ = client.connect(80, "1")

    assert said_on(client.send(spdy.data(second, GET)), second)[0]
    assert said_on(client.send(spdy.data(first, GET)), first)[0]


def test_a_port_that_no_container_declares_refuses() -> None:
    """On the stream for errors, as a kubelet tells it."""
    errors, data, said = Client().connect(81)

    assert b"dial tcp4 127.0.0.1:81: connect: connection refused" in said_on(said, errors)[0]
    assert (b"", True) == said_on(said, data)


def test_each_port_of_a_query_has_two_channels() -> None:
    """Data and errors, the port first on both; the connections are over one by one."""
    forwarding = ChannelForwarding(a_web_pod(), (80, 81, 80), a_web_pod)

    numbers, refusals = forwarding.begin()[:6], forwarding.begin()[6:]
    first = forwarding.received(b"\0" + GET[:9]) + forwarding.received(b"\0" + GET[9:])
    is_over = forwarding.is_over
    last = forwarding.received(b"\4" + GET)

    assert [b"\0\x50\0", b"\1\x50\0", b"\2\x51\0", b"\3\x51\0", b"\4\x50\0", b"\5\x50\0"] == numbers
    assert [b"\3"] == [message[:1] for message in refusals] and b"connection refused" in refusals[0]
    assert [b"\0HTTP/1.1 200 OK", b"\4HTTP/1.1 200 OK"] == [message[:16] for message in first + last]
    assert (False, True) == (is_over, forwarding.is_over)


def ended() -> Object:
    return {**a_web_pod(), "status": {"phase": "Failed"}}


def crashed() -> Object:
    waiting = {"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    return {**a_web_pod(), "status": {"phase": "Running", "containerStatuses": [waiting]}}


GONE = [(lambda: None, b"is closed"), (ended, b"is closed"), (crashed, b"connection refused")]


@pytest.mark.parametrize(("later", "why"), GONE)
def test_a_pod_that_is_gone_answers_no_more(later: Callable[[], Object | None], why: bytes) -> None:
    """Neither who connects then, nor who was connected before: kubectl goes on forwarding after the pod has ended."""
    client = Client()
    before, early, _ = client.connect(80, "0")
    client.pod = later()
    after, late, said = client.connect(80, "1")

    told = client.send(spdy.data(early, GET))

    assert why in said_on(told, before)[0] and (b"", True) == said_on(told, early)
    assert why in said_on(said, after)[0] and (b"", True) == said_on(said, late)


@pytest.mark.parametrize(("later", "why"), GONE)
def test_a_pod_that_is_gone_says_so_on_the_channel_for_errors(later: Callable[[], Object | None], why: bytes) -> None:
    """Once, and the connection is over."""
    pods = [a_web_pod(), later()]
    forwarding = ChannelForwarding(a_web_pod(), (80,), lambda: pods.pop(0))

    (told,) = forwarding.received(b"\0" + GET)

    assert b"\1" == told[:1] and why in told
    assert forwarding.is_over and [] == forwarding.received(b"\0" + GET)


def test_a_sidecar_answers_on_its_ports() -> None:
    """It is an init container that stays; others have ended by then."""
    pod = a_web_pod()
    ports = {"ports": [{"containerPort": 15001}]}
    pod["spec"]["initContainers"] = [a_container("mesh", restartPolicy="Always", **ports)]

    assert "port: 15001\n" in page_of(pod, 15001).body

    del pod["spec"]["initContainers"][0]["restartPolicy"]
    assert page_of(pod, 15001).is_refused


def test_messages_on_other_channels_are_passed_over() -> None:
    """Those for errors, those of no port, and empty ones."""
    forwarding = ChannelForwarding(a_web_pod(), (80,), a_web_pod)

    assert [[], [], []] == [forwarding.received(message) for message in (b"\1" + GET, b"\2" + GET, b"")]


def test_frames_may_come_in_any_pieces() -> None:
    """Byte by byte they say the same, pings included."""
    frames = spdy.Encoder().open(1, {"streamtype": "data"}) + spdy.data(1, b"hello", is_done=True)
    decoder = spdy.Decoder()

    events = [event for i in range(len(frames)) for event in decoder.feed(frames[i : i + 1])]

    assert [spdy.Opened(1, {"streamtype": "data"}), spdy.Data(1, b"hello", True)] == events
    ping = struct.pack(">HHII", 0x8003, 6, 4, 7)
    assert [spdy.Ping(ping)] == list(decoder.feed(ping))


def bomb() -> bytes:
    compressor = zlib.compressobj(zdict=DICTIONARY)
    block = compressor.compress(struct.pack(">II", 1, 1 << 20) + b"x" * (1 << 20)) + compressor.flush(zlib.Z_SYNC_FLUSH)
    payload = struct.pack(">IIH", 1, 0, 0) + block
    return struct.pack(">HHB", 0x8003, 1, 0) + len(payload).to_bytes(3, "big") + payload


@pytest.mark.parametrize(
    "frame",
    [
        bomb(),
        struct.pack(">HHI", 0x8002, 1, 0),
        struct.pack(">IB", 1, 0) + b"\xff\xff\xff",
        struct.pack(">HHB", 0x8003, 1, 0) + (14).to_bytes(3, "big") + b"\0" * 14,
    ],
)
def test_what_is_no_spdy_ends_the_connection(frame: bytes) -> None:
    """So do headers and frames that are larger than anybody needs."""
    with pytest.raises(spdy.SpdyError):
        list(spdy.Decoder().feed(frame))
