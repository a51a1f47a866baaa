"""OwnerReferencesPermissionEnforcement: who sets owners may delete the object, and may hold its owners back.

Words are those of plugin/pkg/admission/gc (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Plugin
from apiserver.admission.forms import Forms
from apiserver.auth.authorization import Access, Authorizer
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.resource import Resource

# Writes whose object is not the one that has owners.
_PASSED_OVER = frozenset({("pods", "status"), ("pods", "binding"), ("bindings", "")})

Reference = Mapping[str, Any]


class OwnerReferencesPermissionEnforcement(Plugin):
    operations = frozenset({CREATE, UPDATE})

    def __init__(self, forms: Forms, authorizer: Authorizer) -> None:
        self._forms, self._authorizer = forms, authorizer

    async def validate(self, attributes: Attributes) -> None:
        if attributes.object is None or (str(attributes.resource), attributes.subresource) in _PASSED_OVER:
            return
        new, old = _owners(attributes.object), _owners(attributes.old_object or {})
        if new == old:
            return
        if attributes.operation != CREATE:
            self._check_delete(attributes)
        blocking = _newly_blocking(new, old)
        if blocking and not self._may_finalize_anything(attributes):
            for reference in blocking:
                self._check_finalizers(attributes, reference)

    def _check_delete(self, attributes: Attributes) -> None:
        resource = attributes.resource
        access = Access(
            attributes.user,
            "delete",
            resource.group,
            resource.version,
            resource.plural,
            attributes.subresource,
            attributes.namespace,
            attributes.name,
        )
        decision = self._authorizer.authorize(access)
        if not decision.allowed:
            why = "cannot set an ownerRef on a resource you can't delete"
            raise attributes.forbidden(f"{why}: {decision.reason}, <nil>")

    def _may_finalize_anything(self, attributes: Attributes) -> bool:
        access = Access(attributes.user, "update", "*", "*", "*", "finalizers", name="*")
        return self._authorizer.authorize(access).allowed

    def _check_finalizers(self, attributes: Attributes, reference: Reference) -> None:
        owner = self._resource_of(reference)
        if owner is None:
            version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
            group = version.partition("/")[0] if "/" in version else ""
            shown = f'"{kind}" in version "{version}"' if version else f'"{kind}" in group "{group}"'
            why = f"cannot find RESTMapping for APIVersion {version} Kind {kind}: no matches for kind {shown}"
            raise attributes.forbidden(f"cannot set blockOwnerDeletion in this case because {why}")
        namespace = attributes.namespace if owner.namespaced else ""
        access = Access(
            attributes.user,
            "update",
            owner.group,
            owner.version,
            owner.plural,
            "finalizers",
            namespace,
            reference.get("name", ""),
        )
        decision = self._authorizer.authorize(access)
        if not decision.allowed:
            why = "an ownerReference refers to a resource you can't set finalizers on"
            raise attributes.forbidden(f"cannot set blockOwnerDeletion if {why}: {decision.reason}, <nil>")

    def _resource_of(self, reference: Reference) -> Resource | None:
        group, slash, version = reference.get("apiVersion", "").partition("/")
        return self._forms.of_kind(group if slash else "", version if slash else group, reference.get("kind", ""))


def _owners(obj: ReadOnlyObject) -> Sequence[Reference]:
    return (obj.get("metadata") or {}).get("ownerReferences") or []


def _newly_blocking(new: Sequence[Reference], old: Sequence[Reference]) -> list[Reference]:
    """References that hold their owner back and did not before."""
    before = {one.get("uid") for one in old if one.get("blockOwnerDeletion")}
    return [one for one in new if one.get("blockOwnerDeletion") and one.get("uid") not in before]
