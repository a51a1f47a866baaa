"""The functions of templates that give the same for the same: Go's own, kwok's, and those of sprig that stages use.

Names and meanings are those of text/template, https://masterminds.github.io/sprig and kwok's pkg/utils/gotpl. What
depends on the time, on chance or on the object is in surroundings.py. Lists and mappings are never changed: `set` and
the like are missing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubelet_sim.stages.expression import StageError
from kubeloop.apimachinery.yaml_text import parse_yaml

_MOST = 10_000  # turns, characters, items: a template must not fill the memory
_MOST_TEXT = 1_500_000  # that is added to a text at once: no object is larger
_VERB = re.compile(r"%(?P<flags>[-+ 0#]*)(?P<width>\d*)(?:\.(?P<precision>\d+))?(?P<verb>[a-zA-Z%])")


def spelled(value: Any) -> str:
    """As text: nothing for what is not there, JSON for lists and mappings."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)


def yaml_block(value: Any, levels: int = 0) -> str:
    """kwok's `YAML`: block style; with levels on lines of its own, each level two spaces in."""
    lines = _lines(value)
    if levels <= 0:
        return "\n".join(lines) + "\n"
    pad = "\n" + "  " * levels
    return pad + pad.join(lines)


def _lines(value: Any) -> list[str]:
    """Scalars and keys as JSON, which no reader of YAML takes for anything else."""
    if isinstance(value, Mapping) and value:
        return [line for key, one in value.items() for line in _entry(f"{json.dumps(str(key))}:", one)]
    if isinstance(value, list) and value:
        return [line for one in value for line in _item(_lines(one))]
    return [json.dumps(value)]


def _entry(head: str, value: Any) -> list[str]:
    lines = _lines(value)
    if isinstance(value, (Mapping, list)) and value:
        return [head, *(f"  {line}" for line in lines)]
    return [f"{head} {lines[0]}"]


def _item(lines: Sequence[str]) -> list[str]:
    return [f"- {lines[0]}", *(f"  {line}" for line in lines[1:])]


def printf(text: str, *values: Any) -> str:
    """Go's fmt.Sprintf, with the verbs that texts and numbers have."""
    left = list(values)

    def put(match: re.Match[str]) -> str:
        verb = match["verb"]
        if verb == "%":
            return "%"
        if not left:
            return f"%!{verb}(MISSING)"
        return _printed(verb, match, left.pop(0))

    printed = _VERB.sub(put, text)
    return printed + "".join(f"%!(EXTRA {spelled(value)})" for value in left)


def _printed(verb: str, match: re.Match[str], value: Any) -> str:
    flags, width = match["flags"], min(int(match["width"] or 0), _MOST)
    if verb in "sv":
        text = spelled(value)
    elif verb == "q":
        text = json.dumps(spelled(value))
    elif verb == "t":
        text = spelled(bool(value))
    elif verb in "dxXobc" and isinstance(value, int):
        text = format(value, ("+" if "+" in flags else "") + verb)
    elif verb in "feEgG" and isinstance(value, (int, float)):
        text = format(float(value), f".{min(int(match['precision'] or 6), 100)}{verb}")
    else:
        return f"%!{verb}({type(value).__name__}={spelled(value)})"
    if "-" in flags:
        return text.ljust(width)
    return text.zfill(width) if "0" in flags and verb not in "svqt" else text.rjust(width)


# --- logic and comparison


def _or(*values: Any) -> Any:
    return next((value for value in values if value), values[-1])


def _and(*values: Any) -> Any:
    return next((value for value in values if not value), values[-1])


def _ternary(yes: Any, no: Any, holds: Any) -> Any:
    return yes if holds else no


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def function(left: Any, right: Any) -> bool:
        if isinstance(left, str) != isinstance(right, str):
            raise StageError(f"{spelled(left)} and {spelled(right)} cannot be compared")
        return compare(left, right)

    return function


# --- lists and mappings


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        if isinstance(value, (list, str)):
            value = value[key] if isinstance(key, int) and 0 <= key < len(value) else None
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _slice(value: Any, start: int = 0, end: int | None = None) -> Any:
    return value[start:end]


def _dict(*pairs: Any) -> dict[str, Any]:
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


def _merge(*mappings: Mapping[str, Any]) -> dict[str, Any]:
    """The first that has a key is right."""
    merged: dict[str, Any] = {}
    for mapping in reversed(mappings):
        merged |= mapping or {}
    return merged


def _unique(values: Sequence[Any]) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        if value not in kept:
            kept.append(value)
    return kept


def _until(count: int) -> list[int]:
    return list(range(_bounded(count)))


def _bounded(count: int) -> int:
    if count > _MOST:
        raise StageError(f"{count} are too many: {_MOST} at most")
    return count


# --- texts


def _trunc(length: int, text: str) -> str:
    return text[:length] if length >= 0 else text[length:]


def _lines_in(width: int, text: str) -> str:
    _bounded_text(width * (text.count("\n") + 1))
    pad = " " * width
    return pad + text.replace("\n", "\n" + pad)


def _replaced(old: str, new: str, text: str) -> str:
    _bounded_text(text.count(old) * len(new))
    return text.replace(old, new)


def _joined(separator: str, values: Sequence[Any] | None) -> str:
    texts = list(map(spelled, values or ()))
    _bounded_text(len(texts) * len(separator))
    return separator.join(texts)


def _bounded_text(length: int) -> None:
    if length > _MOST_TEXT:
        raise StageError(f"a text of {length} characters is too long: {_MOST_TEXT} at most")


