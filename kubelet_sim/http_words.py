"""How the actions of probes and hooks are spelled in messages: URLs and addresses (pkg/probe, v1.36)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def url(action: Mapping[str, Any], container: Mapping[str, Any], ip: str) -> str:
    """Of an `httpGet`. `ip`: the pod's address."""
    path = action.get("path") or "/"
    scheme = (action.get("scheme") or "HTTP").lower()
    return f"{scheme}://{address(action, container, ip)}{path if path.startswith('/') else f'/{path}'}"


def address(action: Mapping[str, Any], container: Mapping[str, Any], ip: str) -> str:
    """Where an `httpGet` or a `tcpSocket` connects to."""
    host, port = action.get("host") or ip, _port(action["port"], container)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _port(port: int | str, container: Mapping[str, Any]) -> int | str:
    """A name is that of one of the container's ports."""
    named = {one.get("name"): one["containerPort"] for one in container.get("ports") or ()}
    return named.get(port, port)
