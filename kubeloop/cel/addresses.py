"""IP addresses and networks in CEL. Facts: k8s.io/apiserver/pkg/cel/library/{ip,cidr}.go (v1.36)."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import ClassVar

from kubeloop.apimachinery.field import go_quote
from kubeloop.cel import types
from kubeloop.cel.functions import Library, accepts, function, library
from kubeloop.cel.go_addresses import Address, AddressError, Prefix, parse_address, parse_prefix
from kubeloop.cel.values import EvaluationError

_LINK_LOCAL_MULTICAST = {4: ipaddress.ip_network("224.0.0.0/24"), 6: ipaddress.ip_network("ff02::/16")}
_BROADCAST = ipaddress.IPv4Address("255.255.255.255")


def _is_mapped(address: Address) -> bool:
    """Whether it is an IPv4 address in IPv6's clothes."""
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None


@dataclass(frozen=True, slots=True)
class Ip:
    cel_type: ClassVar[str] = types.IP.name
    address: Address

    @classmethod
    def parse(cls, text: str) -> Ip:
        try:
            address = parse_address(text)
        except AddressError as error:
            why = f"IP Address {go_quote(text)} parse error during conversion from string: {error}"
            raise EvaluationError(why) from error
        if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
            raise EvaluationError(f"IP address {go_quote(text)} with zone value is not allowed")
        if _is_mapped(address):
            raise EvaluationError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
        return cls(address)

    def __str__(self) -> str:
        return str(self.address)

    @property
    def is_link_local_unicast(self) -> bool:
        return self.address.is_link_local

    @property
    def is_link_local_multicast(self) -> bool:
        return self.address in _LINK_LOCAL_MULTICAST[self.address.version]

    @property
    def is_global_unicast(self) -> bool:
        address = self.address
        is_special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
        return not is_special and address != _BROADCAST


@dataclass(frozen=True, slots=True)
class Cidr:
    cel_type: ClassVar[str] = types.CIDR.name
    prefix: Prefix

    @classmethod
    def parse(cls, text: str) -> Cidr:
        """Raises EvaluationError."""
        try:
            prefix = parse_prefix(text)
        except AddressError as error:
            raise EvaluationError(_CONVERSION + str(error)) from error
        if _is_mapped(prefix.ip):
            raise EvaluationError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
        return cls(prefix)

    @classmethod
    def converted(cls, text: str) -> Cidr:
        """The same, as cidr() says it: it names the conversion once more."""
        try:
            return cls.parse(text)
        except EvaluationError as error:
            raise EvaluationError(_CONVERSION + str(error)) from error

    def __str__(self) -> str:
        return str(self.prefix)

    def contains_ip(self, other: Ip | str) -> bool:
        address = Ip.parse(other).address if isinstance(other, str) else other.address
        return address in self.prefix.network

    def contains_cidr(self, other: Cidr | str) -> bool:
        inner = (Cidr.parse(other) if isinstance(other, str) else other).prefix.network
        outer = self.prefix.network
        return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]

    def masked(self) -> Cidr:
        return Cidr(ipaddress.ip_interface(str(self.prefix.network)))


_CONVERSION = "network address parse error during conversion from string: "


def _is_canonical(text: str) -> bool:
    return str(Ip.parse(text)) == text


ADDRESSES: Library = library(
    function("ip", Ip.parse, "(string) ip"),
    function("ip", lambda c: Ip(c.prefix.ip), "cidr.() ip"),
    function("isIP", accepts(Ip.parse), "(string) bool"),
    function("ip.isCanonical", _is_canonical, "(string) bool"),
    function("family", lambda i: i.address.version, "ip.() int"),
    function("isUnspecified", lambda i: i.address.is_unspecified, "ip.() bool"),
    function("isLoopback", lambda i: i.address.is_loopback, "ip.() bool"),
    function("isLinkLocalMulticast", lambda i: i.is_link_local_multicast, "ip.() bool"),
    function("isLinkLocalUnicast", lambda i: i.is_link_local_unicast, "ip.() bool"),
    function("isGlobalUnicast", lambda i: i.is_global_unicast, "ip.() bool"),
    function("cidr", Cidr.converted, "(string) cidr"),
    function("isCIDR", accepts(Cidr.parse), "(string) bool"),
    function("containsIP", lambda c, other: c.contains_ip(other), "cidr.(ip) bool", "cidr.(string) bool"),
    function("containsCIDR", lambda c, other: c.contains_cidr(other), "cidr.(cidr) bool", "cidr.(string) bool"),
    function("masked", lambda c: c.masked(), "cidr.() cidr"),
    function("prefixLength", lambda c: c.prefix.network.prefixlen, "cidr.() int"),
)
