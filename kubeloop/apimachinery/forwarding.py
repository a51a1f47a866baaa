"""Where something simulated can really be reached: what the API server follows when it calls out."""

from __future__ import annotations

import ipaddress

from kubeloop.apimachinery.meta import ReadOnlyObject

# On a Service or a Node: HOST:PORT, with `http://` before it where no TLS is spoken there.
FORWARD_TO = "kubeloop.io/forward-to"

# What a simulated node says that it runs: its addresses lead nowhere, its kubelet is on this machine.
SIMULATED_OS = "kubeloop simulated node"
DEFAULT_KUBELET_PORT = 10250  # also of a simulated kubelet that is not served

# One process plays the kubelets of many nodes, on one port. The API server says which node it means where the path does
# not, and is told, in Go's words for a failed dial, when that one cannot be reached.
NODE_HEADER, UNREACHABLE_HEADER = "kubeloop-node", "kubeloop-unreachable"


def is_simulated(node: ReadOnlyObject) -> bool:
    """Whether a kubelet of kubelet_sim registered it, not somebody by hand or another kubelet."""
    return ((node.get("status") or {}).get("nodeInfo") or {}).get("osImage") == SIMULATED_OS


def kubelet_port_here(node: ReadOnlyObject) -> int | None:
    """The loopback port of a simulated node's kubelet; None of any other node, and where it is not served."""
    status = node.get("status") or {}
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port") or DEFAULT_KUBELET_PORT
    return port if is_simulated(node) and port != DEFAULT_KUBELET_PORT else None


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can be reached there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_this_machine(host: str) -> bool:
    """Whether a client that sends this Host header meant this machine, or an address: no name that can be rebound.

    A web page that makes its own name lead to 127.0.0.1 is told by its name.
    """
    if host in ("", "localhost") or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
