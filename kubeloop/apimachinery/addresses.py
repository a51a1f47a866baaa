"""IP addresses and CIDRs as field values: what is wrong with one, and which warnings a legal but odd spelling earns.

Two rules exist, as in k8s.io/apimachinery/pkg/util/validation/ip.go (v1.36): fields as old as Services take any
spelling of an address that all readers understand alike (`ip_errors`, `cidr_errors`, and `*_warnings` for the odd
ones), newer fields only the canonical one (`canonical_*_errors`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
    ip_address,
    ip_interface,
)

from kubeloop.apimachinery.field import go_quote

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_LEADING_ZEROS = re.compile(r"(?<![0-9a-fA-F:.])0+(?=[0-9])|(?<=\.)0+(?=[0-9])")
_PREFIX_LENGTH = re.compile(r"[0-9]+")


def ip_errors(value: str) -> list[str]:
    """For fields that always took any spelling: refused are only those that readers understand differently."""
    address = parse_sloppily(value)
    if address is None:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    if parse_ip(value) is None:
        return ["must not have leading 0s"]
    return ["must not be an IPv4-mapped IPv6 address"] if _is_mapped(value) else []


def canonical_ip_errors(value: str) -> list[str]:
    errors = ip_errors(value)
    if not errors and value != (canonical := str(parse_ip(value))):
        errors.append(f"must be in canonical form ({go_quote(canonical)})")
    return errors


def cidr_errors(value: str) -> list[str]:
    """For fields that always took any spelling of a network; no bits may be set beyond the prefix length."""
    interface = _parse_interface_sloppily(value)
    if interface is None:
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    if _without_leading_zeros(value) != value:
        return ["must not have leading 0s in IP or prefix length"]
    if _is_mapped(value):
        return ["must not have an IPv4-mapped IPv6 address"]
    return (
        [] if interface.ip == interface.network.network_address else ["must not have bits set beyond the prefix length"]
    )


def canonical_cidr_errors(value: str) -> list[str]:
    errors = cidr_errors(value)
    if not errors and value != (canonical := str(parse_cidr(value))):
        errors.append(f"must be in canonical form ({go_quote(canonical)})")
    return errors


def interface_address_errors(value: str) -> list[str]:
    """A whole address with its network's prefix length, canonical: `192.168.1.5/24`."""
    interface = _parse_interface_sloppily(value)
    if interface is None:
        return ["must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"]
    canonical = str(interface)
    return [] if value == canonical else [f"must be in canonical form ({go_quote(canonical)})"]


def ip_warnings(value: str, path: str) -> list[str]:
    """Warnings for an address that `ip_errors` let pass or that an old object still has."""
    address = parse_sloppily(value)
    if address is None:
        return []
    if parse_ip(value) is None or _is_mapped(value):
        canonical = str(unmapped(address))
        return [f"{path}: non-standard IP address {go_quote(value)} is invalid: use {go_quote(canonical)}"]
    if address.version == 6 and value != (canonical := str(address)):
        return [
            f"{path}: IPv6 address {go_quote(value)} should be in RFC 5952 canonical format ({go_quote(canonical)})"
        ]
    return []


def cidr_warnings(value: str, path: str) -> list[str]:
    """Warnings for a network that `cidr_errors` let pass or that an old object still has."""
    interface = _parse_interface_sloppily(value)
    if interface is None:
        return []
    network, quoted = go_quote(str(interface.network)), go_quote(value)
    warnings = []
    if interface.ip != interface.network.network_address:
        single = go_quote(f"{interface.ip}/{interface.max_prefixlen}")
        warnings.append(f"{path}: CIDR value {quoted} is ambiguous in this context (should be {network} or {single}?)")
    if _without_leading_zeros(value) != value or _is_mapped(value):
        warnings.append(f"{path}: non-standard CIDR value {quoted} is invalid: use {network}")
    if not warnings and interface.version == 6 and value != str(interface.network):
        warnings.append(f"{path}: IPv6 CIDR value {quoted} should be in RFC 5952 canonical format ({network})")
    return warnings


@lru_cache(maxsize=1024)  # one write of a pod reads its addresses a dozen times
def parse_ip(value: str) -> Address | None:
    """The address, or None where `value` is none (a zone or leading zeros make it none)."""
    try:
        return None if "%" in value else ip_address(value)
    except ValueError:
        return None


def parse_sloppily(value: str) -> Address | None:
    """The address as fields that take any spelling mean it, leading zeros and all."""
    address = parse_ip(value)
    return parse_ip(_without_leading_zeros(value)) if address is None else address


def family_of(address: Address) -> int:
    """4 or 6; an IPv4 address inside an IPv6 one is of the former."""
    return unmapped(address).version


def looks_like_ip(value: str) -> bool:
    """Whether some reader takes `value` for an address, be it with leading zeros."""
    return parse_sloppily(value) is not None


def parse_cidr(value: str) -> Network | None:
    """The network, bits beyond the prefix length ignored, or None where `value` is none."""
    interface = _parse_interface_sloppily(value)
    return None if interface is None else interface.network


def _parse_interface_sloppily(value: str) -> IPv4Interface | IPv6Interface | None:
    text, _, length = value.partition("/")
    if parse_sloppily(text) is None or not _PREFIX_LENGTH.fullmatch(length):
        return None
    try:
        interface = ip_interface(_without_leading_zeros(value))
    except ValueError:
        return None
    if isinstance(interface, IPv6Interface) and interface.ip.ipv4_mapped and interface.network.prefixlen >= 96:
        return IPv4Interface(f"{interface.ip.ipv4_mapped}/{interface.network.prefixlen - 96}")
    return interface


def _without_leading_zeros(value: str) -> str:
    """Octets of IPv4 addresses and prefix lengths without the zeros that some readers take for octal."""
    address, slash, length = value.partition("/")
    if ":" not in address or "." in address:
        address = _LEADING_ZEROS.sub("", address)
    if length.isdigit() and length.isascii():
        length = length.lstrip("0") or "0"
    return address + slash + length


def _is_mapped(value: str) -> bool:
    address = parse_ip(value.partition("/")[0])
    return isinstance(address, IPv6Address) and address.ipv4_mapped is not None


def unmapped(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, or the address itself."""
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
