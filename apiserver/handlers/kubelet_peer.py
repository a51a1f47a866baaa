"""How a kubelet is reached, and what it knows this server by."""

from __future__ import annotations

from dataclasses import dataclass

from apiserver.outgoing.forwarding import Address
from apiserver.outgoing.trust import Trust


@dataclass(frozen=True, slots=True)
class Peer:
    """A kubelet. `shown`: the address that its node has, which nobody can reach where `address` is None."""

    address: Address | None
    trust: Trust
    shown: str
    token: str = ""

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        shown = [(b"authorization", f"Bearer {self.token}".encode())] if self.token else []
        return [(b"host", (self.address.host_port if self.address else self.shown).encode()), *shown]

    @property
    def unreachable(self) -> str:
        return f"dial tcp {self.shown}: connect: no route to host"
