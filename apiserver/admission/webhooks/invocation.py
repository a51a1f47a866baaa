"""Whether a webhook is asked about a write, and about which resource: its rules, selectors and conditions.

Facts: k8s.io/apiserver/pkg/admission/plugin/webhook/{generic,predicates} (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.admission.chain import CREATE, UPDATE, Attributes
from apiserver.admission.forms import Forms
from apiserver.admission.webhooks.configurations import Webhook
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import labels_of
from kubeloop.apimachinery.resource import Resource

Json = Mapping[str, Any]

NAMESPACES = "namespaces"
_GROUP = "admissionregistration.k8s.io"


def is_exempt(attributes: Attributes) -> bool:
    """Configurations of webhooks and policies are never shown to webhooks: one could lock everybody out."""
    return attributes.resource.group == _GROUP


def namespace_of_request(attributes: Attributes) -> str:
    """The namespace of a write; of a namespace, that is itself."""
    if attributes.resource.plural == NAMESPACES and not attributes.resource.group:
        return attributes.namespace or name_of_request(attributes)
    return attributes.namespace


def name_of_request(attributes: Attributes) -> str:
    """The name of the object, "" where the server has yet to make it up."""
    obj = attributes.object
    return attributes.name or ((obj.get("metadata") or {}).get("name") or "" if obj is not None else "")


@dataclass(frozen=True, slots=True)
class Invocation:
    """A webhook that is to be asked. `resource` is what its rules name; `kind` is what it is shown, in that version."""

    webhook: Webhook
    resource: Resource
    kind: Resource


class Matcher:
    """Finds what webhooks are to be asked about. Does not look at their conditions, which need the object as shown."""

    def __init__(self, reader: Reader, forms: Forms) -> None:
        self._reader, self._forms = reader, forms

    def invocation(self, webhook: Webhook, attributes: Attributes) -> Invocation | None:
        """How to ask a webhook about a write, None where it is not to be asked.

        NotFound where the namespace that its selector asks about is not there.
        """
        resource = self._resource(webhook.source, attributes)
        if resource is None or not _selects_object(webhook, attributes):
            return None
        if not self._selects_namespace(webhook, attributes):
            return None
        return Invocation(webhook, resource, self._forms.taken_by(resource, attributes.subresource))

    def _resource(self, source: Json, attributes: Attributes) -> Resource | None:
        """The resource of the request, or an equivalent of it, whichever a rule names; the request's own first."""
        rules: Sequence[Json] = source.get("rules") or ()
        if any(_covers(rule, attributes, attributes.resource) for rule in rules):
            return attributes.resource
        if source.get("matchPolicy") != "Equivalent":
            return None
        for rule in rules:
            if not _has(rule.get("operations"), attributes.operation):
                continue
            for equivalent in self._forms.equivalents(attributes.resource, attributes.subresource):
                if equivalent != attributes.resource and _covers(rule, attributes, equivalent):
                    return equivalent
        return None

    def _selects_namespace(self, webhook: Webhook, attributes: Attributes) -> bool:
        if webhook.namespaces.is_empty:
            return True
        is_namespace = attributes.resource.plural == NAMESPACES
        name = namespace_of_request(attributes)
        if not name and not is_namespace:
            return True
        if is_namespace and not attributes.subresource and attributes.operation in (CREATE, UPDATE):
            return webhook.namespaces.matches(labels_of(attributes.object or {}))
        namespace = self._reader.get(NAMESPACES, "", name)
        if namespace is None:
            raise NotFound.of(NAMESPACES, "", name)
        return webhook.namespaces.matches(labels_of(namespace))


def _selects_object(webhook: Webhook, attributes: Attributes) -> bool:
    """The new object, as the webhooks before this one left it, or the old one."""
    if webhook.objects.is_empty:
        return True
    both = (attributes.object, attributes.old_object)
    return any(webhook.objects.matches(labels_of(obj)) for obj in both if obj is not None)


def _covers(rule: Json, attributes: Attributes, resource: Resource) -> bool:
    return (
        _has(rule.get("operations"), attributes.operation)
        and _has(rule.get("apiGroups"), resource.group)
        and _has(rule.get("apiVersions"), resource.version)
        and any(_names(entry, resource.plural, attributes.subresource) for entry in rule.get("resources") or ())
        and _scope_fits(rule.get("scope") or "*", attributes, resource)
    )


def _has(listed: Sequence[str] | None, value: str) -> bool:
    return listed is not None and (value in listed or "*" in listed)


def _names(entry: str, plural: str, subresource: str) -> bool:
    """`pods`, `pods/status`, `*`, `*/*`, `pods/*`, `*/scale`. Without a slash no subresource is meant."""
    named, _, below = entry.partition("/")
    return named in ("*", plural) and below in ("*", subresource)


def _scope_fits(scope: str, attributes: Attributes, resource: Resource) -> bool:
    if scope == "*":
        return True
    is_namespace = resource.plural == NAMESPACES and not resource.group
    is_namespaced = bool(attributes.namespace) and not is_namespace
    return is_namespaced == (scope == "Namespaced")
