"""Rules in CEL (`x-kubernetes-validations`): compiled from a schema, run on objects.

Imported only where a schema has rules. Facts: apiextensions-apiserver/pkg/apiserver/schema/cel (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as field_of
from typing import Any

from apiserver.schema.field_paths import PathError, find_field
from apiserver.schema.old_values import UNKNOWN, old_elements, old_field, same_value
from kubeloop.apimachinery import field
from kubeloop.apimachinery.field import FieldError, go_value
from kubeloop.apimachinery.json_schema import MAP_TYPE, RULES, Schema, additional_of, items_of, properties_of
from kubeloop.cel.comprehensions import TOO_LONG
from kubeloop.cel.environment import Budget, Environment, OutOfBudget, Program
from kubeloop.cel.schema_types import converted, needs_conversion, type_of, with_type_and_metadata
from kubeloop.cel.syntax import CompileError
from kubeloop.cel.types import BOOL, DYN, STRING, Type, optional_of
from kubeloop.cel.values import NONE, EvaluationError, Optional

MAX_MESSAGE_BYTES = 5 * 1024
ROOT = "<nil>"  # how the path of the object itself is printed

Rule = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule, or why it is none. `message` is the program of its messageExpression."""

    rule: Rule
    program: Program | None
    error: str = ""
    message: Program | None = None
    message_error: str = ""
    field_path: str = ""

    @property
    def uses_old_self(self) -> bool:
        return self.program is not None and "oldSelf" in self.program.names

    @property
    def has_optional_old_self(self) -> bool:
        return bool(self.rule.get("optionalOldSelf"))


def compiled_rules(schema: Schema, type_: Type) -> list[CompiledRule]:
    """The rules of one place in a schema."""
    strict = Environment({"self": type_, "oldSelf": type_})
    lenient = Environment({"self": type_, "oldSelf": optional_of(type_)})
    rules: list[Rule] = schema.get(RULES) or []
    return [_compiled(rule, lenient if rule.get("optionalOldSelf") else strict, schema) for rule in rules]


def _compiled(rule: Rule, environment: Environment, schema: Schema) -> CompiledRule:
    source = rule.get("rule", "")
    if not source.strip():
        return CompiledRule(rule, None)
    try:
        program = environment.compile(source)
    except CompileError as error:
        return CompiledRule(rule, None, error.told)
    if program.type != BOOL:
        return CompiledRule(rule, None, "cel expression must evaluate to a bool")
    message, why = _message(rule.get("messageExpression", ""), environment)
    try:
        path = find_field(rule.get("fieldPath", "").strip(), schema).text
    except PathError:
        path = ""
    return CompiledRule(rule, program, "", message, why, path)


def _message(source: str, environment: Environment) -> tuple[Program | None, str]:
    if not source:
        return None, ""
    try:
        program = environment.compile(source)
    except CompileError as error:
        return None, f"messageExpression {error.told}"
    if program.type != STRING:
        return None, "messageExpression must evaluate to a string"
    return program, ""


@dataclass(frozen=True, slots=True)
class Before:
    """The old value that belongs to a value, UNKNOWN if none does; and the value that encloses it, with its own."""

    value: Any
    outer: Before | None = None
    outer_value: Any = None

    def has_same(self, value: Any) -> bool:
        """Whether nothing changed: here, or where that cannot be told in what encloses it."""
        if self.value is not UNKNOWN:
            return same_value(self.value, value)
        return self.outer is not None and self.outer.has_same(self.outer_value)


@dataclass(slots=True)
class Run:
    """One validation of an object: what it may still cost, and what is wrong with what was wrong before."""

    budget: Budget = field_of(default_factory=Budget)
    is_over: bool = False  # it cost too much: no further rule is run
    ratcheted: list[FieldError] = field_of(default_factory=list)


