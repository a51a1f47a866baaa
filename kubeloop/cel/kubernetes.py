"""Kubernetes' own CEL functions: quantities, URLs, regular expressions, named formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from kubeloop.apimachinery import go_regexp, quantity, validation
from kubeloop.apimachinery.formats import is_of_format
from kubeloop.cel import types
from kubeloop.cel.functions import Library, accepts, function, library
from kubeloop.cel.values import NONE, EvaluationError, Optional


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


_PATH_SAFE = "/%$&+,:;=@!'()*~"


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


def _find(text: str, pattern: str) -> str:
    return _pattern(pattern).find(text) or ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return list(islice(_pattern(pattern).find_all(text), limit if limit >= 0 else None))


def _pattern(pattern: str) -> go_regexp.Pattern:
    try:
        return go_regexp.compile_pattern(pattern)
    except go_regexp.PatternError as error:
        raise EvaluationError(f"Illegal regex: {error}") from error


def _compared(name: str, holds: Callable[[Any, Any], bool], kind: str) -> Any:
    return function(name, holds, f"{kind}.({kind}) bool")


KUBERNETES: Library = library(
    function("quantity", Quantity.parse, "(string) quantity"),
    function("isQuantity", accepts(quantity.parse), "(string) bool"),
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
    function("isURL", accepts(Url.parse), "(string) bool"),
    function("getScheme", lambda u: u.parts.scheme, "url.() string"),
    function("getHost", lambda u: u.host, "url.() string"),
    function("getHostname", lambda u: u.host_name, "url.() string"),
    function("getPort", lambda u: "" if u.parts.port is None else str(u.parts.port), "url.() string"),
    function("getEscapedPath", lambda u: quote(u.parts.path, safe=_PATH_SAFE), "url.() string"),
    function("getQuery", lambda u: parse_qs(u.parts.query, keep_blank_values=True), "url.() map(string, list(string))"),
    function("find", _find, "string.(string) string"),
    function("findAll", _find_all, "string.(string) list(string)", "string.(string, int) list(string)"),
    function("format.named", _named, "(string) optional(format)"),
    *(function(f"format.{name}", lambda name=name: _named(name).value, "() format") for name in _FORMATS),
    function("validate", lambda form, text: form.validate(text), "format.(string) optional(list(string))"),
)
