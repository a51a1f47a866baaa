"""JSONPath as Kubernetes has it (k8s.io/client-go/util/jsonpath, v1.36): what columns of custom kinds are found by.

`compile_path(".status.conditions[?(@.type=='Ready')].status").find(obj)` gives every match. Templates with text and
range loops are kubectl's business and not needed here.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Values = list[Any]
Step = Callable[[Values], Values]

_TERMINATORS = " \t\r\n.,[]$@{}"
_dict_key = re.compile(r"'([^']*)'")
_slice = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?")
_filter = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_number = re.compile(r"[+-]?[0-9.]*")
_identifier = re.compile(r"\w+")

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
}


class PathError(ValueError):
    """A path that cannot be understood, or that does not fit the object."""


class Path:
    """A compiled path: its steps lead from a list of values to the next, beginning with the object."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = tuple(steps)

    def find(self, obj: Any) -> Values:
        """Every value the path leads to; PathError where it asks for what cannot be (an index of a map)."""
        return self.follow([obj])

    def follow(self, values: Values) -> Values:
        for step in self._steps:
            values = step(values)
        return values


def compile_path(text: str) -> Path:
    """The path that `text` spells (without braces); PathError where it spells none."""
    return Path(list(_Parser(text).steps()))


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def steps(self) -> Iterator[Step]:
        while self._position < len(self._text):
            step = self._step()
            if step is not None:
                yield step

    def _step(self) -> Step | None:
        text, position = self._text, self._position
        if text.startswith("[?(", position):
            return self._filter()
        if text.startswith("..", position):
            return self._recursive()
        character = text[position]
        if character in " @$":
            self._position += 1
            return None
        if character == "[":
            return self._array()
        if character in "\"'":
            return self._quoted(character)
        if character == ".":
            self._position += 1
            return self._field()
        if character in "+-" or character.isdigit():
            return _constant(self._number())
        if character.isalnum() or character == "_":
            return _constant(self._boolean())
        raise PathError(f"unrecognized character in action: {character!r}")

    def _field(self) -> Step:
        """Up to the next character that ends a name; a backslash before one keeps it in."""
        name = ""
        while self._position < len(self._text) and self._text[self._position] not in _TERMINATORS:
            if self._text[self._position] == "\\":
                self._position += 1
            name += self._text[self._position : self._position + 1]
            self._position += 1
        return _children if name == "*" else _named(name)

    def _recursive(self) -> Step:
        self._position += 2
        following = self._text[self._position : self._position + 1]
        if following.isalnum() or following == "_":
            named = self._field()
            return lambda values: named(_descendants(values))
        return _descendants

    def _array(self) -> Step:
        end = self._text.find("]", self._position)
        if end < 0:
            raise PathError("unterminated array")
        inside = self._text[self._position + 1 : end]
        self._position = end + 1
        return _indexed(inside)

    def _filter(self) -> Step:
        start = self._position + len("[?(")
        end = self._closing(start)
        if self._text[end + 1 : end + 2] != "]":
            raise PathError("unclosed array expect ]")
        self._position = end + 2
        inside = self._text[start:end]
        match = _filter.fullmatch(inside)
        if match is None:
            return _having(compile_path(inside))
        left, sign, right = match.groups()
        if sign not in _COMPARISONS:
            raise PathError(f"unrecognized filter operator {sign}")
        return _where(compile_path(left), _COMPARISONS[sign], compile_path(right))

    def _closing(self, start: int) -> int:
        """The position of the `)` that ends a filter: quoted ones do not count."""
        quote = ""
        for i in range(start, len(self._text)):
            character = self._text[i]
            if quote:
                quote = "" if character == quote and self._text[i - 1] != "\\" else quote
            elif character in "\"'":
                quote = character
            elif character == ")":
                return i
        raise PathError("unterminated filter")

    def _quoted(self, quote: str) -> Step:
        end = self._position + 1
        while end < len(self._text) and (self._text[end] != quote or self._text[end - 1] == "\\"):
            end += 1
        if end == len(self._text):
            raise PathError("unterminated quoted string")
        inside = self._text[self._position + 1 : end]
        self._position = end + 1
        return lambda values: [inside.replace("\\" + quote, quote)]

    def _number(self) -> int | float:
        match = _number.match(self._text, self._position)
        assert match is not None  # it matches nothing, too
        self._position = match.end()
        try:
            return float(match[0]) if "." in match[0] else int(match[0])
        except ValueError:
            raise PathError(f"cannot parse number {match[0]}") from None

    def _boolean(self) -> bool:
        match = _identifier.match(self._text, self._position)
        word = match[0] if match else ""
        if word not in ("true", "false"):
            raise PathError(f"unrecognized identifier {word}")
        self._position += len(word)
        return word == "true"


