"""Whether a policy covers a write: rules of operations and resources, selectors of namespaces and objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.admission.chain import Attributes
from apiserver.storage.reader import Reader
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.meta import ReadOnlyObject

Json = Mapping[str, Any]


def covers(constraints: Json, attributes: Attributes, reader: Reader) -> bool:
    """matchConstraints of a policy, matchResources of a binding; without rules every resource is meant."""
    rules = constraints.get("resourceRules") or ()
    if rules and not any(_rule_covers(rule, attributes) for rule in rules):
        return False
    if any(_rule_covers(rule, attributes) for rule in constraints.get("excludeResourceRules") or ()):
        return False
    return _namespace_fits(constraints.get("namespaceSelector"), attributes, reader) and _object_fits(
        constraints.get("objectSelector"), attributes
    )


def _rule_covers(rule: Json, attributes: Attributes) -> bool:
    resource = attributes.resource
    names = rule.get("resourceNames") or ()
    return (
        _has(rule.get("operations"), attributes.operation)
        and _has(rule.get("apiGroups"), resource.group)
        and _has(rule.get("apiVersions"), resource.version)
        and any(_names_resource(entry, attributes) for entry in rule.get("resources") or ())
        and _scope_fits(rule.get("scope") or "*", attributes)
        and (not names or attributes.name in names)
    )


def _has(listed: Sequence[str] | None, value: str) -> bool:
    return "*" in (listed or ()) or value in (listed or ())


def _names_resource(entry: str, attributes: Attributes) -> bool:
    """`pods`, `pods/status`, `*`, `*/*`, `pods/*`, `*/scale`."""
    plural, _, subresource = entry.partition("/")
    if plural not in ("*", attributes.resource.plural):
        return False
    return subresource in ("*", attributes.subresource) if "/" in entry else not attributes.subresource


def _scope_fits(scope: str, attributes: Attributes) -> bool:
    is_namespaced = attributes.resource.namespaced
    return scope == "*" or (scope == "Namespaced") == is_namespaced


def _namespace_fits(selector: Json | None, attributes: Attributes, reader: Reader) -> bool:
    """Cluster-scoped objects pass; a namespace is selected by its own labels."""
    if not selector:
        return True
    if str(attributes.resource) == "namespaces":
        shown: ReadOnlyObject = attributes.object or attributes.old_object or {}
    elif attributes.resource.namespaced:
        shown = reader.get("namespaces", "", attributes.namespace) or {}
    else:
        return True
    return _selects(selector, shown)


def _object_fits(selector: Json | None, attributes: Attributes) -> bool:
    """The new object or the old one."""
    if not selector:
        return True
    return any(_selects(selector, obj) for obj in (attributes.object, attributes.old_object) if obj is not None)


def _selects(selector: Json, obj: ReadOnlyObject) -> bool:
    return selectors.from_label_selector(dict(selector)).matches((obj.get("metadata") or {}).get("labels") or {})
