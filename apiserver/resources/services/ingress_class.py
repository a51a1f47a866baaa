"""Ingress classes: which controller serves an Ingress, and where its parameters are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_FIELDS, Errors, check_dns_label, check_domain_path, check_immutable
from apiserver.resources.kinds import SpecKind
from apiserver.resources.services.ingress import check_object_reference
from kubeloop.apimachinery import field
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

MAX_CONTROLLER_LENGTH = 250
CLUSTER, NAMESPACE = "Cluster", "Namespace"


class IngressClassStrategy(SpecKind):
    rechecks_object = True

    def default(self, obj: Object) -> None:
        parameters = (obj.get("spec") or NO_FIELDS).get("parameters")
        if parameters is not None and parameters.get("scope") is None:
            parameters["scope"] = CLUSTER

    def blank_status(self, obj: Object) -> Any:
        return None

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj.get("spec") or NO_FIELDS
        controller = spec.get("controller", "")
        if len(controller.encode()) > MAX_CONTROLLER_LENGTH:
            errors.append(field.too_long("spec.controller", MAX_CONTROLLER_LENGTH))
        check_domain_path(controller, "spec.controller", errors)
        if (parameters := spec.get("parameters")) is not None:
            _check_parameters(parameters, "spec.parameters", errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        after, before = ((obj.get("spec") or NO_FIELDS).get("controller", "") for obj in (new, old))
        check_immutable(after, before, "spec.controller", errors)
        self.check(new, errors)


def _check_parameters(parameters: Json, path: str, errors: Errors) -> None:
    check_object_reference(parameters, path, errors)
    scope, namespace = parameters["scope"], parameters.get("namespace")
    if scope == NAMESPACE:
        if namespace is None:
            errors.append(field.required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
        else:
            check_dns_label(namespace, f"{path}.namespace", errors)
    elif scope != CLUSTER:
        errors.append(field.not_supported(f"{path}.scope", scope, (CLUSTER, NAMESPACE)))
    elif namespace is not None:
        errors.append(field.forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))


INGRESS_CLASS = IngressClassStrategy()
