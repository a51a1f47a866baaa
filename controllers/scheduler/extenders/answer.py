"""An answer of an extender, read as Go's encoding/json reads it: names in any case, null and absent are nothing.

What is of another type is refused in its words (ExtenderFailed).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from controllers.scheduler.extenders.calls import ExtenderFailed

T = TypeVar("T")


class Answer:
    """One object of it; `kind` is the name of its type."""

    def __init__(self, value: Any, kind: str) -> None:
        self._kind = kind
        self._fields = {
            name.lower(): inner for name, inner in _checked(value, dict, f"value of type v1.{kind}").items()
        }

    def text(self, name: str) -> str:
        return self._get(name, str, "string")

    def number(self, name: str) -> int:
        return self._get(name, int, "int64")

    def texts(self, name: str) -> Sequence[str] | None:
        """None where nothing is said."""
        if self._fields.get(name.lower()) is None:
            return None
        return [self._checked(name, one, str, "string") for one in self._get(name, list, "[]string")]

    def texts_by_name(self, name: str) -> Mapping[str, str]:
        found = self._get(name, dict, "map[string]string")
        return {key: self._checked(name, one, str, "string") for key, one in found.items()}

    def inner(self, name: str, kind: str) -> Answer:
        return Answer(self._get(name, dict, f"v1.{kind}"), kind)

    def inners(self, name: str, kind: str) -> Sequence[Answer]:
        return [Answer(one, kind) for one in self._get(name, list, f"[]v1.{kind}")]

    def inner_by_name(self, name: str, kind: str) -> Mapping[str, Answer]:
        found = self._get(name, dict, f"map[string]*v1.{kind}")
        return {key: Answer(one, kind) for key, one in found.items()}

    def _get(self, name: str, wanted: type[T], go_type: str) -> T:
        return self._checked(name, self._fields.get(name.lower()), wanted, go_type)

    def _checked(self, name: str, value: Any, wanted: type[T], go_type: str) -> T:
        return _checked(value, wanted, f"struct field {self._kind}.{name} of type {go_type}")


def answers(value: Any, kind: str) -> Sequence[Answer]:
    """Of an answer that is a list."""
    return [Answer(one, kind) for one in _checked(value, list, f"value of type v1.{kind}List")]


def _checked(value: Any, wanted: type[T], what: str) -> T:
    if value is None:
        return wanted()
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise ExtenderFailed(f"json: cannot unmarshal {_json_type(value)} into Go {what}")
    return value


def _json_type(value: Any) -> str:
    names = {bool: "bool", str: "string", int: "number", float: "number", list: "array"}
    return names.get(type(value), "object")
