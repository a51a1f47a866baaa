"""MutatingAdmissionPolicy: expressions that change what is written, bound by policies.

Facts: k8s.io/apiserver/pkg/admission/plugin/policy/mutating/dispatcher.go and .../generic/policy_dispatcher.go (v1.36).
Without bindings it costs a look into an empty list; the evaluator of expressions is loaded with the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apiserver.admission.chain import CONNECT, CREATE, UPDATE, Attributes, Plugin
from apiserver.admission.forms import Forms
from apiserver.admission.policies.bound import BoundPolicies, Invocation
from apiserver.auth.authorization import Authorizer
from apiserver.patch.server_side_apply.shapes import UNKNOWN
from apiserver.schema.codec import DecodeError
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import Forbidden, InternalError
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, deep_copy
from kubeloop.apimachinery.resource import Resource

if TYPE_CHECKING:
    from apiserver.admission.policies.activation import Activations
    from apiserver.admission.policies.mutating import CompiledPolicy

NAME = "MutatingAdmissionPolicy"
Key = tuple[str, str, str, str]


class MutatingAdmissionPolicy(Plugin):
    operations = frozenset({CREATE, UPDATE, CONNECT})

    def __init__(self, reader: Reader, forms: Forms, authorizer: Authorizer) -> None:
        self._reader, self._forms, self._authorizer = reader, forms, authorizer
        self._policies: BoundPolicies[CompiledPolicy] = BoundPolicies(reader, forms, "mutating", _compiled)

    async def admit(self, attributes: Attributes) -> None:
        invocations = await self._policies.invocations(attributes)
        if invocations:
            from apiserver.admission.policies.activation import Activations

            activations = Activations(attributes, self._reader, self._forms, self._authorizer)
            await _Round(attributes, activations, self._forms).run(invocations)


def _compiled(policy: ReadOnlyObject) -> CompiledPolicy:
    from apiserver.admission.policies.mutating import CompiledPolicy

    return CompiledPolicy.of(policy)


@dataclass(slots=True)
class _Memory:
    """What the second round knows of the first: policies that may be asked again are, if others changed the object."""

    invoked: set[Key] = field(default_factory=set)
    to_reinvoke: set[Key] = field(default_factory=set)
    output: ReadOnlyObject | None = None

    def object_changed(self) -> None:
        self.to_reinvoke |= self.invoked
        self.invoked = set()


class _Round:
    """One run over all the invocations of a write."""

    def __init__(self, attributes: Attributes, activations: Activations, forms: Forms) -> None:
        self._attributes, self._activations, self._forms = attributes, activations, forms
        self._reinvocation = attributes.reinvocation
        self._memory: _Memory = self._reinvocation.notes.setdefault(NAME, _Memory())
        self._failures: list[tuple[Invocation[CompiledPolicy], str, str]] = []  # with message and reason

    async def run(self, invocations: Sequence[Invocation[CompiledPolicy]]) -> None:
        memory, attributes = self._memory, self._attributes
        if self._reinvocation.is_second and memory.output != attributes.object:
            memory.object_changed()
        for invocation in invocations:
            if invocation.error:
                self._failures.append((invocation, invocation.error, ""))
            else:
                await self._invoke(invocation)
        memory.output = deep_copy(attributes.object)
        self._refuse()

    async def _invoke(self, invocation: Invocation[CompiledPolicy]) -> None:
        from apiserver.admission.policies.conditions import ConditionError

        policy, attributes = invocation.compiled, self._attributes
        activation = await self._activations.of(invocation.matched, invocation.param, policy.composition)
        try:
            if not policy.conditions.hold(activation):
                return
        except ConditionError as error:
            self._failures.append((invocation, str(error), "Invalid"))
            return
        if self._reinvocation.is_second and invocation.key not in self._memory.to_reinvoke:
            return
        before = deep_copy(attributes.object)
        await self._mutate(invocation)
        if attributes.object != before:
            self._memory.object_changed()
            self._reinvocation.wanted = True
        if policy.may_be_asked_again:
            self._memory.invoked.add(invocation.key)

    async def _mutate(self, invocation: Invocation[CompiledPolicy]) -> None:
        """The policy's mutations in order; one that fails changes nothing, and those after it are still made."""
        from apiserver.admission.policies.mutating import MutationError

        policy, matched, attributes = invocation.compiled, invocation.matched, self._attributes
        for mutation in policy.mutations:
            activation = await self._activations.of(matched, invocation.param, policy.composition)
            if activation.object is None:
                return
            shape = self._forms.shape(activation.kind) or UNKNOWN
            try:
                changed = mutation.applied(activation.object, shape, activation)
            except MutationError as error:
                self._failures.append((invocation, str(error), "Invalid"))
                continue
            if changed is not activation.object:
                attributes.object = await self._read(changed, activation.kind)
                self._activations.changed()

    async def _read(self, changed: ReadOnlyObject, kind: Resource) -> Object:
        try:
            return await self._forms.read(changed, kind, self._attributes.resource)
        except DecodeError as error:
            raise InternalError.because(str(error)) from error

    def _refuse(self) -> None:
        """Forbidden, in the words of the first failure of a policy that does not ignore failures."""
        failures = [failure for failure in self._failures if not failure[0].ignores_failures]
        if not failures:
            return
        error: Forbidden = self._attributes.forbidden("admission request denied by policy")
        causes = [{"message": _told(invocation, message)} for invocation, message, _ in failures]
        error.message, reason = causes[0]["message"], failures[0][2]
        if reason:
            error.reason = reason
        error.details = {**(error.details or {}), "causes": causes}
        raise error


def _told(invocation: Invocation[CompiledPolicy], message: str) -> str:
    if invocation.binding is None:
        return f'policy "{invocation.name}" denied request: {message}'
    return f"policy '{invocation.name}' with binding '{invocation.binding_name}' denied request: {message}"
