"""Where an object says that it can really be reached: its annotation `kubeloop.io/forward-to`."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.forwarding import FORWARD_TO
from kubeloop.apimachinery.meta import ReadOnlyObject

_PLAIN = "http://"


class Address(NamedTuple):
    """Whom to dial."""

    host_port: str
    is_plain: bool = False  # without TLS

    @property
    def host(self) -> str:
        return self.host_port.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self.host_port.rpartition(":")[2])


class ForwardError(Exception):
    """The annotation cannot be meant; the text says why."""


def forward_of(obj: ReadOnlyObject) -> str:
    """What the annotation says, "" where there is none."""
    return str((obj["metadata"].get("annotations") or {}).get(FORWARD_TO) or "")


def forwarded(obj: ReadOnlyObject, what: str) -> Address | None:
    """The address; None where there is no annotation. `what`: as errors name the kind. Raises ForwardError."""
    forward, name = forward_of(obj), obj["metadata"]["name"]
    if not forward:
        return None
    is_plain = forward.startswith(_PLAIN)
    address = forward.removeprefix(_PLAIN)
    host, _, port = address.rpartition(":")
    is_port = port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 65536
    if not is_port or not host or not host.isascii() or (":" in host and not host.startswith("[")):
        raise ForwardError(f"annotation {FORWARD_TO} of {what} {go_quote(name)} is not HOST:PORT: {go_quote(forward)}")
    if is_plain and not _is_loopback(host):
        why = f"plain HTTP stays on this machine, and {go_quote(host)} is no loopback address"
        raise ForwardError(f"annotation {FORWARD_TO} of {what} {go_quote(name)}: {why}")
    return Address(address, is_plain)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
