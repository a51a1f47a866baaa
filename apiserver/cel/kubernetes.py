"""Kubernetes' own CEL functions: quantities, URLs, IP addresses, regular expressions, named formats, versions."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import total_ordering
from itertools import islice
from typing import Any, ClassVar
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from apiserver.cel import types
from apiserver.cel.functions import Library, function, library
from apiserver.cel.values import NONE, EvaluationError, Optional
from apiserver.schema.formats import is_of_format
from kubeloop.apimachinery import go_regexp, quantity, validation

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Quantity:
    cel_type: ClassVar[str] = types.QUANTITY.name
    amount: quantity.Quantity

    @classmethod
    def parse(cls, text: str) -> Quantity:
        return cls(quantity.parse(text))

    def compare(self, other: Quantity) -> int:
        return (self.amount > other.amount) - (self.amount < other.amount)

    def plus(self, other: Quantity | int, sign: int = 1) -> Quantity:
        amount = other.amount if isinstance(other, Quantity) else quantity.of_value(other)
        return Quantity(self.amount + amount * sign)

    @property
    def is_integer(self) -> bool:
        amount = self.amount
        in_range = -(2**63) <= amount.value() < 2**63
        return in_range and quantity.of_value(amount.value()) == amount

    def as_integer(self) -> int:
        if not self.is_integer:
            raise EvaluationError("cannot convert value to integer")
        return self.amount.value()


@dataclass(frozen=True, slots=True)
class Url:
    cel_type: ClassVar[str] = types.URL.name
    parts: SplitResult

    @classmethod
    def parse(cls, text: str) -> Url:
        try:
            parts = urlsplit(text)
            _ = parts.port
        except ValueError as error:
            raise EvaluationError(f"URL parse error during conversion from string: {error}") from error
        if not parts.scheme and not text.startswith("/"):
            why = f'parse "{text}": invalid URI for request'
            raise EvaluationError(f"URL parse error during conversion from string: {why}")
        return cls(parts)

    @property
    def host(self) -> str:
        return self.parts.netloc.rpartition("@")[2]

    @property
    def host_name(self) -> str:
        host = self.host
        return host[1 : host.index("]")] if host.startswith("[") and "]" in host else host.partition(":")[0]


_LINK_LOCAL_MULTICAST = {4: ipaddress.ip_network("224.0.0.0/24"), 6: ipaddress.ip_network("ff02::/16")}


@dataclass(frozen=True, slots=True)
class Ip:
    cel_type: ClassVar[str] = types.IP.name
    address: Address

    @classmethod
    def parse(cls, text: str) -> Ip:
        try:
            address = ipaddress.ip_address(text)
        except ValueError as error:
            raise EvaluationError(f'IP Address "{text}" parse error during conversion from string') from error
        if isinstance(address, ipaddress.IPv6Address) and (address.ipv4_mapped or address.scope_id):
            kind = "IPv4-mapped IPv6 address" if address.ipv4_mapped else "IP address with zone value"
            raise EvaluationError(f'{kind} "{text}" is not allowed')
        return cls(address)

    def __str__(self) -> str:
        return str(self.address)

    @property
    def is_link_local_multicast(self) -> bool:
        return self.address in _LINK_LOCAL_MULTICAST[self.address.version]

    @property
    def is_global_unicast(self) -> bool:
        a = self.address
        return not (a.is_unspecified or a.is_loopback or a.is_multicast or a.is_link_local) and str(a) != (
            "255.255.255.255"
        )


@dataclass(frozen=True, slots=True)
class Cidr:
    cel_type: ClassVar[str] = types.CIDR.name
    interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface

    @classmethod
    def parse(cls, text: str) -> Cidr:
        try:
            if "/" not in text:
                raise ValueError("no '/'")
            return cls(ipaddress.ip_interface(text))
        except ValueError as error:
            why = f'network address parse error during conversion from string: invalid CIDR address: "{text}"'
            raise EvaluationError(why) from error

    def __str__(self) -> str:
        return str(self.interface)

    def contains_ip(self, other: Ip | str) -> bool:
        address = Ip.parse(other).address if isinstance(other, str) else other.address
        return address in self.interface.network

    def contains_cidr(self, other: Cidr | str) -> bool:
        inner = (Cidr.parse(other) if isinstance(other, str) else other).interface.network
        outer = self.interface.network
        return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]

    def masked(self) -> Cidr:
        return Cidr(ipaddress.ip_interface(str(self.interface.network)))


_PATH_SAFE = "/%$&+,:;=@!'()*~"
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-.]+))?"
)


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    cel_type: ClassVar[str] = types.SEMVER.name
    numbers: tuple[int, int, int]
    before: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str, normalize: bool = False) -> Semver:
        if normalize:
            core, sign, rest = re.fullmatch(r"v?([0-9.]*)([-+]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
            numbers = [(number.lstrip("0") or "0") for number in core.split(".") if number]
            text = ".".join([*numbers, "0", "0"][: max(3, len(numbers))]) + sign + rest
        match = _SEMVER.fullmatch(text)
        if match is None:
            raise EvaluationError(f"semver parse error: {text}")
        return cls(
            (int(match[1]), int(match[2]), int(match[3])), tuple((match[4] or "").split(".")) if match[4] else ()
        )

    def _key(self) -> tuple[Any, ...]:
        parts = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in self.before)
        return (*self.numbers, not self.before, parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._key() == other._key()

    def __lt__(self, other: Semver) -> bool:
        return self._key() < other._key()

    def __hash__(self) -> int:
        return hash(self._key())


@dataclass(frozen=True, slots=True)
class NamedFormat:
    cel_type: ClassVar[str] = types.NAMED_FORMAT.name
    name: str
    errors: Callable[[str], list[str]]

    def validate(self, text: str) -> Optional:
        found = list(self.errors(text))
        return Optional(found) if found else NONE


def _by_name(name: str) -> Callable[[str], list[str]]:
    return lambda text: [] if is_of_format(text, name) else [f"invalid {name}"]


def _with_suffix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A prefix is good if it would be with something after it."""
    return lambda text: check(text.removesuffix("-") + "a" if text.endswith("-") else text)


