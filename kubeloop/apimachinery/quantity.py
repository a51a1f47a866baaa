"""Kubernetes quantities (`100m`, `64Mi`, `1e3`): exact arithmetic, and the spelling a real server answers with.

`parse` reads what people write; `value` and `milli_value` are the quick ways for schedulers and quotas that only want
an integer; `canonical` is what a decoder stores. A quantity is a whole number times a power of ten, never a float, and
remembers the style of its suffix. Semantics are those of k8s.io/apimachinery/pkg/api/resource (v1.36), among them: the
spelling is kept where it happens to look canonical ("+1", "5.", "1e+3"), and nothing is finer than a billionth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, total_ordering
from typing import Any

DECIMAL_SI = "DecimalSI"  # 12M
BINARY_SI = "BinarySI"  # 12Mi
DECIMAL_EXPONENT = "DecimalExponent"  # 12e6
NANO, MICRO, MILLI, UNIT = -9, -6, -3, 0

MAX_INT64 = 2**63 - 1

WRONG_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"  # as the server says
)
WRONG_NUMBER = "unable to parse numeric part of quantity"
WRONG_SUFFIX = "unable to parse quantity's suffix"

_QUANTITY = re.compile(r"([+-]?)(0*+)([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[-+]?[0-9]*+)")  # never backtracks
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIXES = {exponent: suffix for suffix, exponent in _BINARY.items()}

# Numbers of so many digits the real parser keeps in an int64, and only then it may keep the spelling.
_SHORT_DIGITS = 18
_SHORT_BINARY_DIGITS = 14
# Beyond this many digits between two numbers the smaller one does not count: `1e2000000000` must not fill the memory.
_MAX_DIGITS_APART = 4000


class QuantityError(ValueError):
    """Text that is no quantity; the message is the one the API answers with."""


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """`unscaled * 10**exponent`. `text` is a spelling to keep; empty means the canonical one."""

    unscaled: int = 0
    exponent: int = 0
    style: str = DECIMAL_SI
    text: str = ""

    @property
    def is_zero(self) -> bool:
        return self.unscaled == 0

    @property
    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)

    def value(self) -> int:
        """The integer not nearer to zero, within 64 bits."""
        return self.scaled_value(UNIT)

    def milli_value(self) -> int:
        """The number of thousandths, rounded away from zero, within 64 bits."""
        return self.scaled_value(MILLI)

    def scaled_value(self, exponent: int) -> int:
        """How many `10**exponent` it is, rounded away from zero, within 64 bits."""
        if self.exponent - exponent > _SHORT_DIGITS and self.unscaled:
            return self.sign * MAX_INT64
        scaled = _rescaled(self.unscaled, self.exponent, exponent)
        return max(-MAX_INT64 - 1, min(MAX_INT64, scaled))

    def round_up(self, exponent: int) -> Quantity:
        """This amount without what is finer than `10**exponent`, rounded away from zero."""
        if self.exponent >= exponent:
            return self
        return Quantity(_rescaled(self.unscaled, self.exponent, exponent), exponent, self.style)

    def approximate(self) -> float:
        """The nearest float, for display and scoring only."""
        if abs(self.exponent) > 300:
            return float(self.unscaled) * (float("inf") if self.exponent > 0 else 0.0)
        return self.unscaled * 10.0**self.exponent

    def __add__(self, other: Quantity) -> Quantity:
        style = other.style if self.is_zero else self.style
        if other.is_zero:
            return Quantity(self.unscaled, self.exponent, style)
        if self.is_zero:
            return Quantity(other.unscaled, other.exponent, style)
        if abs(_magnitude(self) - _magnitude(other)) > _MAX_DIGITS_APART:
            larger = max(self, other, key=_magnitude)
            return Quantity(larger.unscaled, larger.exponent, style)
        left, right, exponent = _aligned(self, other)
        return Quantity(left + right, exponent, style)

    def __sub__(self, other: Quantity) -> Quantity:
        return self + -other

    def __neg__(self) -> Quantity:
        return Quantity(-self.unscaled, self.exponent, self.style)

    def __mul__(self, factor: int) -> Quantity:
        return Quantity(self.unscaled * factor, self.exponent, self.style)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and _compare(self, other) == 0

    def __lt__(self, other: Quantity) -> bool:
        return _compare(self, other) < 0

    def __hash__(self) -> int:
        return hash(_without_factors(self.unscaled, self.exponent, 10))

    def __str__(self) -> str:
        return self.text or _canonical_text(self)


ZERO = Quantity()


@lru_cache(maxsize=4096)
def parse(text: str) -> Quantity:
    """The quantity `text` spells; QuantityError where it spells none. Blanks around it are not allowed."""
    match = _QUANTITY.fullmatch(text)
    if not text or match is None:
        raise QuantityError(WRONG_FORMAT)
    sign, zeros, whole, fraction, suffix = match.groups(default="")
    has_digits = bool(zeros or whole or fraction)
    whole = whole or "0"
    style, exponent = _interpret(suffix)
    if style == BINARY_SI:
        return _parse_binary(text, sign, whole, fraction, exponent, has_digits)
    scale = exponent - len(fraction)
    if scale >= NANO and len(whole) + len(fraction) <= _SHORT_DIGITS:
        return _parse_short(text, sign, whole + fraction, scale, style)
    if not has_digits:
        raise QuantityError(WRONG_NUMBER)
    unscaled, scale = _not_finer_than_nano(_integer(whole + fraction), scale)
    return Quantity(-unscaled if sign == "-" else unscaled, scale, style)


@lru_cache(maxsize=8192)
def value(text: str) -> int:
    """The whole number of units in `text`, rounded up: bytes of memory, numbers of pods."""
    return parse(text).value()


@lru_cache(maxsize=8192)
def milli_value(text: str) -> int:
    """The number of thousandths in `text`, rounded up: milli-CPUs."""
    return parse(text).milli_value()


def of_value(number: int, style: str = DECIMAL_SI) -> Quantity:
    return Quantity(number, 0, style)


def of_milli_value(number: int, style: str = DECIMAL_SI) -> Quantity:
    return Quantity(number, MILLI, style)


def canonical(text: str, finest: int | None = None) -> str:
    """How the server spells `text` in its answers; `finest` rounds up to a power of ten (MILLI in resource lists)."""
    quantity = parse(text.strip())
    return str(quantity if finest is None else quantity.round_up(finest))


def is_equal(left: Any, right: Any) -> bool:
    """Whether two texts mean one amount; absent ones (None) are zero."""
    return parse(left or "0") == parse(right or "0")


def _parse_short(text: str, sign: str, digits: str, exponent: int, style: str) -> Quantity:
    unscaled = int(digits)
    looks_canonical = exponent % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    kept = text if looks_canonical else ""
    return Quantity(-unscaled if sign == "-" else unscaled, exponent, style, kept)


def _parse_binary(text: str, sign: str, whole: str, fraction: str, exponent: int, has_digits: bool) -> Quantity:
    digits = _SHORT_BINARY_DIGITS - len(whole) - exponent * 3 // 10
    is_short = not fraction and digits >= 0
    if not is_short and not has_digits:
        raise QuantityError(WRONG_NUMBER)
    number = _integer(whole + fraction)
    unscaled, scale = _not_finer_than_nano(number << exponent, -len(fraction))
    if unscaled and _rescaled(unscaled, scale, UNIT) > MAX_INT64:
        unscaled, scale = MAX_INT64, 0
    is_below_one = 0 < unscaled < 10**-scale
    kept = text if is_short and number & 7 else ""
    style = DECIMAL_SI if is_below_one else BINARY_SI
    return Quantity(-unscaled if sign == "-" else unscaled, scale, style, kept)


def _interpret(suffix: str) -> tuple[str, int]:
    """The style and exponent (of ten, or of two) of a suffix."""
    if suffix in _DECIMAL:
        return DECIMAL_SI, _DECIMAL[suffix]
    if suffix in _BINARY:
        return BINARY_SI, _BINARY[suffix]
    match = _EXPONENT.fullmatch(suffix)
    if match is None or len(match[1]) > 20 or not -(2**63) <= (exponent := int(match[1])) < 2**63:
        raise QuantityError(WRONG_SUFFIX)
    return DECIMAL_EXPONENT, (exponent + 2**31) % 2**32 - 2**31  # the real parser keeps 32 bits of it


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # more digits than Python converts
        raise QuantityError(WRONG_NUMBER) from None


def _not_finer_than_nano(unscaled: int, exponent: int) -> tuple[int, int]:
    if exponent >= NANO:
        return unscaled, exponent
    return _rescaled(unscaled, exponent, NANO), NANO


def _rescaled(unscaled: int, exponent: int, wanted: int) -> int:
    """`unscaled * 10**exponent` in units of `10**wanted`, rounded away from zero."""
    if exponent >= wanted:
        return int(unscaled * 10 ** (exponent - wanted))
    if wanted - exponent > _MAX_DIGITS_APART + len(str(abs(unscaled))):
        return (unscaled > 0) - (unscaled < 0)
    quotient = -(-abs(unscaled) // 10 ** (wanted - exponent))
    return quotient if unscaled > 0 else -quotient


def _magnitude(quantity: Quantity) -> int:
    return len(str(abs(quantity.unscaled))) + quantity.exponent


def _aligned(left: Quantity, right: Quantity) -> tuple[int, int, int]:
    """Both numbers in units of the finer of the two powers of ten."""
    exponent = min(left.exponent, right.exponent)
    return (
        left.unscaled * 10 ** (left.exponent - exponent),
        right.unscaled * 10 ** (right.exponent - exponent),
        exponent,
    )


def _compare(left: Quantity, right: Quantity) -> int:
    if left.exponent == right.exponent:
        return (left.unscaled > right.unscaled) - (left.unscaled < right.unscaled)
    if left.sign != right.sign:
        return left.sign - right.sign
    if left.is_zero:
        return 0
    if (apart := _magnitude(left) - _magnitude(right)) != 0:
        return left.sign if apart > 0 else -left.sign
    first, second, _ = _aligned(left, right)
    return (first > second) - (first < second)


def _canonical_text(quantity: Quantity) -> str:
    if quantity.is_zero:
        return "0"
    if quantity.style == BINARY_SI and (whole := _whole_number(quantity)) is not None and abs(whole) >= 1024:
        number, times = _without_factors(whole, 0, 1024)
        return f"{number}{_BINARY_SUFFIXES.get(times * 10, '')}"
    number, exponent = _without_factors(quantity.unscaled, quantity.exponent, 10)
    excess = exponent % 3
    number, exponent = number * 10**excess, exponent - excess
    if quantity.style == DECIMAL_EXPONENT:
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{_DECIMAL_SUFFIXES.get(exponent, '')}"


def _whole_number(quantity: Quantity) -> int | None:
    if quantity.exponent >= 0:
        return int(quantity.unscaled * 10**quantity.exponent) if quantity.exponent < _MAX_DIGITS_APART else None
    number, remainder = divmod(quantity.unscaled, 10**-quantity.exponent)
    return None if remainder else number


def _without_factors(number: int, times: int, factor: int) -> tuple[int, int]:
    """`number` without factors `factor`, and `times` plus how many there were."""
    if number == 0:
        return 0, 0
    while number % factor == 0:
        number //= factor
        times += 1
    return number, times
