"""Who may ask: the API server, which has authenticated and authorized everybody behind it.

Over TLS it is known by its certificate, and connections of others come to nothing. Over plain HTTP it shows a token
that only the two of them know, where they were given one. A web page is refused in any case: by the name in its Host
header, or because a browser says where it comes from.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from kubelet_sim.server.exchange import Refused
from kubeloop.apimachinery.forwarding import is_this_machine
from kubeloop.runtime.http_request import Request


@dataclass(frozen=True, slots=True)
class Access:
    """`token`: "" asks for none."""

    token: str = ""

    def check(self, request: Request) -> None:
        """Raises Refused."""
        if "origin" in request.headers:
            raise Refused(403, "Forbidden: web pages are not served here")
        if not is_this_machine(request.host):
            raise Refused(403, f'Forbidden: the Host header names "{request.host}"')
        shown = request.headers.get("authorization", "")
        if self.token and not hmac.compare_digest(shown.encode(), f"Bearer {self.token}".encode()):
            raise Refused(401, "Unauthorized")
