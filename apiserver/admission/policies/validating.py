"""A ValidatingAdmissionPolicy, compiled: what it says of one write. Imported only where a policy is bound.

Facts: k8s.io/apiserver/pkg/admission/plugin/policy/validating (v1.36). Audit annotations are not evaluated, as this
server keeps no audit log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from apiserver.admission.chain import Attributes
from apiserver.admission.policies.expressions import CONDITION, MESSAGE, ExpressionError, Expressions
from apiserver.cel.environment import Program
from apiserver.cel.values import EvaluationError
from kubeloop.apimachinery.meta import ReadOnlyObject

Json = Mapping[str, Any]

MAX_MESSAGE_BYTES = 5 * 1024


@dataclass(frozen=True, slots=True)
class Denial:
    message: str
    reason: str = "Invalid"


@dataclass(frozen=True, slots=True)
class _Validation:
    source: Json
    program: Program
    message: Program | None


class _Composed(Mapping[str, Any]):
    """`variables`: each computed when first named, by those before it."""

    def __init__(self, programs: Mapping[str, Program], bindings: dict[str, Any]) -> None:
        self._programs, self._bindings = programs, bindings
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self._programs[name].evaluate(self._bindings)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._programs)

    def __len__(self) -> int:
        return len(self._programs)


@dataclass(slots=True)
class CompiledPolicy:
    """Made once for each version of a policy."""

    name: str
    ignores_failures: bool
    conditions: list[Program] = field(default_factory=list)
    variables: dict[str, Program] = field(default_factory=dict)
    validations: list[_Validation] = field(default_factory=list)
    problem: str = ""  # why it cannot be evaluated at all

    @classmethod
    def of(cls, policy: ReadOnlyObject) -> CompiledPolicy:
        spec = policy["spec"]
        compiled = cls(policy["metadata"]["name"], spec.get("failurePolicy") == "Ignore")
        try:
            compiled._compile(spec)
        except ExpressionError as error:
            compiled.problem = str(error)
        return compiled

    def _compile(self, spec: Json) -> None:
        plain = Expressions.of(has_params=spec.get("paramKind") is not None)
        self.conditions = [plain.compile(c["expression"], *CONDITION) for c in spec.get("matchConditions") or ()]
        composed, self.variables, problems = plain.with_composed(spec.get("variables") or ())
        for problem in problems.values():
            raise ExpressionError(problem)
        for validation in spec.get("validations") or ():
            message = validation.get("messageExpression", "")
            self.validations.append(
                _Validation(
                    validation,
                    composed.compile(validation["expression"], *CONDITION),
                    composed.compile(message, *MESSAGE) if message else None,
                )
            )

    def denials(self, bindings: Mapping[str, Any]) -> Iterator[Denial]:
        """Every expression that does not hold, or fails where failures count."""
        if self.problem:
            yield from self._failure(self.problem)
            return
        seen = dict(bindings)
        seen["variables"] = _Composed(self.variables, seen)
        try:
            if not all(self._holds(condition, seen) for condition in self.conditions):
                return
        except EvaluationError as error:
            yield from self._failure(str(error))
            return
        for validation in self.validations:
            try:
                if self._holds(validation.program, seen):
                    continue
            except EvaluationError as error:
                yield from self._failure(str(error))
                continue
            yield Denial(_message(validation, seen), validation.source.get("reason") or "Invalid")

    def _holds(self, program: Program, bindings: Mapping[str, Any]) -> bool:
        try:
            return program.evaluate(bindings) is True
        except EvaluationError as error:
            raise EvaluationError(f"expression '{program.source}' resulted in error: {error}") from error

    def _failure(self, message: str) -> Iterator[Denial]:
        if not self.ignores_failures:
            yield Denial(message)


def _message(validation: _Validation, bindings: Mapping[str, Any]) -> str:
    text = ""
    if validation.message is not None:
        try:
            text = validation.message.evaluate(bindings).strip()
        except (EvaluationError, AttributeError):
            text = ""
        if "\n" in text or len(text.encode()) > MAX_MESSAGE_BYTES:
            text = ""
    shown = f"failed expression: {validation.source['expression'].strip()}"
    return text or validation.source.get("message", "").strip() or shown


def bindings_of(attributes: Attributes, params: ReadOnlyObject | None, namespace: ReadOnlyObject | None) -> Json:
    """The variables of the expressions for one write."""
    resource = attributes.resource
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    shown = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    user = attributes.user
    request = {
        "kind": kind,
        "resource": shown,
        "subResource": attributes.subresource,
        "requestKind": kind,
        "requestResource": shown,
        "requestSubResource": attributes.subresource,
        "name": attributes.name,
        "namespace": attributes.namespace,
        "operation": attributes.operation,
        "userInfo": {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": {}},
        "dryRun": attributes.dry_run,
        "options": dict(attributes.options),
    }
    type_meta = {"kind": resource.kind, "apiVersion": resource.api_version}
    return {
        "object": {**type_meta, **attributes.object} if attributes.object is not None else None,
        "oldObject": {**type_meta, **attributes.old_object} if attributes.old_object is not None else None,
        "request": request,
        "params": params,
        "namespaceObject": namespace,
    }
