"""The formats of texts that schemas may name, and whether a text is of one. Unknown formats say nothing."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_interface
from urllib.parse import urlsplit

from kubeloop.apimachinery import validation
from kubeloop.apimachinery.times import parse_time

_HEX = "[0-9a-f]"
_UUID = rf"{_HEX}{{8}}-?{_HEX}{{4}}-?%s{_HEX}{{3}}-?%s{_HEX}{{3}}-?{_HEX}{{12}}"


def _by(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def is_good(text: str) -> bool:
        try:
            parse(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return is_good


def _matching(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    fullmatch = re.compile(pattern, flags).fullmatch
    return lambda text: fullmatch(text) is not None


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) or text.startswith("/")


def _is_isbn10(text: str) -> bool:
    digits = text.replace("-", "").replace(" ", "")
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    return sum((i + 1) * (10 if c == "X" else int(c)) for i, c in enumerate(digits)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = text.replace("-", "").replace(" ", "")
    return (
        bool(re.fullmatch(r"[0-9]{13}", digits))
        and sum(int(c) * (3 if i % 2 else 1) for i, c in enumerate(digits)) % 10 == 0
    )


def _cidr(text: str) -> object:
    if "/" not in text:
        raise ValueError(text)
    return ip_interface(text)


_FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matching(r"[0-9a-fA-F]{24}"),
    "uri": _is_uri,
    "email": _matching(r"[^@\s]+@[^@\s]+"),
    "hostname": _matching(
        r"(?=.{1,253}\Z)([a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)(\.[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)*\.?"
    ),
    "ipv4": _by(IPv4Address),
    "ipv6": _by(IPv6Address),
    "cidr": _by(_cidr),
    "mac": _matching(
        r"[0-9a-fA-F]{2}([:-])[0-9a-fA-F]{2}(\1[0-9a-fA-F]{2}){4}((\1[0-9a-fA-F]{2}){2})?|([0-9a-fA-F]{4}\.){2,3}[0-9a-fA-F]{4}"
    ),
    "uuid": _matching(_UUID % (_HEX, _HEX), re.IGNORECASE),
    "uuid3": _matching(_UUID % ("3", _HEX), re.IGNORECASE),
    "uuid4": _matching(_UUID % ("4", "[89ab]"), re.IGNORECASE),
    "uuid5": _matching(_UUID % ("5", "[89ab]"), re.IGNORECASE),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _matching(r"(?:[^0-9]*[0-9]){13,16}[^0-9]*"),
    "ssn": _matching(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "hexcolor": _matching(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matching(r"rgb\(\s*[0-9]{1,3}\s*,\s*[0-9]{1,3}\s*,\s*[0-9]{1,3}\s*\)"),
    "byte": _by(lambda text: base64.b64decode(text, validate=True)),
    "password": lambda text: True,
    "date": _matching(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"),
    "duration": _matching(
        r"[-+]?([0-9]*\.?[0-9]+\s*(ns|us|µs|ms|s|m|h|d|w|nanos?(econds?)?|micros?(econds?)?|millis?(econds?)?|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|wks?)\s*)+"
    ),
    "datetime": _by(lambda text: parse_time(text.upper().replace(" ", "T"))),
    "k8sshortname": lambda text: not validation.dns_label_errors(text),
    "k8slongname": lambda text: not validation.dns_subdomain_errors(text),
}
_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def is_of_format(text: str, name: str) -> bool:
    """Whether a text is of the format; true for formats nobody knows."""
    check = _FORMATS.get(name.replace("-", ""))
    return check is None or check(text)


def is_known(name: str, type_name: str) -> bool:
    """Whether the server would look at values of this type for this format."""
    if type_name in ("", "string"):
        return name.replace("-", "") in _FORMATS
    return name in _NUMBER_FORMATS.get(type_name, ())
