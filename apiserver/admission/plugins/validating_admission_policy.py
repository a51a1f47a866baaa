"""ValidatingAdmissionPolicy: expressions that policies bind to writes.

Without bindings it costs a look into an empty list; the evaluator of expressions is loaded with the first one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from apiserver.admission.chain import CONNECT, CREATE, DELETE, UPDATE, Attributes, Plugin
from apiserver.admission.policies.matching import covers
from apiserver.storage.reader import Reader
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.errors import Forbidden
from kubeloop.apimachinery.meta import ReadOnlyObject

if TYPE_CHECKING:
    from apiserver.admission.policies.validating import CompiledPolicy, Denial

GROUP = "admissionregistration.k8s.io"
POLICIES, BINDINGS = f"validatingadmissionpolicies.{GROUP}", f"validatingadmissionpolicybindings.{GROUP}"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_CODES = {"Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413, "Unauthorized": 401}


class ConfigurationError(ValueError):
    """A binding whose parameters are not there."""


class ValidatingAdmissionPolicy(Plugin):
    operations = frozenset({CREATE, UPDATE, DELETE, CONNECT})

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._compiled: dict[str, tuple[str, CompiledPolicy]] = {}  # policy -> (its resourceVersion, compiled)

    async def validate(self, attributes: Attributes) -> None:
        bindings = list(self._reader.list(BINDINGS))
        if not bindings or attributes.resource.group == GROUP:
            return
        for binding in bindings:
            policy = self._reader.get(POLICIES, "", binding["spec"].get("policyName", ""))
            if policy is None or not covers(policy["spec"].get("matchConstraints") or {}, attributes, self._reader):
                continue
            if covers(binding["spec"].get("matchResources") or {}, attributes, self._reader):
                self._enforce(policy, binding, attributes)

    def _enforce(self, policy: ReadOnlyObject, binding: ReadOnlyObject, attributes: Attributes) -> None:
        """Refuse, or warn, as the binding says."""
        actions = binding["spec"].get("validationActions") or ()
        names = f"ValidatingAdmissionPolicy '{policy['metadata']['name']}' with binding '{binding['metadata']['name']}'"
        for denial in self._denials(policy, binding, attributes):
            if "Warn" in actions:
                attributes.warn(f"Validation failed for {names}: {denial.message}")
            if "Deny" in actions:
                raise _refusal(attributes, f"{names} denied request: {denial.message}", denial.reason)

    def _denials(self, policy: ReadOnlyObject, binding: ReadOnlyObject, attributes: Attributes) -> Iterator[Denial]:
        from apiserver.admission.policies.validating import Denial, bindings_of

        compiled = self._compile(policy)
        try:
            params = self._params(policy["spec"].get("paramKind"), binding["spec"].get("paramRef"), attributes)
        except ConfigurationError as error:
            if not compiled.ignores_failures:
                yield Denial(f"failed to configure binding: {error}")
            return
        is_namespace = str(attributes.resource) == "namespaces"
        namespace = None if is_namespace else self._reader.get("namespaces", "", attributes.namespace)
        for param in params:
            yield from compiled.denials(bindings_of(attributes, param, namespace))

    def _compile(self, policy: ReadOnlyObject) -> CompiledPolicy:
        from apiserver.admission.policies.validating import CompiledPolicy

        name, version = policy["metadata"]["name"], policy["metadata"]["resourceVersion"]
        known, compiled = self._compiled.get(name, ("", None))
        if compiled is None or known != version:
            compiled = CompiledPolicy.of(policy)
            self._compiled[name] = (version, compiled)
        return compiled

    # -- parameters -----------------------------------------------------------------------------------------------

    def _params(self, kind: Any, reference: Any, attributes: Attributes) -> Sequence[ReadOnlyObject | None]:
        """The objects a binding refers to; one nothing where the policy takes none."""
        if kind is None or reference is None:
            return [None]
        resource = self._resource_of(kind)
        namespace = reference.get("namespace") or attributes.namespace
        candidates = [
            obj
            for obj in self._reader.list(resource)
            if (obj["metadata"].get("namespace") or namespace) == namespace and _is_referred(obj, reference)
        ]
        if not candidates and reference.get("parameterNotFoundAction") == "Deny":
            raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
        return [{"kind": kind["kind"], "apiVersion": kind["apiVersion"], **obj} for obj in candidates]

    def _resource_of(self, kind: Any) -> str:
        """The storage resource of a kind: a definition says it of custom ones, the others follow the usual plural."""
        group = kind["apiVersion"].rpartition("/")[0]
        for definition in self._reader.list(DEFINITIONS):
            spec = definition["spec"]
            if spec["group"] == group and spec["names"]["kind"] == kind["kind"]:
                return f"{spec['names']['plural']}.{group}"
        singular = kind["kind"].lower()
        plural = (
            f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}{'es' if singular[-1] == 's' else 's'}"
        )
        return f"{plural}.{group}" if group else plural


def _is_referred(obj: ReadOnlyObject, reference: Any) -> bool:
    if name := reference.get("name"):
        return bool(obj["metadata"]["name"] == name)
    selector = selectors.from_label_selector(reference.get("selector") or {})
    return selector.matches(obj["metadata"].get("labels") or {})


def _refusal(attributes: Attributes, message: str, reason: str) -> Forbidden:
    error = attributes.forbidden(message)
    error.reason, error.code = reason, _CODES.get(reason, 422)
    error.details = {**(error.details or {}), "causes": [{"message": message}]}
    return error
