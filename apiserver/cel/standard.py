"""CEL's standard functions and operators, but for those the compiler evaluates itself (&&, ||, ?:, in, ==, [])."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from apiserver.cel.functions import Library, function, library
from apiserver.cel.times import duration_text, parse_duration, parse_timestamp, timestamp_text
from apiserver.cel.values import EvaluationError, NoSuchOverload, TypeValue, UInt, checked_int, type_name
from kubeloop.apimachinery import go_regexp
from kubeloop.apimachinery.field import go_float

_NUMBERS = ("int", "uint", "double")
_ORDERED = (
    *(f"({a}, {b}) bool" for a in _NUMBERS for b in _NUMBERS),
    *(f"({name}, {name}) bool" for name in ("bool", "string", "bytes", "timestamp", "duration")),
)
_MATH = tuple(f"({name}, {name}) {name}" for name in _NUMBERS)


def _number(value: int | float, like: Any) -> Any:
    """A result of arithmetic, of the type of its operands."""
    if isinstance(like, float):
        return float(value)
    if isinstance(like, UInt):
        if not 0 <= value < 2**64:
            raise EvaluationError("unsigned integer overflow")
        return UInt(value)
    return checked_int(int(value))


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, int | float) and not isinstance(left, bool):
        return _number(left + right, left)
    try:
        return left + right
    except OverflowError as error:
        raise EvaluationError("timestamp overflow") from error


def _subtract(left: Any, right: Any) -> Any:
    return _number(left - right, left) if isinstance(left, int | float) else left - right


def _multiply(left: Any, right: Any) -> Any:
    return _number(left * right, left)


def _divide(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        if right == 0:
            return (
                math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
            )
        return left / right
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return _number(quotient if (left < 0) == (right < 0) else -quotient, left)


def _modulo(left: Any, right: Any) -> Any:
    if right == 0:
        raise EvaluationError("modulus by zero")
    remainder = abs(left) % abs(right)
    return _number(-remainder if left < 0 else remainder, left)


def _negate(value: Any) -> Any:
    return -value if isinstance(value, float) else checked_int(-value)


def _size(value: Any) -> int:
    return len(value)


def _matches(text: str, pattern: str) -> bool:
    try:
        return go_regexp.compile_pattern(pattern).matches(text)
    except go_regexp.PatternError as error:
        raise EvaluationError(str(error)) from error


def _to_int(value: Any) -> int:
    if isinstance(value, str):
        try:
            return checked_int(int(value, 10))
        except ValueError as error:
            raise EvaluationError(f'strconv.ParseInt: parsing "{value}": invalid syntax') from error
    if isinstance(value, datetime):
        return int(value.timestamp())
    if isinstance(value, float) and not math.isfinite(value):
        raise EvaluationError("integer overflow")
    return checked_int(int(value))


def _to_uint(value: Any) -> UInt:
    try:
        number = int(value)
    except (ValueError, OverflowError) as error:
        raise EvaluationError(f'strconv.ParseUint: parsing "{value}": invalid syntax') from error
    if not 0 <= number < 2**64:
        raise EvaluationError("unsigned integer overflow")
    return UInt(number)


def _to_double(value: Any) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise EvaluationError(f'strconv.ParseFloat: parsing "{value}": invalid syntax') from error


def to_string(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case float():
            return go_float(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError as error:
                raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from error
        case timedelta():
            return duration_text(value)
        case datetime():
            return timestamp_text(value)
        case _:
            return str(value)


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    known = {"1": True, "t": True, "T": True, "true": True, "TRUE": True, "True": True}
    known |= {"0": False, "f": False, "F": False, "false": False, "FALSE": False, "False": False}
    if value not in known:
        raise EvaluationError(f'strconv.ParseBool: parsing "{value}": invalid syntax')
    return known[value]


def _to_duration(value: Any) -> timedelta:
    if isinstance(value, timedelta):
        return value
    return parse_duration(value) if isinstance(value, str) else timedelta(seconds=value)


def _to_timestamp(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    return parse_timestamp(value) if isinstance(value, str) else datetime.fromtimestamp(value, UTC)


def _in_zone(moment: datetime, zone: str) -> datetime:
    if zone[:1] in "+-" or zone[:1].isdigit():
        sign = -1 if zone.startswith("-") else 1
        hours, _, minutes = zone.lstrip("+-").partition(":")
        return moment.astimezone(UTC) + sign * timedelta(hours=int(hours), minutes=int(minutes or 0))
    try:
        return moment.astimezone(ZoneInfo(zone))
    except (KeyError, ValueError, OSError) as error:
        raise EvaluationError(f"unknown time zone {zone}") from error


def _part(name: str, of_moment: Any, of_duration: Any = None) -> Any:
    def part(value: Any, zone: str = "UTC") -> int:
        if isinstance(value, timedelta):
            if of_duration is None:
                raise NoSuchOverload
            return int(of_duration(value))
        return int(of_moment(_in_zone(value, zone)))

    signatures = ["timestamp.() int", "timestamp.(string) int"]
    if of_duration is not None:
        signatures.append("duration.() int")
    return function(name, part, *signatures)


STANDARD: Library = library(
    function("_<_", lambda a, b: a < b, *_ORDERED),
    function("_<=_", lambda a, b: a <= b, *_ORDERED),
    function("_>_", lambda a, b: a > b, *_ORDERED),
    function("_>=_", lambda a, b: a >= b, *_ORDERED),
    function(
        "_+_",
        _add,
        *_MATH,
        "(string, string) string",
        "(bytes, bytes) bytes",
        "(list(A), list(A)) list(A)",
        "(timestamp, duration) timestamp",
        "(duration, timestamp) timestamp",
        "(duration, duration) duration",
    ),
    function(
        "_-_",
        _subtract,
        *_MATH,
        "(timestamp, timestamp) duration",
        "(timestamp, duration) timestamp",
        "(duration, duration) duration",
    ),
    function("_*_", _multiply, *_MATH),
    function("_/_", _divide, *_MATH),
    function("_%_", _modulo, "(int, int) int", "(uint, uint) uint"),
    function("-_", _negate, "(int) int", "(double) double"),
    function("!_", lambda value: not value, "(bool) bool"),
    function(
        "size",
        _size,
        *(
            f"{form} int"
            for kind in ("string", "bytes", "list(A)", "map(A, B)")
            for form in (f"({kind})", f"{kind}.()")
        ),
    ),
    function("matches", _matches, "string.(string) bool", "(string, string) bool"),
    function("startsWith", lambda text, part: text.startswith(part), "string.(string) bool"),
    function("endsWith", lambda text, part: text.endswith(part), "string.(string) bool"),
    function("contains", lambda text, part: part in text, "string.(string) bool"),
    function("int", _to_int, *(f"({kind}) int" for kind in ("int", "uint", "double", "string", "timestamp"))),
    function("uint", _to_uint, *(f"({kind}) uint" for kind in ("uint", "int", "double", "string"))),
    function("double", _to_double, *(f"({kind}) double" for kind in ("double", "int", "uint", "string"))),
    function(
        "string",
        to_string,
        *(
            f"({kind}) string"
            for kind in ("string", "bool", "int", "uint", "double", "bytes", "timestamp", "duration", "ip", "cidr")
        ),
    ),
    function("bool", _to_bool, "(bool) bool", "(string) bool"),
    function("bytes", lambda v: v.encode() if isinstance(v, str) else v, "(bytes) bytes", "(string) bytes"),
    function("duration", _to_duration, "(duration) duration", "(string) duration", "(int) duration"),
    function("timestamp", _to_timestamp, "(timestamp) timestamp", "(string) timestamp", "(int) timestamp"),
    function("dyn", lambda value: value, "(A) dyn"),
    function("type", lambda value: TypeValue(type_name(value)), "(A) type(A)"),
    _part("getFullYear", lambda t: t.year),
    _part("getMonth", lambda t: t.month - 1),
    _part("getDate", lambda t: t.day),
    _part("getDayOfMonth", lambda t: t.day - 1),
    _part("getDayOfWeek", lambda t: t.isoweekday() % 7),
    _part("getDayOfYear", lambda t: t.timetuple().tm_yday - 1),
    _part("getHours", lambda t: t.hour, lambda d: d.total_seconds() / 3600),
    _part("getMinutes", lambda t: t.minute, lambda d: d.total_seconds() / 60),
    _part("getSeconds", lambda t: t.second, lambda d: d.total_seconds()),
    _part("getMilliseconds", lambda t: t.microsecond // 1000, lambda d: d.total_seconds() * 1000),
)