def _indexed(inside: str) -> Step:
    """What stands between brackets: a union, a key in quotes, an index or a slice."""
    if "," in inside:
        parts = [compile_path(f"[{part.strip(' ')}]") for part in inside.split(",")]
        return lambda values: [found for part in parts for found in part.follow(values)]
    key = _dict_key.fullmatch(inside)
    if key is not None:
        return compile_path(f".{key[1]}").follow
    match = _slice.fullmatch(":" if inside == "*" else inside)
    if match is None:
        raise PathError(f"invalid array index {inside}")
    start, end, step = (_bound(part) for part in match.groups())
    is_index = match[2] is None
    if is_index and start is None:
        raise PathError(f"invalid array index {inside}")
    return lambda values: [
        one for value in values if value is not None for one in _cut(value, start, end, step, is_index)
    ]


def _bound(text: str | None) -> int | None:
    digits = (text or "").removeprefix(":")
    return int(digits) if digits not in ("", "-") else None


def _cut(value: Any, start: int | None, end: int | None, step: int | None, is_index: bool) -> Values:
    if not isinstance(value, list):
        raise PathError(f"{type(value).__name__} is not array or slice")
    length = len(value)
    first = _from_end(start or 0, length)
    last = first + 1 if is_index else _from_end(length if end is None else end, length)
    if first == last:
        return []
    if not (0 <= first < len(value) and 0 <= last <= len(value)):
        raise PathError(f"array index out of bounds: index {first}, length {len(value)}")
    if first > last:
        raise PathError(f"starting index {first} is greater than ending index {last}")
    if step is not None and step <= 0:
        raise PathError("step must be > 0")
    return value[first:last:step]


def _from_end(position: int, length: int) -> int:
    return position + length if position < 0 else position


def _named(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _constant(value: Any) -> Step:
    return lambda values: [value] * len(values)


def _children(values: Values) -> Values:
    return [child for value in values for child in _inside(value)]


def _descendants(values: Values) -> Values:
    """Every map and list below, those given among them."""
    found: Values = []
    for value in values:
        children = _inside(value)
        if children:
            found += [value, *_descendants(children)]
    return found


def _inside(value: Any) -> Values:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _having(path: Path) -> Step:
    return lambda values: [one for value in values for one in _elements(value) if path.follow([one])]


def _where(left: Path, compare: Callable[[Any, Any], bool], right: Path) -> Step:
    def keep(one: Any) -> bool:
        lefts, rights = left.follow([one]), right.follow([one])
        if len(lefts) > 1 or len(rights) > 1:
            raise PathError("can only compare one element at a time")
        return bool(lefts and rights) and compare(*_comparable(lefts[0], rights[0]))

    return lambda values: [one for value in values for one in _elements(value) if keep(one)]


def _elements(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise PathError(f"{value} is not array or slice and cannot be filtered")
    return value


def _comparable(left: Any, right: Any) -> tuple[Any, Any]:
    """Both, where they are of one basic type: Go compares nothing else."""
    if type(left) is not type(right) or not isinstance(left, bool | int | float | str):
        raise PathError("incompatible types for comparison")
    return left, right
