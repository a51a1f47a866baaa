"""Where something simulated can really be reached: an annotation that the API server follows when it calls out."""

from __future__ import annotations

import ipaddress

# On a Service or a Node: HOST:PORT, with `http://` before it where no TLS is spoken there.
FORWARD_TO = "kubeloop.io/forward-to"


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
