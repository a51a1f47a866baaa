"""Large answers are compressed for clients on other machines that accept it; on the same machine it only costs time."""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
from dataclasses import replace
from functools import lru_cache, partial

from apiserver.handlers.response import Response, Scope

# Smaller answers go out as they are (upstream defaultGzipThresholdBytes).
THRESHOLD_BYTES = 128 << 10
_LEVEL = 1  # the others compress hardly better and take far longer


def is_large(response: Response) -> bool:
    """Whether compressing is worth a thought; most answers are small."""
    return len(response.body) > THRESHOLD_BYTES


async def compressed(scope: Scope, response: Response) -> Response:
    """A large answer as this client gets it."""
    if not is_large(response) or not _accepts_gzip(scope) or _is_here(scope):
        return response
    body = await asyncio.to_thread(partial(gzip.compress, response.body, _LEVEL, mtime=0))
    more = ((b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding"))
    return replace(response, body=body, headers=(*response.headers, *more))


def _accepts_gzip(scope: Scope) -> bool:
    """Whether gzip is among the encodings, spelled without a quality: upstream looks no further."""
    for name, value in scope["headers"]:
        if name == b"accept-encoding":
            return b"gzip" in [token.strip() for token in value.split(b",")]
    return False


def _is_here(scope: Scope) -> bool:
    client = scope.get("client")
    return client is None or _is_loopback(client[0])


@lru_cache(256)
def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True  # a socket in the file system, or a client in the same process
