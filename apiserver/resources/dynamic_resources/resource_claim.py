"""ResourceClaims and the templates they are made from: what they ask for never changes."""

from __future__ import annotations

from apiserver.resources.checks import NO_FIELDS, Errors
from apiserver.resources.comparison import same
from apiserver.resources.dynamic_resources.claim_spec import check_claim_spec, default_claim_spec
from apiserver.resources.dynamic_resources.claim_status import check_claim_status, forget_deallocated
from apiserver.resources.internal_types import as_internal
from apiserver.resources.kinds import PlainKind, carry_over
from apiserver.resources.volumes.claim_spec import check_template_metadata
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object


class ResourceClaimStrategy(PlainKind):
    rechecks_object = True
    returns_object_on_delete = True

    def default(self, obj: Object) -> None:
        default_claim_spec(obj.setdefault("spec", {}))

    def prepare_for_create(self, obj: Object) -> None:
        obj["status"] = {}

    def check(self, obj: Object, errors: Errors) -> None:
        check_claim_spec(obj["spec"], "spec", errors)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        carry_over(new, old, "status")

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        _check_same_spec(new, old, "ResourceClaimSpec", errors)

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        super().prepare_for_status_update(new, old)
        carry_over(new["metadata"], old["metadata"], "labels", "annotations", "finalizers", "ownerReferences")
        forget_deallocated(new, old)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        check_claim_status(new, old, errors)


class ResourceClaimTemplateStrategy(PlainKind):
    rechecks_object = True
    returns_object_on_delete = True

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("metadata", {})
        default_claim_spec(spec.setdefault("spec", {}))

    def check(self, obj: Object, errors: Errors) -> None:
        check_template_metadata(obj["spec"].get("metadata") or NO_FIELDS, "spec.metadata", errors)
        check_claim_spec(obj["spec"]["spec"], "spec.spec", errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check(new, errors)
        _check_same_spec(new, old, "ResourceClaimTemplateSpec", errors)


def _check_same_spec(new: Object, old: Object, struct: str, errors: Errors) -> None:
    if not same(new["spec"], old["spec"]):
        errors.append(field.invalid("spec", as_internal(struct, new["spec"]), validation.IMMUTABLE))


RESOURCE_CLAIM = ResourceClaimStrategy()
RESOURCE_CLAIM_TEMPLATE = ResourceClaimTemplateStrategy()
