"""What probes and hooks do: run a command in a container, or ask one of its ports.

Facts of pkg/probe (http, tcp, exec) and pkg/kubelet/lifecycle/handlers.go (v1.36). Nobody is asked but this machine,
unless the action names another host.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit

from kubelet_sim.process.processes import STDERR, STDOUT, Process
from kubelet_sim.process.world import HOST

MAX_OUTPUT_BYTES = 10 * 1024
_MAX_REDIRECTS = 10
_MAX_HEAD_BYTES = 64 * 1024
_USER_AGENT = "kube-probe/1.36"

Json = Mapping[str, Any]


class Unreachable(Exception):
    """In Go's words: `dial tcp 127.0.0.1:80: connect: connection refused`."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    location: str = ""


class Network(Protocol):
    """The connections of probes, hooks and port-forwards: the seam that tests replace."""

    async def connect(self, host: str, port: int) -> None:
        """And hang up. Raises Unreachable."""

    async def get(self, url: str, headers: Mapping[str, str]) -> Answer:
        """The head of the answer; certificates are not checked. Raises Unreachable."""


class Sockets:
    async def connect(self, host: str, port: int) -> None:
        _, writer = await _opened(host, port, None)
        writer.close()

    async def get(self, url: str, headers: Mapping[str, str]) -> Answer:
        parts = urlsplit(url)
        tls = _trusting() if parts.scheme == "https" else None
        port = parts.port or (443 if tls else 80)
        reader, writer = await _opened(parts.hostname or "", port, tls)
        try:
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            lines = [f"GET {target} HTTP/1.1", *(f"{name}: {text}" for name, text in headers.items()), "", ""]
            writer.write("\r\n".join(lines).encode("latin-1", "replace"))
            head = await reader.readuntil(b"\r\n\r\n")
            return _answer(head.decode("latin-1"))
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
            raise Unreachable("EOF" if isinstance(error, asyncio.IncompleteReadError) else str(error)) from error
        finally:
            writer.close()


async def asked(network: Network, action: Json, container: Json) -> Answer:
    """An `httpGet`, and where it leads on the same host. Raises Unreachable."""
    url = url_of(action, container)
    own = {one["name"].title(): one.get("value") or "" for one in action.get("httpHeaders") or ()}
    for _ in range(_MAX_REDIRECTS + 1):
        headers = {
            "Host": urlsplit(url).netloc,
            "User-Agent": _USER_AGENT,
            "Accept": "*/*",
            **own,
            "Connection": "close",
        }
        answer = await network.get(url, headers)
        following = urljoin(url, answer.location)
        if not 300 <= answer.status < 400 or not answer.location or _host(following) != _host(url):
            return answer
        url = following
    raise Unreachable(f"stopped after {_MAX_REDIRECTS} redirects")


async def reached(network: Network, action: Json, container: Json) -> None:
    """A `tcpSocket`, or the port of a `grpc` one. Raises Unreachable."""
    await network.connect(action.get("host") or HOST, port_of(action, container))


async def output_of(process: Process) -> tuple[int, str]:
    """Until it ends: its exit code, and the beginning of what it wrote."""
    written = bytearray()

    async def gather(stream: int) -> None:
        while data := await process.read(stream):
            written.extend(data[: MAX_OUTPUT_BYTES - len(written)])

    try:
        async with asyncio.TaskGroup() as tasks:
            readers = [tasks.create_task(gather(stream)) for stream in (STDOUT, STDERR)]
            code = await process.wait()
            await asyncio.wait(readers, timeout=1)
            process.close()
        return code, written.decode("utf-8", "replace")
    finally:
        process.close()


def url_of(action: Json, container: Json) -> str:
    host, path = action.get("host") or HOST, action.get("path") or "/"
    shown = f"[{host}]" if ":" in host else host
    scheme = (action.get("scheme") or "HTTP").lower()
    return f"{scheme}://{shown}:{port_of(action, container)}{path if path.startswith('/') else f'/{path}'}"


def port_of(action: Json, container: Json) -> int:
    """A name is that of one of the container's ports. Raises Unreachable."""
    port = action.get("port")
    named = {one.get("name"): one["containerPort"] for one in container.get("ports") or ()}
    try:
        return int(named.get(port) or port)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise Unreachable(f"couldn't find port {port!r}") from None


async def _opened(
    host: str, port: int, tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        return await asyncio.open_connection(host, port, ssl=tls, limit=_MAX_HEAD_BYTES)
    except ConnectionRefusedError as error:
        raise Unreachable(f"dial tcp {shown}: connect: connection refused") from error
    except OSError as error:
        raise Unreachable(f"dial tcp {shown}: {error.strerror or error}") from error


def _trusting() -> ssl.SSLContext:
    """Kubelets do not check the certificates of what they probe."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _answer(head: str) -> Answer:
    """Raises ValueError where it is no HTTP."""
    first, *lines = head.split("\r\n")
    version, status, *_ = [*first.split(" "), ""]
    if not version.startswith("HTTP/"):
        raise ValueError(f'malformed HTTP response "{first[:100]}"')
    location = ""
    for line in lines:
        name, _, text = line.partition(":")
        if name.lower() == "location":
            location = text.strip()
    return Answer(int(status), location)


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""
