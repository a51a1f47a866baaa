"""Whom a server's certificate names, so that a refusal over its name can say whom it is valid for.

Asked in a second handshake, which sends nothing and trusts nothing, only after the first one failed.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass

TIMEOUT_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class PeerNames:
    hosts: Sequence[str] = ()
    addresses: Sequence[str] = ()
    has_names: bool = False  # an extension with names, and be it an empty one
    common_name: str = ""

    def problem(self, wanted: str) -> str:
        """What Go's x509.HostnameError says of a certificate that does not name `wanted`."""
        if not self.has_names and self.common_name.lower() == wanted.lower():
            return "certificate relies on legacy Common Name field, use SANs instead"
        names = self.hosts
        if _is_address(wanted):
            if not self.addresses:
                return f"cannot validate certificate for {wanted} because it doesn't contain any IP SANs"
            names = self.addresses
        if not names:
            return f"certificate is not valid for any names, but wanted to match {wanted}"
        return f"certificate is valid for {', '.join(names)}, not {wanted}"


async def peer_names(address: str, server_name: str) -> PeerNames:
    """The names in the certificate at HOST:PORT; none where it cannot be had."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            _, writer = await asyncio.open_connection(
                host.strip("[]"), int(port), ssl=context, server_hostname=server_name
            )
    except OSError:
        return PeerNames()
    try:
        return _names_in(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
    finally:
        writer.transport.abort()


def _names_in(certificate: bytes) -> PeerNames:
    from cryptography import x509  # takes 100 ms to load

    parsed = x509.load_der_x509_certificate(certificate)
    common_names = parsed.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    common_name = str(common_names[0].value) if common_names else ""
    try:
        names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return PeerNames(common_name=common_name)
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    return PeerNames(names.get_values_for_type(x509.DNSName), addresses, True, common_name)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
