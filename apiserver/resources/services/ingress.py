"""Ingresses: which hosts and paths lead to which Service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_dns_label,
    check_dns_subdomain,
    check_ip,
    check_path_segment,
    check_port_number,
    check_with,
)
from apiserver.resources.kinds import SpecKind
from apiserver.resources.services.facts import load_balancer_points, load_balancer_warnings
from apiserver.resources.services.service_checks import check_ingress_hostname
from kubeloop.apimachinery import addresses, field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
EXACT, PREFIX, AS_THE_CONTROLLER_LIKES = "Exact", "Prefix", "ImplementationSpecific"
PATH_TYPES = (EXACT, AS_THE_CONTROLLER_LIKES, PREFIX)
BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
BAD_ENDINGS = ("/..", "/.")


class IngressStrategy(SpecKind):
    rechecks_object = True

    def blank_status(self, obj: Object) -> Any:
        return {"loadBalancer": {}}

    def check(self, obj: Object, errors: Errors) -> None:
        self._check_spec(obj, errors)
        annotation, name = _class_names(obj)
        if annotation is not None and name is not None and annotation != name:
            reason = "must match `ingressClassName` when both are specified"
            errors.append(field.invalid(f"annotations.{CLASS_ANNOTATION}", annotation, reason))

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self._check_spec(new, errors)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        had = {point.get("ip") for point in load_balancer_points(old)}
        for i, point in enumerate(load_balancer_points(new)):
            path = f"status.loadBalancer.ingress[{i}]"
            if (ip := point.get("ip")) and ip not in had:
                check_ip(ip, f"{path}.ip", errors)
            check_ingress_hostname(point.get("hostname", ""), f"{path}.hostname", errors)

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        """Of addresses in the status; the deprecated annotation is warned of at creation."""
        return load_balancer_warnings(new) if subresource == "status" else ()

    def warnings(self, obj: Object) -> Sequence[str]:
        annotation, name = _class_names(obj)
        if annotation is None or name is not None:
            return ()
        return [f"annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]

    def _check_spec(self, obj: Object, errors: Errors) -> None:
        spec = obj.get("spec") or NO_FIELDS
        rules, backend = spec.get("rules") or NO_ITEMS, spec.get("defaultBackend")
        if not rules and backend is None:
            reason = "either `defaultBackend` or `rules` must be specified"
            errors.append(field.invalid("spec", None, reason))
        if backend is not None:
            _check_backend(backend, "spec.defaultBackend", errors)
        for i, rule in enumerate(rules):
            _check_rule(rule, f"spec.rules[{i}]", errors)
        for i, tls in enumerate(spec.get("tls") or NO_ITEMS):
            _check_tls(tls, f"spec.tls[{i}]", errors)
        if (name := spec.get("ingressClassName")) is not None:
            check_dns_subdomain(name, "spec.ingressClassName", errors)


def _class_names(ingress: Json) -> tuple[str | None, str | None]:
    """The class as the old annotation and as the field says it."""
    annotations = ingress["metadata"].get("annotations") or NO_FIELDS
    return annotations.get(CLASS_ANNOTATION), (ingress.get("spec") or NO_FIELDS).get("ingressClassName")


def _check_rule(rule: Json, path: str, errors: Errors) -> None:
    if host := rule.get("host"):
        if addresses.looks_like_ip(host):
            errors.append(field.invalid(f"{path}.host", host, "must be a DNS name, not an IP address"))
        _check_host(host, f"{path}.host", errors)
    if (http := rule.get("http")) is None:
        return
    if not http.get("paths"):
        errors.append(field.required(f"{path}.http.paths"))
    for i, entry in enumerate(http.get("paths") or NO_ITEMS):
        _check_path(entry, f"{path}.http.paths[{i}]", errors)


def _check_host(host: str, path: str, errors: Errors) -> None:
    if "*" in host:
        check_with(validation.wildcard_dns_subdomain_errors(host), host, path, errors)
    else:
        check_dns_subdomain(host, path, errors)


def _check_path(entry: Json, path: str, errors: Errors) -> None:
    kind, value = entry.get("pathType"), entry.get("path", "")
    if kind is None:
        errors.append(field.required(f"{path}.pathType", "pathType must be specified"))
        return
    if kind in (EXACT, PREFIX):
        _check_url_path(value, f"{path}.path", errors)
    elif kind != AS_THE_CONTROLLER_LIKES:
        errors.append(field.not_supported(f"{path}.pathType", kind, PATH_TYPES))
    elif value and not value.startswith("/"):
        errors.append(field.invalid(f"{path}.path", value, "must be an absolute path"))
    _check_backend(entry.get("backend") or NO_FIELDS, f"{path}.backend", errors)


def _check_url_path(value: str, path: str, errors: Errors) -> None:
    """What can be compared as text: absolute, without detours or hidden slashes."""
    if not value.startswith("/"):
        errors.append(field.invalid(path, value, "must be an absolute path"))
    for text in BAD_SEQUENCES:
        if text in value:
            errors.append(field.invalid(path, value, f"must not contain '{text}'"))
    for text in BAD_ENDINGS:
        if value.endswith(text):
            errors.append(field.invalid(path, value, f"cannot end with '{text}'"))


def _check_backend(backend: Json, path: str, errors: Errors) -> None:
    """A port of a Service, or any other object of the namespace."""
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        errors.append(field.invalid(path, "", "cannot set both resource and service backends"))
    elif resource is not None:
        check_object_reference(resource, f"{path}.resource", errors)
    elif service is not None:
        _check_service(service, path, errors)
    else:
        errors.append(field.invalid(path, "", "resource or service backend is required"))


def check_object_reference(reference: Json, path: str, errors: Errors) -> None:
    if (group := reference.get("apiGroup")) is not None:
        check_dns_subdomain(group, f"{path}.apiGroup", errors)
    for name in ("kind", "name"):
        check_path_segment(reference.get(name, ""), f"{path}.{name}", errors)


def _check_service(service: Json, path: str, errors: Errors) -> None:
    if name := service.get("name"):
        check_dns_label(name, f"{path}.service.name", errors)
    else:
        errors.append(field.required(f"{path}.service.name"))
    port, at = service.get("port") or NO_FIELDS, f"{path}.service.port"
    name, number = port.get("name"), port.get("number")
    if name and number:
        errors.append(field.invalid(path, "", "cannot set both port name & port number"))
    elif name:
        check_with(validation.port_name_errors(name), name, f"{at}.name", errors)
    elif number:
        check_port_number(number, f"{at}.number", errors)
    else:
        errors.append(field.required(path, "port name or number is required"))


def _check_tls(tls: Json, path: str, errors: Errors) -> None:
    for i, host in enumerate(tls.get("hosts") or NO_ITEMS):
        _check_host(host, f"{path}.hosts[{i}]", errors)
    if secret := tls.get("secretName"):
        check_dns_subdomain(secret, f"{path}.secretName", errors)


INGRESS = IngressStrategy()