class RuleTree:
    """The rules of a schema and of what is in it; made by `rule_tree`, which leaves out parts without any."""

    def __init__(self, schema: Schema, type_: Type | None, *, is_root: bool = False) -> None:
        self.schema = schema
        self._rules = compiled_rules(schema, type_ or DYN) if schema.get(RULES) else []
        self._type = type_
        self._converts = type_ is not None and bool(self._rules) and needs_conversion(type_)
        known = properties_of(with_type_and_metadata(schema) if is_root else schema)
        parts = {name: rule_tree(properties_of(schema).get(name, part)) for name, part in known.items()}
        self._properties = {name: part for name, part in parts.items() if part is not None}
        self._additional = rule_tree(additional_of(schema))
        self._items = rule_tree(items_of(schema))
        nested = [rule_tree({**schema, RULES: part[RULES], "allOf": ()}) for part in _ruled(schema)]
        self._all_of = [tree for tree in nested if tree is not None]

    @property
    def is_empty(self) -> bool:
        return not (self._rules or self._properties or self._additional or self._items or self._all_of)

    def errors(self, value: Any, before: Before, path: str = "", run: Run | None = None) -> Iterator[FieldError]:
        """What the rules say of a value and of what is in it, outer rules first."""
        run = run or Run()
        if value is None or run.is_over:
            return
        yield from self._own_errors(value, before, path, run)
        for tree in self._all_of:
            yield from tree._own_errors(value, before, path, run)
        if isinstance(value, dict):
            yield from self._field_errors(value, before, path, run)
        elif isinstance(value, list) and self._items is not None:
            for i, old in enumerate(old_elements(before.value, value, self.schema)):
                yield from self._items.errors(value[i], Before(old, before, value), field.index(path, i), run)

    def _field_errors(self, value: dict[str, Any], before: Before, path: str, run: Run) -> Iterator[FieldError]:
        if not self._properties and self._additional is None:
            return
        old = before.value if self.schema.get(MAP_TYPE) != "atomic" else UNKNOWN
        for name, part in value.items():
            tree = self._properties.get(name)
            if tree is not None:
                inner = Before(old_field(old, name), before, value)
                yield from tree.errors(part, inner, field.child(path, name), run)
            elif self._additional is not None:
                inner = Before(old_field(old, name), before, value)
                yield from self._additional.errors(part, inner, field.key(path, name), run)

    def _own_errors(self, value: Any, before: Before, path: str, run: Run) -> Iterator[FieldError]:
        if not self._rules or run.is_over:
            return
        at = path or ROOT
        has_old = before.value is not UNKNOWN and before.value is not None
        try:
            bindings = {"self": self._seen(value)}
            old = self._seen(before.value) if has_old else None
        except EvaluationError as error:
            yield field.invalid(at, self.schema.get("type", ""), str(error))
            return
        for rule in self._rules:
            if rule.error:
                yield field.invalid(at, self.schema.get("type", ""), f"rule compile error: {rule.error}")
            elif rule.program is None or (rule.uses_old_self and not has_old and not rule.has_optional_old_self):
                continue
            else:
                optional = Optional(old) if has_old else NONE
                bindings["oldSelf"] = optional if rule.has_optional_old_self else old
                try:
                    failure = self._failure(rule, rule.program, bindings, value, path, run)
                except _NotEvaluated as error:
                    yield field.invalid(at, self.schema.get("type", ""), str(error))
                    if run.is_over:
                        return
                    continue
                if failure is not None and not rule.uses_old_self and before.has_same(value):
                    run.ratcheted.append(failure)
                elif failure is not None:
                    yield failure

    def _seen(self, value: Any) -> Any:
        return converted(value, self._type) if self._converts and self._type is not None else value

    def _failure(
        self, rule: CompiledRule, program: Program, bindings: Mapping[str, Any], value: Any, path: str, run: Run
    ) -> FieldError | None:
        """Raises _NotEvaluated."""
        source = rule.rule["rule"].strip()
        try:
            if program.evaluate(bindings, run.budget) is True:
                return None
        except OutOfBudget as error:
            run.is_over = True
            raise _NotEvaluated(str(error)) from error
        except EvaluationError as error:
            run.is_over = str(error) == TOO_LONG
            raise _NotEvaluated(_explained(error, source)) from error
        detail = _evaluated_message(rule.message, bindings, run) or rule.rule.get("message", "").strip()
        at = f"{path}.{rule.field_path}" if path and rule.field_path else rule.field_path or path
        return _failed(at or ROOT, value, detail or f"failed rule: {source}", rule.rule.get("reason", ""))


class _NotEvaluated(Exception):
    """A rule that has no value; the text says why, with the rule."""


def _explained(error: EvaluationError, source: str) -> str:
    if str(error).startswith("no such overload"):
        signature = "call arguments did not match a supported operator, function or macro signature"
        return f"'{error}': {signature} for rule: {source}"
    if str(error) == TOO_LONG:
        limit = "no further validation rules will be run due to call cost exceeds limit"
        return f"'{error}': {limit} for rule: {source}"
    return f"{error} evaluating rule: {source}"


def rule_tree(schema: Schema | None, *, is_root: bool = False) -> RuleTree | None:
    """None where no rule stands anywhere in the schema."""
    if schema is None:
        return None
    tree = RuleTree(schema, type_of(schema, is_root=is_root) if schema.get(RULES) else None, is_root=is_root)
    return None if tree.is_empty else tree


def _ruled(schema: Schema) -> list[Schema]:
    return [part for part in schema.get("allOf") or () if part.get(RULES)]


def _evaluated_message(message: Program | None, bindings: Mapping[str, Any], run: Run) -> str:
    """The text of a messageExpression; "" where it has none that could be shown."""
    if message is None:
        return ""
    try:
        text = message.evaluate(bindings, run.budget)
    except EvaluationError:
        return ""
    text = text.strip() if isinstance(text, str) else ""
    return "" if "\n" in text or len(text.encode()) > MAX_MESSAGE_BYTES else text


def _failed(path: str, value: Any, detail: str, reason: str) -> FieldError:
    """The error of a broken rule. Objects and lists are not shown in it."""
    shown = "" if isinstance(value, dict | list) else f": {go_value(value)}"
    match reason:
        case "FieldValueForbidden":
            return field.forbidden(path, detail)
        case "FieldValueRequired":
            return field.required(path, detail)
        case "FieldValueDuplicate":
            return FieldError(field.DUPLICATE, path, f"Duplicate value{shown}")
        case _:
            return FieldError(field.INVALID, path, f"Invalid value{shown}: {detail}")
