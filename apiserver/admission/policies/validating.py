"""A ValidatingAdmissionPolicy, compiled: what it says of one write. Imported only where a policy is bound.

Facts: k8s.io/apiserver/pkg/admission/plugin/policy/validating/validator.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apiserver.admission.policies.activation import Activation
from apiserver.admission.policies.conditions import ConditionError, Conditions, compiled, evaluated
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.cel.environment import Budget, OutOfBudget, Program
from kubeloop.cel.policy_expressions import (
    ANNOTATION,
    CONDITION,
    MESSAGE,
    Composition,
    ExpressionError,
    Expressions,
)
from kubeloop.cel.values import EvaluationError

Json = Mapping[str, Any]
Compiled = Program | ExpressionError

MAX_MESSAGE_BYTES = 5 * 1024


@dataclass(frozen=True, slots=True)
class Denial:
    """What one validation (of that place) has against a write."""

    message: str
    reason: str = ""
    place: int = 0


@dataclass(slots=True)
class Verdict:
    """What a policy says of one write with one parameter. `failures` refuse it whatever the binding's actions are."""

    denials: list[Denial] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    failures: list[Denial] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Validation:
    source: Json
    program: Compiled
    message: Compiled | None


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """Made once for each version of a policy."""

    ignores_failures: bool
    composition: Composition | None
    conditions: Conditions
    validations: Sequence[_Validation]
    annotations: Sequence[tuple[str, Compiled]]

    @classmethod
    def of(cls, policy: ReadOnlyObject) -> CompiledPolicy:
        spec = policy["spec"]
        has_params = spec.get("paramKind") is not None
        plain = Expressions.of(has_params=has_params)
        composition = Composition.of(plain, spec.get("variables") or ())
        full = plain.with_variables(composition.types)
        messages = Expressions.of(has_params=has_params, has_authorizer=False).with_variables(composition.types)
        return cls(
            spec.get("failurePolicy") == "Ignore",
            composition,
            Conditions.of(spec.get("matchConditions") or (), full),
            [_validation(each, full, messages) for each in spec.get("validations") or ()],
            [
                (each["key"], compiled(full, each["valueExpression"], ANNOTATION))
                for each in spec.get("auditAnnotations") or ()
            ],
        )

    def verdict(self, activation: Activation) -> Verdict:
        """What it says of a write; what it says of its own failures depends on its failurePolicy."""
        try:
            if not self.conditions.hold(activation):
                return Verdict()
        except ConditionError as error:
            return self._failed(str(error))
        verdict, budget = Verdict(), Budget()
        try:
            self._validate(activation, verdict, budget)
            self._annotate(activation, verdict)
        except OutOfBudget as error:
            return self._failed(str(error))
        return verdict

    def _failed(self, message: str) -> Verdict:
        return Verdict([] if self.ignores_failures else [Denial(message)])

    def _validate(self, activation: Activation, verdict: Verdict, budget: Budget) -> None:
        bindings = activation.bindings(budget)
        for i, validation in enumerate(self.validations):
            try:
                if evaluated(validation.program, bindings, budget) is True:
                    continue
            except OutOfBudget:
                raise
            except EvaluationError as error:
                if not self.ignores_failures:
                    verdict.denials.append(Denial(str(error), place=i))
                continue
            reason = validation.source.get("reason") or "Invalid"
            verdict.denials.append(Denial(_message(validation, activation, budget), reason, i))

    def _annotate(self, activation: Activation, verdict: Verdict) -> None:
        if not self.annotations:
            return
        budget = Budget()
        bindings = activation.bindings(budget, has_authorizer=False)
        for key, program in self.annotations:
            try:
                value = evaluated(program, bindings, budget)
            except OutOfBudget:
                raise
            except EvaluationError as error:
                if not self.ignores_failures:
                    verdict.failures.append(Denial(str(error)))
                continue
            if isinstance(value, str) and value.strip():
                verdict.annotations[key] = value.strip()


def _validation(source: Json, full: Expressions, messages: Expressions) -> _Validation:
    message = source.get("messageExpression", "")
    return _Validation(
        source,
        compiled(full, source["expression"], CONDITION),
        compiled(messages, message, MESSAGE) if message else None,
    )


def _message(validation: _Validation, activation: Activation, budget: Budget) -> str:
    text = ""
    if validation.message is not None:
        try:
            value = evaluated(validation.message, activation.bindings(budget, has_authorizer=False), budget)
        except OutOfBudget as error:
            return f"failed messageExpression: {error}"
        except EvaluationError:
            value = ""
        text = value.strip() if isinstance(value, str) else ""
        if "\n" in text or len(text.encode()) > MAX_MESSAGE_BYTES:
            text = ""
    shown = f"failed expression: {validation.source['expression'].strip()}"
    return text or validation.source.get("message", "").strip() or shown
