"""Policies with their bindings and parameters: what a write meets. Each version of a policy is compiled once.

Facts: k8s.io/apiserver/pkg/admission/plugin/policy/generic (v1.36). Upstream asks policies in no order; here they and
their bindings go by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from apiserver.admission.chain import Attributes
from apiserver.admission.forms import Forms
from apiserver.admission.policies.matching import matched, namespace_of
from apiserver.admission.policies.parameters import ConfigurationError, parameters, resource_of
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.resource import Resource

GROUP = "admissionregistration.k8s.io"
# Nobody can lock himself out of changing policies by a policy.
_EXEMPT = frozenset(
    f"{name}.{GROUP}"
    for name in (
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    )
)
# Reviews answer questions of the server's own parts and are never stored.
_REVIEWS = frozenset({"authentication.k8s.io", "authorization.k8s.io"})

Compiled = TypeVar("Compiled")


@dataclass(frozen=True, slots=True)
class Invocation(Generic[Compiled]):
    """A policy asked about a write: by a binding, with one parameter, as one resource.

    With an `error` it cannot be asked: of the policy itself where there is no binding.
    """

    policy: ReadOnlyObject
    compiled: Compiled
    matched: Resource
    binding: ReadOnlyObject | None = None
    param: ReadOnlyObject | None = None
    error: str = ""

    @property
    def name(self) -> str:
        return str(self.policy["metadata"]["name"])

    @property
    def binding_name(self) -> str:
        return str(self.binding["metadata"]["name"]) if self.binding is not None else ""

    @property
    def ignores_failures(self) -> bool:
        return bool(self.policy["spec"].get("failurePolicy") == "Ignore")

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Tells invocations apart."""
        metadata = self.param["metadata"] if self.param is not None else {}
        return self.name, self.binding_name, metadata.get("namespace", ""), metadata.get("name", "")


class BoundPolicies(Generic[Compiled]):
    """The policies of one kind. Without bindings it costs a look into an empty list."""

    def __init__(
        self, reader: Reader, forms: Forms, kind: str, compile_policy: Callable[[ReadOnlyObject], Compiled]
    ) -> None:
        """`kind` is `validating` or `mutating`."""
        self._reader, self._forms, self._compile = reader, forms, compile_policy
        self._policies = f"{kind}admissionpolicies.{GROUP}"
        self._bindings = f"{kind}admissionpolicybindings.{GROUP}"
        # Policy -> its version and what came of it. Those that went are dropped when another is compiled.
        self._compiled: dict[str, tuple[str, Compiled]] = {}

    async def invocations(self, attributes: Attributes) -> Sequence[Invocation[Compiled]]:
        """Whatever a write meets, in the order it is asked."""
        bindings = list(self._reader.list(self._bindings))
        if not bindings or str(attributes.resource) in _EXEMPT or attributes.resource.group in _REVIEWS:
            return ()
        by_policy: dict[str, list[ReadOnlyObject]] = {}
        for binding in bindings:
            by_policy.setdefault(binding["spec"].get("policyName", ""), []).append(binding)
        found: list[Invocation[Compiled]] = []
        for name in sorted(by_policy):
            policy = self._reader.get(self._policies, "", name)
            if policy is not None:
                found += await self._of_policy(policy, by_policy[name], attributes)
        return found

    async def _of_policy(
        self, policy: ReadOnlyObject, bindings: Sequence[ReadOnlyObject], attributes: Attributes
    ) -> Sequence[Invocation[Compiled]]:
        spec = policy["spec"]
        resource = matched(spec.get("matchConstraints") or {}, attributes, self._reader, self._forms)
        if resource is None:
            return ()
        compiled = self._compiled_of(policy)
        try:
            param_resource = resource_of(spec.get("paramKind"), self._forms)
        except ConfigurationError as error:
            return [Invocation(policy, compiled, resource, error=f"failed to configure policy: {error}")]
        found: list[Invocation[Compiled]] = []
        for binding in bindings:
            constraints, reference = binding["spec"].get("matchResources"), binding["spec"].get("paramRef")
            if constraints is not None and matched(constraints, attributes, self._reader, self._forms) is None:
                continue
            namespace = namespace_of(attributes)
            try:
                params = await parameters(param_resource, reference, namespace, self._reader, self._forms)
            except ConfigurationError as error:
                why = f"failed to configure binding: {error}"
                found.append(Invocation(policy, compiled, resource, binding, error=why))
                continue
            found += [Invocation(policy, compiled, resource, binding, param) for param in params]
        return found

    def _compiled_of(self, policy: ReadOnlyObject) -> Compiled:
        name, version = policy["metadata"]["name"], policy["metadata"]["resourceVersion"]
        known = self._compiled.get(name)
        if known is None or known[0] != version:
            for gone in [each for each in self._compiled if self._reader.get(self._policies, "", each) is None]:
                del self._compiled[gone]
            known = self._compiled[name] = (version, self._compile(policy))
        return known[1]
