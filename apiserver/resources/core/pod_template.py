"""PodTemplates: a template kept on its own."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.resources.apps.workload import has_new_generation
from apiserver.resources.checks import Errors
from apiserver.resources.comparison import same
from apiserver.resources.kinds import PlainKind
from apiserver.resources.pods.defaults import default_pod_template
from apiserver.resources.pods.pod_template import check_pod_template, drop_disabled_fields
from apiserver.resources.pods.warnings import template_warnings
from kubeloop.apimachinery.meta import Object


class PodTemplateStrategy(PlainKind):
    returns_object_on_delete = True

    def default(self, obj: Object) -> None:
        default_pod_template(obj.setdefault("template", {}))

    def prepare_for_create(self, obj: Object) -> None:
        obj["metadata"]["generation"] = 1
        drop_disabled_fields(obj["template"]["spec"])

    def prepare_for_update(self, new: Object, old: Object) -> None:
        drop_disabled_fields(new["template"]["spec"])
        changed = not same(new.get("template"), old.get("template"))
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + changed

    def check(self, obj: Object, errors: Errors) -> None:
        check_pod_template(obj["template"], "template", errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        return template_warnings(obj["template"], "template.")

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        return self.warnings(new) if has_new_generation(new, old) else ()


POD_TEMPLATE = PodTemplateStrategy()
