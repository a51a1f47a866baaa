"""The parameters of a policy: the objects its bindings refer to.

Facts: k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apiserver.admission.forms import Forms
from apiserver.storage.reader import Reader
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.resource import Resource

Json = Mapping[str, Any]

NO_PARAMETER: Sequence[ReadOnlyObject | None] = (None,)
_CLUSTER_SCOPED = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
_NEEDLESS_NAMESPACE = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
_NOT_FOUND = "no params found for policy binding with `Deny` parameterNotFoundAction"


class ConfigurationError(ValueError):
    """A policy or binding that cannot be used as it is."""


def resource_of(kind: Json | None, forms: Forms) -> Resource | None:
    """The resource of a paramKind; None where a policy takes no parameters. ConfigurationError where it is unknown."""
    if kind is None:
        return None
    group, _, version = kind["apiVersion"].rpartition("/")
    resource = forms.of_kind(group, version, kind["kind"])
    if resource is None:
        named = f"{group}/{version}, Kind={kind['kind']}"
        raise ConfigurationError(f"failed to find resource referenced by paramKind: '{named}'")
    return resource


async def parameters(
    resource: Resource | None, reference: Json | None, namespace: str, reader: Reader, forms: Forms
) -> Sequence[ReadOnlyObject | None]:
    """The objects a binding refers to; one nothing where the policy takes none or the binding gives none.

    `namespace` is the write's own, where the reference names none. Raises ConfigurationError.
    """
    if resource is None or reference is None:
        return NO_PARAMETER
    within = ""
    if resource.namespaced:
        within = reference.get("namespace") or namespace
        if not within:
            raise ConfigurationError(_CLUSTER_SCOPED)
    elif reference.get("namespace"):
        raise ConfigurationError(_NEEDLESS_NAMESPACE)
    found = [
        await forms.shown(obj, resource, resource)
        for obj in _referred(forms.storage(resource), reference, within, reader)
    ]
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise ConfigurationError(_NOT_FOUND)
    return found


def _referred(storage: str, reference: Json, namespace: str, reader: Reader) -> Iterable[ReadOnlyObject]:
    if name := reference.get("name"):
        obj = reader.get(storage, namespace, name)
        return [obj] if obj is not None else []
    selector = selectors.from_label_selector(dict(reference.get("selector") or {}))
    return [obj for obj in reader.list(storage, namespace) if selector.matches(obj["metadata"].get("labels") or {})]
