"""CEL's standard functions and operators, but for those the compiler evaluates itself (&&, ||, ?:, in, ==, [])."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from kubeloop.apimachinery import go_regexp
from kubeloop.apimachinery.field import go_float, go_quote
from kubeloop.cel.functions import Library, function, library
from kubeloop.cel.times import duration_text, parse_duration, parse_timestamp, timestamp_text
from kubeloop.cel.values import (
    MAX_INT,
    MIN_INT,
    EvaluationError,
    NoSuchOverload,
    TypeValue,
    UInt,
    checked_int,
    type_name,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MIN_SECONDS, MAX_SECONDS = -62135596800, 253402300799  # from the first year to the last
_SIGNED, _DIGITS = re.compile(r"[-+]?[0-9]+"), re.compile(r"[0-9]+")
_DOUBLE = re.compile(r"[-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE)
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


def _not_convertible(to: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from 'string' to '{to}'")


def _to_int(value: Any) -> int:
    if isinstance(value, str):
        if not _SIGNED.fullmatch(value) or not MIN_INT <= int(value) <= MAX_INT:
            raise _not_convertible("int")
        return int(value)
    if isinstance(value, datetime):
        return math.floor(value.timestamp())
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1) * 1000
    if isinstance(value, float) and not math.isfinite(value):
        raise EvaluationError("integer overflow")
    return checked_int(int(value))


def _to_uint(value: Any) -> UInt:
    if isinstance(value, str):
        if not _DIGITS.fullmatch(value) or int(value) >= 2**64:
            raise _not_convertible("uint")
        return UInt(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise EvaluationError("unsigned integer overflow")
    if not 0 <= value < 2**64:
        raise EvaluationError("unsigned integer overflow")
    return UInt(value)


def _to_double(value: Any) -> float:
    if isinstance(value, str) and not _DOUBLE.fullmatch(value):
        raise _not_convertible("double")
    return float(value)


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
    if value in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if value in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise _not_convertible("bool")


def _to_duration(value: Any) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, int):  # nanoseconds
        return timedelta(microseconds=value / 1000)
    try:
        return parse_duration(value)
    except EvaluationError:
        raise _not_convertible("google.protobuf.Duration") from None


def _to_timestamp(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, int):
        if not MIN_SECONDS <= value <= MAX_SECONDS:
            raise EvaluationError("timestamp overflow")
        return EPOCH + timedelta(seconds=value)
    try:
        return parse_timestamp(value)
    except EvaluationError:
        raise _not_convertible("google.protobuf.Timestamp") from None


def _in_zone(moment: datetime, zone: str) -> datetime:
    """The moment by the clocks of a zone: a name, or an offset with a colon."""
    hours, colon, minutes = zone.partition(":")
    if colon:
        for number in (hours, minutes):
            if not _SIGNED.fullmatch(number):
                raise EvaluationError(f"strconv.Atoi: parsing {go_quote(number)}: invalid syntax")
        offset = int(hours) * 60 + (-int(minutes) if zone.startswith("-") else int(minutes))
        return moment.astimezone(UTC) + timedelta(minutes=offset)
    try:
        return moment.astimezone(ZoneInfo(zone) if zone else UTC)
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
    function(
        "int", _to_int, *(f"({kind}) int" for kind in ("int", "uint", "double", "string", "timestamp", "duration"))
    ),
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
