"""Label selectors: written as text in a URL, as `matchLabels` and `matchExpressions` in an object, or as a plain map.

All three become a `Selector`, whose `matches` runs for every object of a list and every event of a watch and is
therefore built once, in advance. Text is parsed in `selector_text`; selectors on fields are in `field_selectors`.
Semantics and messages are those of k8s.io/apimachinery/pkg/labels and meta/v1 (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.metadata_validation import label_key_errors, labels_errors

Labels = Mapping[str, str]
Test = Callable[[Labels], bool]

IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GREATER, LESS = "in", "notin", "exists", "!", "gt", "lt"
EQUALS, DOUBLE_EQUALS, NOT_EQUALS = "=", "==", "!="

# How objects spell the operators; Gt and Lt only in node selectors.
_LABEL_SELECTOR_OPERATORS = {"In": IN, "NotIn": NOT_IN, "Exists": EXISTS, "DoesNotExist": DOES_NOT_EXIST}
NODE_SELECTOR_OPERATORS = {**_LABEL_SELECTOR_OPERATORS, "Gt": GREATER, "Lt": LESS}

_SIGNS = {EQUALS: "=", DOUBLE_EQUALS: "==", NOT_EQUALS: "!=", GREATER: ">", LESS: "<"}
_is_integer = re.compile(r"[+-]?[0-9]+").fullmatch


class SelectorError(ValueError):
    """A selector that cannot be understood; the message is what the API answers with 400."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.operator == EXISTS:
            return self.key
        if self.operator == DOES_NOT_EXIST:
            return f"!{self.key}"
        values = ",".join(sorted(self.values))
        if self.operator in (IN, NOT_IN):
            return f"{self.key} {self.operator} ({values})"
        return f"{self.key}{_SIGNS[self.operator]}{values}"


class Selector:
    """The conjunction of its requirements, ordered by key; without any it selects everything."""

    __slots__ = ("_equal", "_hash", "_tests", "requirements")

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        # Nearly all selectors only compare labels with one value each: those are kept apart and need no calls.
        self._equal = tuple((r.key, r.values[0]) for r in self.requirements if _wants_one_value(r))
        self._tests = tuple(_test(r) for r in self.requirements if not _wants_one_value(r))
        self._hash = 0  # not worked out yet: few selectors are keys, and those are looked up often

    def matches(self, labels: Labels) -> bool:
        for key, value in self._equal:
            if labels.get(key) != value:
                return False
        for test in self._tests:  # noqa: SIM110 (a generator would cost more than the loop)
            if not test(labels):
                return False
        return True

    @property
    def is_empty(self) -> bool:
        """Whether it selects everything."""
        return not self.requirements

    def exact_value(self, key: str) -> str | None:
        """The one value that the label `key` must have, or None where the selector leaves it open."""
        return next((value for name, value in self._equal if name == key), None)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.requirements == other.requirements

    def __hash__(self) -> int:
        if not self._hash:
            self._hash = hash((type(self), self.requirements))
        return self._hash


class _Nothing(Selector):
    """What an absent selector selects."""

    __slots__ = ()

    def matches(self, labels: Labels) -> bool:
        return False

    @property
    def is_empty(self) -> bool:
        return False


EVERYTHING = Selector()
NOTHING = _Nothing()


def from_labels(labels: Labels | None) -> Selector:
    """The selector of a plain map (a Service's or ReplicationController's); no entries select everything."""
    return Selector(Requirement(key, EQUALS, (value,)) for key, value in (labels or {}).items())


