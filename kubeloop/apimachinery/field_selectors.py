"""Field selectors, as in `?fieldSelector=spec.nodeName=node-1,status.phase!=Running`.

The API server parses one a request, asks the kind whether it knows `fields`, and then calls `matches` with the kind's
selectable fields for every object. In values `\\`, `,` and `=` are escaped by a backslash. Semantics and messages are
those of k8s.io/apimachinery/pkg/fields (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kubeloop.apimachinery.selectors import SelectorError

_OPERATOR = re.compile(r"!=|==|=")
_TERM = re.compile(r"(?:[^\\,]|\\.?)*", re.DOTALL)
_ESCAPED = re.compile(r"[\\,=]")


@dataclass(frozen=True, slots=True)
class Term:
    """One field that must have, or must not have, one value."""

    field: str
    value: str
    negated: bool = False

    def __str__(self) -> str:
        return f"{self.field}{'!=' if self.negated else '='}{escape(self.value)}"


class FieldSelector:
    """The conjunction of its terms; without any it selects everything."""

    __slots__ = ("_checks", "terms")

    def __init__(self, terms: Iterable[Term] = ()) -> None:
        self.terms = tuple(terms)
        self._checks = tuple((term.field, term.value, term.negated) for term in self.terms)

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the selectable fields of an object fit; an absent field has the value ""."""
        for name, value, negated in self._checks:  # noqa: SIM110 (a generator would cost more than the loop)
            if (fields.get(name, "") == value) is negated:
                return False
        return True

    @property
    def is_empty(self) -> bool:
        return not self.terms

    @property
    def fields(self) -> tuple[str, ...]:
        """The names used, in the order in which unknown ones are reported."""
        return tuple(term.field for term in self.terms)

    def exact_value(self, name: str) -> str | None:
        """The one value that field `name` must have, or None where the selector leaves it open."""
        return next((term.value for term in self.terms if term.field == name and not term.negated), None)

    def renamed(self, names: Mapping[str, str]) -> FieldSelector:
        """This selector with some fields called otherwise."""
        return FieldSelector(Term(names.get(t.field, t.field), t.value, t.negated) for t in self.terms)

    def __str__(self) -> str:
        return ",".join(map(str, self.terms))

    def __repr__(self) -> str:
        return f"FieldSelector({str(self)!r})"


EVERYTHING = FieldSelector()


def parse(text: str) -> FieldSelector:
    """The selector that `text` spells, its terms sorted; SelectorError where it is malformed."""
    if not text:
        return EVERYTHING
    terms = (_term(part, text) for part in sorted(_split(text)) if part)
    return FieldSelector(term for term in terms if term.field or term.value)  # `=` alone says nothing


def escape(value: str) -> str:
    """A value as it stands in a field selector's text."""
    return _ESCAPED.sub(lambda match: "\\" + match[0], value)


def unescape(text: str) -> str:
    """The value that `text` stands for; SelectorError for a bare `,` or `=` or an unknown escape."""
    if not _ESCAPED.search(text):
        return text
    value = []
    characters = iter(text)
    for character in characters:
        if character == "\\":
            character = next(characters, "")
            if character not in ("\\", ",", "="):
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{character}")
        elif character in (",", "="):
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(character)}")
        value.append(character)
    return "".join(value)


def _split(text: str) -> list[str]:
    """The parts between unescaped commas."""
    parts = []
    position = 0
    while position <= len(text):
        match = _TERM.match(text, position)
        assert match is not None  # it matches the empty text too
        parts.append(match[0])
        position = match.end() + 1
    return parts


def _term(part: str, text: str) -> Term:
    operator = _OPERATOR.search(part)
    if operator is None:
        raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
    return Term(part[: operator.start()], unescape(part[operator.end() :]), negated=operator[0] == "!=")
