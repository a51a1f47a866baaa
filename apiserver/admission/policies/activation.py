"""What the expressions of policies and match conditions see of one write: their variables' values.

Facts: k8s.io/apiserver/pkg/admission/plugin/cel (activation.go, condition.go, composition.go, v1.36). As upstream, what
is empty in a request or a namespace is not there at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from apiserver.admission.chain import Attributes
from apiserver.admission.forms import Forms
from apiserver.admission.policies.matching import namespace_of
from apiserver.auth.authentication import User, service_account_user
from apiserver.auth.authorization import Access
from apiserver.auth.authorization import Authorizer as ServerAuthorizer
from apiserver.auth.reviews import user_info
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.resource import NAMESPACES, Resource
from kubeloop.cel.authorization import Authority, Authorizer, GroupCheck, Question, Remembering, ResourceCheck, Ruling
from kubeloop.cel.environment import Budget, Program
from kubeloop.cel.policy_expressions import AUTHORIZER_NAME, REQUEST_RESOURCE, Composition, ExpressionError
from kubeloop.cel.values import EvaluationError

_NAMESPACE_METADATA = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
)


class ServerAuthority:
    """Answers expressions' questions by the server's own authorizer."""

    def __init__(self, authorizer: ServerAuthorizer) -> None:
        self._authorizer = authorizer

    def rule(self, question: Question) -> Ruling:
        decision = self._authorizer.authorize(
            Access(
                question.user,
                question.verb,
                question.group,
                "*" if question.resource else "",
                question.resource,
                question.subresource,
                question.namespace,
                question.name,
                question.path,
            )
        )
        return Ruling(decision.allowed, decision.reason)

    def service_account(self, namespace: str, name: str) -> User:
        return service_account_user(namespace, name)


class Variables(Mapping[str, Any]):
    """`variables`: each computed when first named, by those before it."""

    def __init__(self, composition: Composition, bindings: Mapping[str, Any], budget: Budget) -> None:
        self._composition, self._bindings, self._budget = composition, bindings, budget
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self._value(self._composition.programs[name], name)
        return self._known[name]

    def _value(self, program: Program | ExpressionError, name: str) -> Any:
        if isinstance(program, ExpressionError):
            raise EvaluationError(f'composited variable "{name}" fails to compile: {program}')
        try:
            return program.evaluate(self._bindings, self._budget)
        except EvaluationError as error:
            raise EvaluationError(f'composited variable "{name}" fails to evaluate: {error}') from error

    def __iter__(self) -> Iterator[str]:
        return iter(self._composition.programs)

    def __len__(self) -> int:
        return len(self._composition.programs)


@dataclass(frozen=True, slots=True)
class Activation:
    """One write in the form that a policy matched. `kind` is that of the objects, which may be a subresource's own."""

    attributes: Attributes
    matched: Resource
    kind: Resource
    own_kind: Resource
    object: ReadOnlyObject | None
    old_object: ReadOnlyObject | None
    authority: Authority
    namespace: ReadOnlyObject | None = None
    composition: Composition | None = None
    params: ReadOnlyObject | None = None

    def bindings(self, budget: Budget, *, has_authorizer: bool = True, has_namespace: bool = True) -> dict[str, Any]:
        """Fresh ones, whose `variables` are computed anew and paid from `budget`."""
        bindings: dict[str, Any] = {
            "object": self.object,
            "oldObject": self.old_object,
            "request": self._request(),
            "params": self.params,
            "namespaceObject": self.namespace if has_namespace else None,
        }
        if has_authorizer:
            bindings |= _authorizers(self.attributes, self.authority)
        if self.composition is not None:
            bindings["variables"] = Variables(self.composition, bindings, budget)
        return bindings

    def _request(self) -> Mapping[str, Any]:
        attributes, own, kind, own_kind = self.attributes, self.attributes.resource, self.kind, self.own_kind
        request = {
            "kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
            "resource": _named(self.matched),
            "subResource": attributes.subresource,
            "requestKind": {"group": own_kind.group, "version": own_kind.version, "kind": own_kind.kind},
            "requestResource": _named(own),
            "requestSubResource": attributes.subresource,
            "name": attributes.name,
            "namespace": namespace_of(attributes),
            "operation": attributes.operation,
        }
        return {
            **{name: value for name, value in request.items() if value},
            "userInfo": user_info(attributes.user),
            "dryRun": attributes.dry_run,
            "options": dict(attributes.options) or None,
        }


def _named(resource: Resource) -> Mapping[str, str]:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


class Activations:
    """The activations of one write, one for each form in which policies match it."""

    def __init__(self, attributes: Attributes, reader: Reader, forms: Forms, authorizer: ServerAuthorizer) -> None:
        self._attributes, self._reader, self._forms = attributes, reader, forms
        self._authority = Remembering(ServerAuthority(authorizer))
        self._known: dict[Resource, Activation] = {}

    async def of(
        self, matched: Resource, params: ReadOnlyObject | None = None, composition: Composition | None = None
    ) -> Activation:
        """The write as a policy sees it that matched it as this resource."""
        if matched not in self._known:
            self._known[matched] = await self._made(matched)
        return replace(self._known[matched], params=params, composition=composition)

    def changed(self) -> None:
        """The object has become another."""
        self._known.clear()

    async def _made(self, matched: Resource) -> Activation:
        attributes, forms = self._attributes, self._forms
        kind = forms.taken_by(matched, attributes.subresource)
        return Activation(
            attributes,
            matched,
            kind,
            forms.taken_by(attributes.resource, attributes.subresource),
            await self._shown(attributes.object, kind),
            await self._shown(attributes.old_object, kind),
            self._authority,
            self._namespace(),
        )

    async def _shown(self, obj: ReadOnlyObject | None, kind: Resource) -> ReadOnlyObject | None:
        return await self._forms.shown(obj, kind, self._attributes.resource) if obj is not None else None

    def _namespace(self) -> ReadOnlyObject | None:
        """There is none for cluster-scoped objects, nor for a Namespace itself."""
        attributes = self._attributes
        if not attributes.namespace or attributes.resource == NAMESPACES:
            return None
        namespace = self._reader.get("namespaces", "", attributes.namespace)
        return _seen_namespace(namespace) if namespace is not None else None


def _seen_namespace(namespace: ReadOnlyObject) -> ReadOnlyObject:
    """What expressions see of a Namespace."""
    metadata = {name: namespace["metadata"][name] for name in _NAMESPACE_METADATA if name in namespace["metadata"]}
    return {"metadata": metadata, "spec": namespace.get("spec") or {}, "status": namespace.get("status") or {}}


def _authorizers(attributes: Attributes, authority: Authority) -> Mapping[str, Any]:
    authorizer, resource = Authorizer(authority, attributes.user), attributes.resource
    check = ResourceCheck(
        GroupCheck(authorizer, resource.group),
        resource.plural,
        attributes.subresource,
        namespace_of(attributes),
        attributes.name,
    )
    return {AUTHORIZER_NAME: authorizer, REQUEST_RESOURCE: check}