def from_label_selector(selector: Mapping[str, Any] | None) -> Selector:
    """The selector of a `metav1.LabelSelector`: None selects nothing, `{}` everything; SelectorError where invalid."""
    if selector is None:
        return NOTHING
    requirements = [requirement(k, EQUALS, (v,)) for k, v in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        operator = expression.get("operator", "")
        if operator not in _LABEL_SELECTOR_OPERATORS:
            raise SelectorError(f"{field.go_quote(operator)} is not a valid label selector operator")
        requirements.append(_from_expression(expression, _LABEL_SELECTOR_OPERATORS[operator]))
    return Selector(requirements) if requirements else EVERYTHING


def from_node_expressions(expressions: Sequence[Mapping[str, Any]]) -> Selector:
    """The selector of a node selector term's `matchExpressions`; no expressions select nothing."""
    if not expressions:
        return NOTHING
    requirements = []
    for expression in expressions:
        operator = expression.get("operator", "")
        if operator not in NODE_SELECTOR_OPERATORS:
            raise SelectorError(f"{field.go_quote(operator)} is not a valid node selector operator")
        requirements.append(_from_expression(expression, NODE_SELECTOR_OPERATORS[operator]))
    return Selector(requirements)


def requirement(key: str, operator: str, values: Sequence[str] = ()) -> Requirement:
    """A checked requirement; SelectorError says all that is wrong with it."""
    if errors := _requirement_errors(key, operator, values):
        texts = list(dict.fromkeys(map(str, errors)))
        raise SelectorError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    return Requirement(key, operator, tuple(values))


def label_selector_errors(
    selector: Mapping[str, Any] | None,
    path: str,
    *,
    allow_invalid_values: bool = False,
    allow_unknown_operators: bool = False,
) -> list[FieldError]:
    """What is wrong with a `metav1.LabelSelector` at `path`; None is fine, whether it may be absent is the kind's say.

    Invalid values are let pass where a stored object has some already, unknown operators in access reviews.
    """
    if selector is None:
        return []
    errors = labels_errors(selector.get("matchLabels") or {}, field.child(path, "matchLabels"))
    for i, expression in enumerate(selector.get("matchExpressions") or ()):
        at = field.index(field.child(path, "matchExpressions"), i)
        errors += expression_errors(expression, at, allow_invalid_values, allow_unknown_operators)
    return errors


def expression_errors(
    expression: Mapping[str, Any], path: str, allow_invalid_values: bool = False, allow_unknown_operators: bool = False
) -> list[FieldError]:
    """What is wrong with one `metav1.LabelSelectorRequirement` at `path`."""
    errors = _operator_errors(expression, path, allow_unknown_operators)
    errors += label_key_errors(expression.get("key", ""), field.child(path, "key"))
    if not allow_invalid_values:
        errors += _value_errors(expression.get("values") or (), field.child(path, "values"))
    return errors


def _from_expression(expression: Mapping[str, Any], operator: str) -> Requirement:
    return requirement(expression.get("key", ""), operator, tuple(expression.get("values") or ()))


def _operator_errors(expression: Mapping[str, Any], path: str, allow_unknown: bool) -> list[FieldError]:
    operator, values = expression.get("operator", ""), expression.get("values")
    if operator in ("In", "NotIn"):
        why = "must be specified when `operator` is 'In' or 'NotIn'"
        return [] if values else [field.required(field.child(path, "values"), why)]
    if operator in ("Exists", "DoesNotExist"):
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [field.forbidden(field.child(path, "values"), why)] if values else []
    if allow_unknown:
        return []
    return [field.invalid(field.child(path, "operator"), operator, "not a valid selector operator")]


def _value_errors(values: Sequence[str], path: str) -> list[FieldError]:
    return [
        field.invalid(field.index(path, i), value, reason)
        for i, value in enumerate(values)
        for reason in validation.label_value_errors(value)
    ]


def _requirement_errors(key: str, operator: str, values: Sequence[str]) -> list[FieldError]:
    errors = []
    if reasons := validation.qualified_name_errors(key):
        errors.append(field.invalid("key", key, "; ".join(reasons)))
    if operator in (IN, NOT_IN) and not values:
        errors.append(field.invalid("values", [], "for 'in', 'notin' operators, values set can't be empty"))
    elif operator in (EQUALS, DOUBLE_EQUALS, NOT_EQUALS) and len(values) != 1:
        errors.append(field.invalid("values", list(values), "exact-match compatibility requires one single value"))
    elif operator in (EXISTS, DOES_NOT_EXIST) and values:
        why = "values set must be empty for exists and does not exist"
        errors.append(field.invalid("values", list(values), why))
    elif operator in (GREATER, LESS):
        errors += _comparison_errors(values)
    for i, value in enumerate(values):
        if reasons := validation.label_value_errors(value):
            errors.append(field.invalid(f"values[{i}][{key}]", value, "; ".join(reasons)))
    return errors


def _comparison_errors(values: Sequence[str]) -> list[FieldError]:
    errors = []
    if len(values) != 1:
        errors.append(field.invalid("values", list(values), "for 'Gt', 'Lt' operators, exactly one value is required"))
    why = "for 'Gt', 'Lt' operators, the value must be an integer"
    errors += [field.invalid(f"values[{i}]", v, why) for i, v in enumerate(values) if _integer(v) is None]
    return errors


def _wants_one_value(wanted: Requirement) -> bool:
    return wanted.operator in (EQUALS, DOUBLE_EQUALS, IN) and len(wanted.values) == 1


def _test(wanted: Requirement) -> Test:
    key, values = wanted.key, frozenset(wanted.values)
    if wanted.operator in (GREATER, LESS):
        return _comparison(key, wanted.operator, _integer(wanted.values[0]))
    tests: dict[str, Test] = {
        IN: lambda labels: labels.get(key) in values,
        NOT_IN: lambda labels: labels.get(key) not in values,
        NOT_EQUALS: lambda labels: labels.get(key) not in values,
        EXISTS: lambda labels: key in labels,
        DOES_NOT_EXIST: lambda labels: key not in labels,
    }
    return tests[wanted.operator]


def _comparison(key: str, operator: str, bound: int | None) -> Test:
    def test(labels: Labels) -> bool:
        number = _integer(labels.get(key, ""))
        if number is None or bound is None:
            return False
        return number > bound if operator == GREATER else number < bound

    return test


def _integer(text: str) -> int | None:
    """A decimal 64-bit integer, as strconv.ParseInt reads it."""
    if not _is_integer(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