_FORMATS: dict[str, Callable[[str], Any]] = {
    "dns1123Label": validation.dns_label_errors,
    "dns1123Subdomain": validation.dns_subdomain_errors,
    "dns1035Label": validation.dns1035_label_errors,
    "qualifiedName": validation.qualified_name_errors,
    "dns1123LabelPrefix": _with_suffix(validation.dns_label_errors),
    "dns1123SubdomainPrefix": _with_suffix(validation.dns_subdomain_errors),
    "dns1035LabelPrefix": _with_suffix(validation.dns1035_label_errors),
    "labelValue": validation.label_value_errors,
    "uri": _by_name("uri"),
    "uuid": _by_name("uuid"),
    "byte": _by_name("byte"),
    "date": _by_name("date"),
    "datetime": _by_name("datetime"),
}


def _named(name: str) -> Optional:
    return Optional(NamedFormat(name, _FORMATS[name])) if name in _FORMATS else NONE


def _accepts(parse: Callable[..., Any]) -> Callable[..., bool]:
    def accepts(*arguments: Any) -> bool:
        try:
            parse(*arguments)
        except ValueError:
            return False
        return True

    return accepts


def _find(text: str, pattern: str) -> str:
    return _pattern(pattern).find(text) or ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return list(islice(_pattern(pattern).find_all(text), limit if limit >= 0 else None))


def _pattern(pattern: str) -> go_regexp.Pattern:
    try:
        return go_regexp.compile_pattern(pattern)
    except go_regexp.PatternError as error:
        raise EvaluationError(f"Illegal regex: {error}") from error


def _is_canonical(text: str) -> bool:
    return str(Ip.parse(text)) == text


def _compared(name: str, holds: Callable[[Any, Any], bool], kind: str) -> Any:
    return function(name, holds, f"{kind}.({kind}) bool")