def _repeat(count: int, text: str) -> str:
    _bounded(count * max(len(text), 1))
    return text * count


# --- numbers


def _number(value: Any) -> int | float:
    if isinstance(value, (int, float)):
        return value
    try:
        return int(value, 0)
    except (ValueError, TypeError):
        return _float(value)


def _float(value: Any) -> float:
    try:
        return float(value)
    except (ValueError, TypeError):
        return 0.0


def _int(value: Any) -> int:
    number = _number(value)
    return int(number) if math.isfinite(number) else 0


def _divided(left: Any, right: Any) -> int:
    """As in Go: towards zero."""
    quotient = abs(_int(left)) // abs(_int(right))
    return quotient if (_int(left) < 0) == (_int(right) < 0) else -quotient


def _required(message: str, value: Any) -> Any:
    if value in (None, ""):
        raise StageError(message)
    return value


def _fail(message: str) -> str:
    raise StageError(message)


_GO: Mapping[str, Callable[..., Any]] = {
    "or": _or,
    "and": _and,
    "not": lambda value: not value,
    "eq": lambda first, *others: first in others,
    "ne": lambda first, second: first != second,
    "lt": _compared(lambda left, right: left < right),
    "le": _compared(lambda left, right: left <= right),
    "gt": _compared(lambda left, right: left > right),
    "ge": _compared(lambda left, right: left >= right),
    "index": _index,
    "slice": _slice,
    "len": lambda value: len(value or ()),
    "print": lambda *values: "".join(map(spelled, values)),
    "println": lambda *values: " ".join(map(spelled, values)) + "\n",
    "printf": printf,
}
_KWOK: Mapping[str, Callable[..., Any]] = {
    "Quote": lambda value: json.dumps(spelled(value)),
    "YAML": yaml_block,
}
_SPRIG: Mapping[str, Callable[..., Any]] = {
    # what to take
    "default": lambda default, value=None: value or default,
    "empty": lambda value: not value,
    "coalesce": lambda *values: next((value for value in values if value), None),
    "ternary": _ternary,
    "required": _required,
    "fail": _fail,
    # lists and mappings
    "list": lambda *values: list(values),
    "first": lambda values: values[0] if values else None,
    "last": lambda values: values[-1] if values else None,
    "rest": lambda values: list(values[1:]),
    "initial": lambda values: list(values[:-1]),
    "append": lambda values, value: [*values, value],
    "prepend": lambda values, value: [value, *values],
    "concat": lambda *lists: [value for values in lists for value in values],
    "has": lambda value, values: value in (values or ()),
    "without": lambda values, *gone: [value for value in values if value not in gone],
    "uniq": _unique,
    "reverse": lambda values: list(reversed(values)),
    "sortAlpha": lambda values: sorted(map(spelled, values)),
    "until": _until,
    "dict": _dict,
    "get": lambda mapping, key: (mapping or {}).get(key, ""),
    "hasKey": lambda mapping, key: key in (mapping or {}),
    "keys": lambda mapping: list(mapping or {}),
    "values": lambda mapping: list((mapping or {}).values()),
    "pick": lambda mapping, *keys: {key: mapping[key] for key in keys if key in mapping},
    "omit": lambda mapping, *keys: {key: value for key, value in mapping.items() if key not in keys},
    "merge": _merge,
    # texts
    "quote": lambda *values: " ".join(json.dumps(spelled(value)) for value in values if value is not None),
    "squote": lambda *values: " ".join(f"'{spelled(value)}'" for value in values if value is not None),
    "upper": lambda text: text.upper(),
    "lower": lambda text: text.lower(),
    "trim": lambda text: text.strip(),
    "trimAll": lambda characters, text: text.strip(characters),
    "trimPrefix": lambda prefix, text: text.removeprefix(prefix),
    "trimSuffix": lambda suffix, text: text.removesuffix(suffix),
    "trunc": _trunc,
    "substr": lambda start, end, text: text[start : end if end >= 0 else None],
    "contains": lambda part, text: part in text,
    "hasPrefix": lambda prefix, text: text.startswith(prefix),
    "hasSuffix": lambda suffix, text: text.endswith(suffix),
    "replace": _replaced,
    "repeat": _repeat,
    "join": _joined,
    "splitList": lambda separator, text: text.split(separator),
    "indent": _lines_in,
    "nindent": lambda width, text: "\n" + _lines_in(width, text),
    "toString": spelled,
    "toJson": lambda value: json.dumps(value),
    "fromJson": lambda text: json.loads(text),
    "toYaml": lambda value: yaml_block(value).rstrip("\n"),
    "fromYaml": lambda text: parse_yaml(text.encode()),
    "b64enc": lambda text: base64.b64encode(text.encode()).decode(),
    "b64dec": lambda text: base64.b64decode(text).decode("utf-8", "replace"),
    "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    # numbers
    "add": lambda *values: sum(map(_int, values)),
    "add1": lambda value: _int(value) + 1,
    "sub": lambda left, right: _int(left) - _int(right),
    "mul": lambda *values: math.prod(map(_int, values)),
    "div": _divided,
    "mod": lambda left, right: int(math.fmod(_int(left), _int(right))),
    "max": lambda *values: max(map(_int, values)),
    "min": lambda *values: min(map(_int, values)),
    "floor": lambda value: math.floor(_number(value)),
    "ceil": lambda value: math.ceil(_number(value)),
    "int": _int,
    "int64": _int,
    "float64": _float,
}
BUILT_IN: Mapping[str, Callable[..., Any]] = {**_GO, **_SPRIG, **_KWOK}
