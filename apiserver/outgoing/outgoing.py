"""What the server calls others with: who is behind a Service, and the connections to them, opened when first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiserver.outgoing.services import Resolver

if TYPE_CHECKING:
    from apiserver.outgoing.connections import Connections, Transports


class Outgoing:
    """Shared by everything that calls out: connections to one address are kept for all."""

    def __init__(self, resolver: Resolver, transports: Transports | None = None) -> None:
        """`transports` makes the HTTP transport for a TLS context: real sockets where none is given."""
        self.resolver, self._transports = resolver, transports
        self._connections: Connections | None = None

    @property
    def connections(self) -> Connections:
        if self._connections is None:
            from apiserver.outgoing.connections import Connections  # with httpx, which takes a while to load

            self._connections = Connections(self._transports)
        return self._connections

    async def close(self) -> None:
        """Give up every connection that is kept."""
        if self._connections is not None:
            await self._connections.close()
