"""The formats of texts that schemas may name, and whether a text is of one. Unknown formats say nothing.

Facts: kube-openapi/pkg/validation/strfmt and its govalidator, apiextensions-apiserver/pkg/apiserver/validation/formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from kubeloop.apimachinery import addresses, validation
from kubeloop.apimachinery.json_schema import INT_OR_STRING, Schema
from kubeloop.apimachinery.web_formats import is_email, is_hostname, is_request_uri

_HEX = "[0-9a-f]"
_UUID = rf"{_HEX}{{8}}-?{_HEX}{{4}}-?%s{_HEX}{{3}}-?%s{_HEX}{{3}}-?{_HEX}{{12}}"
_COLOR_PART = r"\s*(0|[1-9][0-9]?|1[0-9]{1,2}|2[0-4][0-9]|25[0-5])\s*"
_CARDS = (
    "4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}|3(0[0-5]|[68][0-9])[0-9]{11}|"
    "(2131|1800|35[0-9]{3})[0-9]{11}"
)
_GO_DURATION = r"[-+]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)"
_AMOUNT = re.compile(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)")
_UNITS = frozenset({"ns", "us", "µs", "ms", "s", "sec", "m", "min", "h", "hr", "hour", "d", "day", "w", "wk", "week"})
_LONG_UNITS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")  # with any ending
_TIME_OF_DAY = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")


def _matching(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    fullmatch = re.compile(pattern, flags | re.ASCII).fullmatch
    return lambda text: fullmatch(text) is not None


# -- numbers of things ---------------------------------------------------------------------------------------------


def _is_isbn10(text: str) -> bool:
    digits = _without_spaces(text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    return sum((i + 1) * (10 if c == "X" else int(c)) for i, c in enumerate(digits)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = _without_spaces(text)
    return (
        bool(re.fullmatch(r"[0-9]{13}", digits))
        and sum(int(c) * (i % 2 * 2 + 1) for i, c in enumerate(digits)) % 10 == 0
    )


def _without_spaces(text: str) -> str:
    return re.sub(r"[\s-]+", "", text, flags=re.ASCII)


def _is_credit_card(text: str) -> bool:
    """Of a known issuer, with its check digit; whatever is no digit is skipped."""
    digits = re.sub("[^0-9]", "", text)
    if not re.fullmatch(_CARDS, digits):
        return False
    doubled = [int(c) * (i % 2 + 1) for i, c in enumerate(reversed(digits))]
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0


def _is_ssn(text: str) -> bool:
    return len(text) == 11 and re.fullmatch(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}", text) is not None


# -- moments and spans ---------------------------------------------------------------------------------------------


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    year, month, day = map(int, text.split("-"))
    try:
        date(year or 2000, month, day)  # year 0 was a leap year, as 2000 was
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    parts = text.lower().split("t")
    if len(parts) < 2 or not _is_date(parts[0]):
        return False
    match = _TIME_OF_DAY.fullmatch(parts[1])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def _is_duration(text: str) -> bool:
    """As Go writes one, or amounts with units in words anywhere in the text."""
    if re.fullmatch(_GO_DURATION, text, re.ASCII):
        return True
    amounts = _AMOUNT.findall(text)
    if any(int(number) >= 1 << 63 for number, _ in amounts):
        return False
    units = [unit.lower() for _, unit in amounts]
    return any(unit in _UNITS or unit.startswith(_LONG_UNITS) for unit in units)


# -- addresses -----------------------------------------------------------------------------------------------------


def _is_ipv4(text: str) -> bool:
    return addresses.looks_like_ip(text) and "." in text


def _is_ipv6(text: str) -> bool:
    return addresses.parse_ip(text) is not None and ":" in text


_PAIR = "[0-9a-fA-F]{2}"
_MAC = "|".join(
    [rf"{_PAIR}({mark}{_PAIR}){{{more}}}" for mark in ":-" for more in (5, 7, 19)]
    + [rf"[0-9a-fA-F]{{4}}(\.[0-9a-fA-F]{{4}}){{{more}}}" for more in (2, 3, 9)]
)

_FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matching(r"[0-9a-fA-F]{24}"),
    "uri": is_request_uri,
    "email": is_email,
    "hostname": is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": lambda text: addresses.parse_cidr(text) is not None,
    "mac": _matching(_MAC),
    "uuid": _matching(_UUID % (_HEX, _HEX), re.IGNORECASE),
    "uuid3": _matching(_UUID % ("3", _HEX), re.IGNORECASE),
    "uuid4": _matching(_UUID % ("4", "[89ab]"), re.IGNORECASE),
    "uuid5": _matching(_UUID % ("5", "[89ab]"), re.IGNORECASE),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _is_ssn,
    "hexcolor": _matching(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matching(rf"rgb\({_COLOR_PART},{_COLOR_PART},{_COLOR_PART}\)"),
    "byte": _matching(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda text: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda text: not validation.dns_label_errors(text),
    "k8slongname": lambda text: not validation.dns_subdomain_errors(text),
}
_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def is_of_format(text: str, name: str) -> bool:
    """Whether a text is of the format; true for formats nobody knows."""
    check = _FORMATS.get(name.replace("-", ""))
    return check is None or check(text)


def is_known(name: str, type_name: str) -> bool:
    """Whether the server would look at values of this type for this format; "" stands for no or several types."""
    if type_name in ("", "string"):
        return name.replace("-", "") in _FORMATS
    return name in _NUMBER_FORMATS.get(type_name, ())


def effective_format(schema: Schema) -> str:
    """The schema's format, if it is one that is known for the schema's type; else ""."""
    name: str = schema.get("format") or ""
    if not name:
        return ""
    return name if is_known(name, "" if schema.get(INT_OR_STRING) else schema.get("type", "")) else ""
