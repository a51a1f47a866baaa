"""The connections an Api speaks over: one bounded pool of HTTP/1.1 keep-alive connections.

Proxies of the environment are never used: an API server is named by a kubeconfig, and most are on loopback.
"""

from __future__ import annotations

import ssl

import httpx

from kubeloop.apimachinery.errors import ApiError

# A loop process has a few workers and one long watch an informer. Full: a request waits for a free connection.
MAX_CONNECTIONS = 200
MAX_IDLE_CONNECTIONS = 20
KEEP_ALIVE_SECONDS = 30.0


class ConnectionFailed(ApiError):
    """No answer: refused, reset or timed out. A write may or may not have happened."""

    code, reason = 503, "ConnectionFailed"


def default_transport(tls: ssl.SSLContext | None = None) -> httpx.AsyncBaseTransport:
    limits = httpx.Limits(
        max_connections=MAX_CONNECTIONS,
        max_keepalive_connections=MAX_IDLE_CONNECTIONS,
        keepalive_expiry=KEEP_ALIVE_SECONDS,
    )
    return httpx.AsyncHTTPTransport(verify=tls or False, limits=limits, trust_env=False)