KUBERNETES: Library = library(
    function("quantity", Quantity.parse, "(string) quantity"),
    function("isQuantity", _accepts(quantity.parse), "(string) bool"),
    function("isInteger", lambda q: q.is_integer, "quantity.() bool"),
    function("asInteger", lambda q: q.as_integer(), "quantity.() int"),
    function("asApproximateFloat", lambda q: float(q.amount.approximate()), "quantity.() double"),
    function("sign", lambda q: q.amount.sign, "quantity.() int"),
    function("add", lambda q, other: q.plus(other), "quantity.(quantity) quantity", "quantity.(int) quantity"),
    function("sub", lambda q, other: q.plus(other, -1), "quantity.(quantity) quantity", "quantity.(int) quantity"),
    function("compareTo", lambda a, b: a.compare(b), "quantity.(quantity) int"),
    _compared("isLessThan", lambda a, b: a.compare(b) < 0, "quantity"),
    _compared("isGreaterThan", lambda a, b: a.compare(b) > 0, "quantity"),
    function("url", Url.parse, "(string) url"),
    function("isURL", _accepts(Url.parse), "(string) bool"),
    function("getScheme", lambda u: u.parts.scheme, "url.() string"),
    function("getHost", lambda u: u.host, "url.() string"),
    function("getHostname", lambda u: u.host_name, "url.() string"),
    function("getPort", lambda u: "" if u.parts.port is None else str(u.parts.port), "url.() string"),
    function("getEscapedPath", lambda u: quote(u.parts.path, safe=_PATH_SAFE), "url.() string"),
    function("getQuery", lambda u: parse_qs(u.parts.query, keep_blank_values=True), "url.() map(string, list(string))"),
    function("find", _find, "string.(string) string"),
    function("findAll", _find_all, "string.(string) list(string)", "string.(string, int) list(string)"),
    function("ip", Ip.parse, "(string) ip"),
    function("ip", lambda c: Ip(c.interface.ip), "cidr.() ip"),
    function("isIP", _accepts(Ip.parse), "(string) bool"),
    function("ip.isCanonical", _is_canonical, "(string) bool"),
    function("family", lambda i: i.address.version, "ip.() int"),
    function("isUnspecified", lambda i: i.address.is_unspecified, "ip.() bool"),
    function("isLoopback", lambda i: i.address.is_loopback, "ip.() bool"),
    function("isLinkLocalMulticast", lambda i: i.is_link_local_multicast, "ip.() bool"),
    function("isLinkLocalUnicast", lambda i: i.address.is_link_local, "ip.() bool"),
    function("isGlobalUnicast", lambda i: i.is_global_unicast, "ip.() bool"),
    function("cidr", Cidr.parse, "(string) cidr"),
    function("isCIDR", _accepts(Cidr.parse), "(string) bool"),
    function("containsIP", lambda c, other: c.contains_ip(other), "cidr.(ip) bool", "cidr.(string) bool"),
    function("containsCIDR", lambda c, other: c.contains_cidr(other), "cidr.(cidr) bool", "cidr.(string) bool"),
    function("masked", lambda c: c.masked(), "cidr.() cidr"),
    function("prefixLength", lambda c: c.interface.network.prefixlen, "cidr.() int"),
    function("format.named", _named, "(string) optional(format)"),
    *(function(f"format.{name}", lambda name=name: _named(name).value, "() format") for name in _FORMATS),
    function("validate", lambda form, text: form.validate(text), "format.(string) optional(list(string))"),
    function("semver", Semver.parse, "(string) semver", "(string, bool) semver"),
    function("isSemver", _accepts(Semver.parse), "(string) bool", "(string, bool) bool"),
    function("major", lambda v: v.numbers[0], "semver.() int"),
    function("minor", lambda v: v.numbers[1], "semver.() int"),
    function("patch", lambda v: v.numbers[2], "semver.() int"),
    function("compareTo", lambda a, b: (a > b) - (a < b), "semver.(semver) int"),
    _compared("isLessThan", lambda a, b: a < b, "semver"),
    _compared("isGreaterThan", lambda a, b: a > b, "semver"),
)
