"""IP addresses and prefixes as Go's net/netip reads them, with what it says of those it cannot read."""

from __future__ import annotations

import ipaddress

from kubeloop.apimachinery.field import go_quote

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Prefix = ipaddress.IPv4Interface | ipaddress.IPv6Interface

_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_GROUPS_END = 16  # bytes of an IPv6 address


class AddressError(ValueError):
    """No address; the text is Go's."""


def parse_address(text: str) -> Address:
    """An address, with its zone if it has one. Raises AddressError."""
    for character in text:
        if character == ".":
            _check_ipv4(text, text)
            return ipaddress.IPv4Address(text)
        if character == ":":
            _check_ipv6(text)
            return ipaddress.IPv6Address(text)
        if character == "%":
            raise _problem(text, "missing IPv6 address")
    raise _problem(text, "unable to parse IP")


def parse_prefix(text: str) -> Prefix:
    """An address and how many of its bits are its network's. Raises AddressError."""
    slash = text.rfind("/")
    if slash < 0:
        raise _prefix_problem(text, "no '/'")
    try:
        address = parse_address(text[:slash])
    except AddressError as error:
        raise _prefix_problem(text, str(error)) from error
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        raise _prefix_problem(text, "IPv6 zones cannot be present in a prefix")
    bits = text[slash + 1 :]
    if not (bits.isascii() and bits.isdigit()) or (len(bits) > 1 and bits[0] == "0"):
        raise _prefix_problem(text, f"bad bits after slash: {go_quote(bits)}")
    if int(bits) > address.max_prefixlen:
        raise _prefix_problem(text, "prefix length out of range")
    return ipaddress.ip_interface(f"{address}/{bits}")


def _problem(text: str, why: str, at: str = "") -> AddressError:
    where = f" (at {go_quote(at)})" if at else ""
    return AddressError(f"ParseAddr({go_quote(text)}): {why}{where}")


def _prefix_problem(text: str, why: str) -> AddressError:
    return AddressError(f"netip.ParsePrefix({go_quote(text)}): {why}")


def _check_ipv4(text: str, fields: str) -> None:
    """Four numbers up to 255; `fields` is the end of `text` that they are to be."""
    value = digits = place = 0
    for i, character in enumerate(fields):
        if character in "0123456789":
            if digits == 1 and value == 0:
                raise _problem(text, "IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(character), digits + 1
            if value > 255:
                raise _problem(text, "IPv4 field has value >255")
        elif character == ".":
            if i in (0, len(fields) - 1) or fields[i - 1] == ".":
                raise _problem(text, "IPv4 field must have at least one digit", fields[i:])
            if place == 3:
                raise _problem(text, "IPv4 address too long")
            value, digits, place = 0, 0, place + 1
        else:
            raise _problem(text, "unexpected character", fields[i:])
    if place < 3:
        raise _problem(text, "IPv4 address too short")


def _check_ipv6(text: str) -> None:
    left, percent, zone = text.partition("%")
    if percent and not zone:
        raise _problem(text, "zone must be a non-empty string")
    ellipsis, read = -1, 0  # in bytes of the address
    if left.startswith("::"):
        ellipsis, left = 0, left[2:]
    while left and read < _GROUPS_END:
        width = _group_width(text, left)
        if left[width : width + 1] == ".":
            _check_embedded(text, left, read, ellipsis)
            left, read = "", read + 4
            break
        left, read = left[width:], read + 2
        if not left:
            break
        if left[0] != ":":
            raise _problem(text, "unexpected character, want colon", left)
        if len(left) == 1:
            raise _problem(text, "colon must be followed by more characters", left)
        left = left[1:]
        if left[0] == ":":
            if ellipsis >= 0:
                raise _problem(text, "multiple :: in address", left)
            ellipsis, left = read, left[1:]
    if left:
        raise _problem(text, "trailing garbage after address", left)
    if read < _GROUPS_END and ellipsis < 0:
        raise _problem(text, "address string too short")
    if read >= _GROUPS_END and ellipsis >= 0:
        raise _problem(text, "the :: must expand to at least one field of zeros")


def _group_width(text: str, left: str) -> int:
    """How many hexadecimal digits come next, of which there must be one to four."""
    width = 0
    while width < len(left) and left[width] in _HEX_DIGITS:
        if width > 3:
            raise _problem(text, "each group must have 4 or less digits", left)
        width += 1
    if not width:
        raise _problem(text, "each colon-separated field must have at least one digit", left)
    return width


def _check_embedded(text: str, left: str, read: int, ellipsis: int) -> None:
    """An IPv4 address at the end of an IPv6 one."""
    if ellipsis < 0 and read != 12:
        raise _problem(text, "embedded IPv4 address must replace the final 2 fields of the address", left)
    if read + 4 > _GROUPS_END:
        raise _problem(text, "too many hex fields to fit an embedded IPv4 at the end of the address", left)
    _check_ipv4(text, left)
