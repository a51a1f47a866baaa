"""Whether a policy covers a write, and as which resource: rules, selectors of namespaces and objects.

Facts: k8s.io/apiserver/pkg/admission/plugin/policy/matching and .../plugin/webhook/predicates (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.admission.chain import CREATE, UPDATE, Attributes
from apiserver.admission.forms import Forms
from apiserver.storage.reader import Reader
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.resource import NAMESPACES, Resource

Json = Mapping[str, Any]


def matched(constraints: Json, attributes: Attributes, reader: Reader, forms: Forms) -> Resource | None:
    """The resource as which the constraints cover the write, None where they do not.

    These are the matchConstraints of a policy or the matchResources of a binding; without rules every resource is
    meant. An equivalent resource is one that shows the same objects in another version.
    """
    if not _namespace_fits(constraints.get("namespaceSelector"), attributes, reader):
        return None
    if not _object_fits(constraints.get("objectSelector"), attributes):
        return None
    is_exact = constraints.get("matchPolicy") == "Exact"
    if _covering(constraints.get("excludeResourceRules") or (), attributes, forms, is_exact) is not None:
        return None
    rules = constraints.get("resourceRules") or ()
    return _covering(rules, attributes, forms, is_exact) if rules else attributes.resource


def namespace_of(attributes: Attributes) -> str:
    """The namespace a write is in; that of a Namespace is the Namespace itself."""
    return attributes.name if attributes.resource == NAMESPACES else attributes.namespace


def _covering(rules: Sequence[Json], attributes: Attributes, forms: Forms, is_exact: bool) -> Resource | None:
    if any(_covers(rule, attributes, attributes.resource) for rule in rules):
        return attributes.resource
    if is_exact or not rules:
        return None
    others = [
        resource
        for resource in forms.equivalents(attributes.resource, attributes.subresource)
        if resource != attributes.resource
    ]
    return next((other for rule in rules for other in others if _covers(rule, attributes, other)), None)


def _covers(rule: Json, attributes: Attributes, resource: Resource) -> bool:
    names = rule.get("resourceNames") or ()
    return (
        _has(rule.get("operations"), attributes.operation)
        and _has(rule.get("apiGroups"), resource.group)
        and _has(rule.get("apiVersions"), resource.version)
        and any(_names(entry, resource.plural, attributes.subresource) for entry in rule.get("resources") or ())
        and rule.get("scope") in (None, "*", "Namespaced" if attributes.resource.namespaced else "Cluster")
        and (not names or attributes.name in names)
    )


def _has(listed: Sequence[str] | None, value: str) -> bool:
    return "*" in (listed or ()) or value in (listed or ())


def _names(entry: str, plural: str, subresource: str) -> bool:
    """`pods`, `pods/status`, `*`, `*/*`, `pods/*`, `*/scale`."""
    named, _, below = entry.partition("/")
    return named in ("*", plural) and below in (("*", subresource) if "/" in entry else (subresource,))


def _namespace_fits(selector: Json | None, attributes: Attributes, reader: Reader) -> bool:
    """Cluster-scoped objects pass; a namespace is selected by the labels it would have."""
    is_namespace = attributes.resource == NAMESPACES
    if not selector or not (is_namespace or attributes.namespace):
        return True
    shown: ReadOnlyObject | None = None
    if is_namespace and not attributes.subresource and attributes.operation in (CREATE, UPDATE):
        shown = attributes.object
    else:
        shown = reader.get("namespaces", "", namespace_of(attributes))
    return _selects(selector, shown or {})


def _object_fits(selector: Json | None, attributes: Attributes) -> bool:
    """The new object or the old one."""
    if not selector:
        return True
    return any(_selects(selector, obj) for obj in (attributes.object, attributes.old_object) if obj is not None)


def _selects(selector: Json, obj: ReadOnlyObject) -> bool:
    return selectors.from_label_selector(dict(selector)).matches((obj.get("metadata") or {}).get("labels") or {})
