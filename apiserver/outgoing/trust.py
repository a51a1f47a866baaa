"""How the other end of a connection is known."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Trust:
    """Connections with equal trust may be shared."""

    server_name: str  # whose certificate it must be
    ca_bundle: str = ""  # base64 of PEM; "": the authorities of the system
    is_blind: bool = False  # any certificate will do
    is_plain: bool = False  # no TLS at all, to this machine only
    client_certificate: tuple[str, str] | None = None  # files of the certificate and the key this server shows

    def over(self, is_plain: bool) -> Trust:
        """The same on a connection that perhaps has no TLS."""
        return replace(self, is_plain=True) if is_plain else self
