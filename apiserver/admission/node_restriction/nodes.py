"""What a kubelet may write on Node objects: its own one, without what would draw privileged pods to it."""

from __future__ import annotations

from collections.abc import Mapping

from apiserver.admission.chain import CREATE, Attributes
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import labels_of, name_of

_RESTRICTED = "node-restriction.kubernetes.io"
_KUBELET_LABELS = frozenset(
    {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    }
)
_KUBELET_NAMESPACES = ("kubelet.kubernetes.io", "node.kubernetes.io")


def check_node(attributes: Attributes, node: str) -> None:
    """Refuse what the node `node` may not do to a Node."""
    name = attributes.name or name_of(attributes.object or {})
    if name != node:
        raise attributes.forbidden(f"node {go_quote(node)} is not allowed to modify node {go_quote(name)}")
    if attributes.object is None:
        return
    if attributes.operation == CREATE:
        _check_create(attributes, node)
    else:
        _check_update(attributes, node)


def _check_create(attributes: Attributes, node: str) -> None:
    new = attributes.object or {}
    if (new.get("spec") or {}).get("configSource") is not None:
        why = "is not allowed to create pods with a non-nil configSource"
        raise attributes.forbidden(f"node {go_quote(node)} {why}")
    if labels := _forbidden_labels(labels_of(new), {}):
        why = f"is not allowed to set the following labels: {', '.join(labels)}"
        raise attributes.forbidden(f"node {go_quote(node)} {why}")


def _check_update(attributes: Attributes, node: str) -> None:
    new, old = attributes.object or {}, attributes.old_object or {}
    spec, old_spec = new.get("spec") or {}, old.get("spec") or {}
    source = spec.get("configSource")
    if source is not None and source != old_spec.get("configSource"):
        why = "is not allowed to update configSource to a new non-nil configSource"
        raise attributes.forbidden(f"node {go_quote(node)} {why}")
    if (spec.get("taints") or []) != (old_spec.get("taints") or []):
        raise attributes.forbidden(f"node {go_quote(node)} is not allowed to modify taints")
    if (new["metadata"].get("ownerReferences") or []) != (old["metadata"].get("ownerReferences") or []):
        raise attributes.forbidden(f"node {go_quote(node)} is not allowed to modify ownerReferences")
    if labels := _forbidden_labels(labels_of(new), labels_of(old)):
        raise attributes.forbidden(f"is not allowed to modify labels: {', '.join(labels)}")


def _forbidden_labels(new: Mapping[str, str], old: Mapping[str, str]) -> list[str]:
    """The labels that differ and are not a kubelet's to set, sorted."""
    changed = (label for label in {*new, *old} if new.get(label) != old.get(label))
    return sorted(label for label in changed if _is_forbidden(label))


def _is_forbidden(label: str) -> bool:
    namespace = label.partition("/")[0] if "/" in label else ""
    if _is_within(namespace, _RESTRICTED):
        return True
    is_kubernetes = _is_within(namespace, "kubernetes.io") or _is_within(namespace, "k8s.io")
    return is_kubernetes and not (
        label in _KUBELET_LABELS or any(_is_within(namespace, allowed) for allowed in _KUBELET_NAMESPACES)
    )


def _is_within(namespace: str, domain: str) -> bool:
    return namespace == domain or namespace.endswith(f".{domain}")
