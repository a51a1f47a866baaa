"""ValidatingAdmissionPolicy: expressions that policies bind to writes.

Facts: k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go (v1.36). Without bindings it costs a look
into an empty list; the evaluator of expressions is loaded with the first one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from apiserver.admission.chain import CONNECT, CREATE, DELETE, UPDATE, Attributes, Plugin
from apiserver.admission.forms import Forms
from apiserver.admission.policies.bound import BoundPolicies, Invocation
from apiserver.auth.authorization import Authorizer
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import Forbidden
from kubeloop.apimachinery.meta import ReadOnlyObject

if TYPE_CHECKING:
    from apiserver.admission.policies.validating import CompiledPolicy, Denial, Verdict

VALIDATION_FAILURE = "validation.policy.admission.k8s.io/validation_failure"
MAX_ANNOTATION_BYTES = 10 * 1024
_CODES = {"Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413, "Unauthorized": 401}


class ValidatingAdmissionPolicy(Plugin):
    operations = frozenset({CREATE, UPDATE, DELETE, CONNECT})

    def __init__(self, reader: Reader, forms: Forms, authorizer: Authorizer) -> None:
        self._reader, self._forms, self._authorizer = reader, forms, authorizer
        self._policies: BoundPolicies[CompiledPolicy] = BoundPolicies(reader, forms, "validating", _compiled)

    async def validate(self, attributes: Attributes) -> None:
        invocations = await self._policies.invocations(attributes)
        if not invocations:
            return
        from apiserver.admission.policies.activation import Activations

        activations = Activations(attributes, self._reader, self._forms, self._authorizer)
        findings = _Findings(attributes)
        for invocation in invocations:
            if invocation.error:
                if not invocation.ignores_failures:
                    findings.refuse(invocation, invocation.error)
                continue
            activation = await activations.of(invocation.matched, invocation.param, invocation.compiled.composition)
            findings.take(invocation, invocation.compiled.verdict(activation))
        findings.conclude()


def _compiled(policy: ReadOnlyObject) -> CompiledPolicy:
    from apiserver.admission.policies.validating import CompiledPolicy

    return CompiledPolicy.of(policy)


@dataclass(slots=True)
class _Findings:
    """What the policies say of a write so far. The first refusal is the answer; warnings and audit have them all."""

    attributes: Attributes
    refusals: list[tuple[str, str]] = field(default_factory=list)  # message and reason
    annotations: dict[str, list[str]] = field(default_factory=dict)  # by their key in the audit event

    def take(self, invocation: Invocation[CompiledPolicy], verdict: Verdict) -> None:
        assert invocation.binding is not None
        actions = invocation.binding["spec"].get("validationActions") or ()
        for denial in verdict.denials:
            for action in actions:
                if action == "Deny":
                    self.refuse(invocation, denial.message, denial.reason)
                elif action == "Warn":
                    self.attributes.warn(f"Validation failed for {_names(invocation)}: {denial.message}")
                elif action == "Audit":
                    self.attributes.annotate(VALIDATION_FAILURE, _failure_text(invocation, denial))
        for key, value in verdict.annotations.items():
            self._annotate(f"{invocation.name}/{key}", value)
        for failure in verdict.failures:
            self.refuse(invocation, failure.message)

    def _annotate(self, key: str, value: str) -> None:
        """Values of several bindings stand side by side, each once."""
        value = value.encode()[:MAX_ANNOTATION_BYTES].decode(errors="ignore")
        values = self.annotations.setdefault(key, [])
        if value not in values:
            values.append(value)

    def refuse(self, invocation: Invocation[CompiledPolicy], message: str, reason: str = "") -> None:
        self.refusals.append((f"{_names(invocation)} denied request: {message}", reason or "Invalid"))

    def conclude(self) -> None:
        """Write the annotations down and refuse what is to be refused."""
        for key, values in self.annotations.items():
            self.attributes.annotate(key, ", ".join(values))
        for message, reason in self.refusals:
            raise _refusal(self.attributes, message, reason)


def _names(invocation: Invocation[CompiledPolicy]) -> str:
    named = f"ValidatingAdmissionPolicy '{invocation.name}'"
    return f"{named} with binding '{invocation.binding_name}'" if invocation.binding is not None else named


def _failure_text(invocation: Invocation[CompiledPolicy], denial: Denial) -> str:
    """The value of the annotation for a validation that failed: JSON, a list of one."""
    assert invocation.binding is not None
    spec: Mapping[str, object] = invocation.binding["spec"]
    failure = {
        "message": denial.message,
        "policy": invocation.name,
        "binding": invocation.binding_name,
        "expressionIndex": denial.place,
        "validationActions": spec["validationActions"],
    }
    return orjson.dumps([failure]).decode()


def _refusal(attributes: Attributes, message: str, reason: str) -> Forbidden:
    error = attributes.forbidden(message)
    error.reason, error.code = reason, _CODES.get(reason, 422)
    error.details = {**(error.details or {}), "causes": [{"message": message}]}
    return error
