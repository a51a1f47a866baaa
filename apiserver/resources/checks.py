"""The small checks every kind's validation is composed of: each looks at one value and appends what is wrong.

A check is `check_x(value, path, errors)`: it appends FieldErrors to `errors` and returns nothing, so a list of checks
reads as a specification and costs no lists of its own. What makes a name, label or quantity good is decided in
`kubeloop.apimachinery`; here those answers become field errors.

Kubernetes tolerates on update what older versions had let in. This server never had older rules, so nothing of that
is here: an update is checked as a creation is, plus what may not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kubeloop.apimachinery import addresses, field, metadata_validation, selectors, validation
from kubeloop.apimachinery.field import FieldError

Errors = list[FieldError]
Check = Callable[[Any, str, Errors], None]

NO_ITEMS: tuple[Any, ...] = ()
NO_FIELDS: Mapping[str, Any] = {}


def check_with(messages: Iterable[str], value: Any, path: str, errors: Errors) -> None:
    """One `Invalid value` for each message."""
    for message in messages:
        errors.append(field.invalid(path, value, message))


def check_dns_label(value: str, path: str, errors: Errors) -> None:
    check_with(validation.dns_label_errors(value), value, path, errors)


def check_dns_subdomain(value: str, path: str, errors: Errors) -> None:
    check_with(validation.dns_subdomain_errors(value), value, path, errors)


def check_qualified_name(value: str, path: str, errors: Errors) -> None:
    check_with(validation.qualified_name_errors(value), value, path, errors)


def check_path_segment(value: str, path: str, errors: Errors) -> None:
    """The least any name must keep to, where what is named may be of any kind."""
    if not value:
        errors.append(field.required(path))
    else:
        check_with(validation.path_segment_errors(value), value, path, errors)


def check_domain_path(value: str, path: str, errors: Errors) -> None:
    """`example.com/job-controller`: a domain and a path below it."""
    errors.extend(metadata_validation.domain_path_errors(value, path))


def check_config_map_key(value: str, path: str, errors: Errors) -> None:
    check_with(validation.config_map_key_errors(value), value, path, errors)


def check_label_value(value: str, path: str, errors: Errors) -> None:
    check_with(validation.label_value_errors(value), value, path, errors)


def check_port_number(value: int, path: str, errors: Errors) -> None:
    check_with(validation.port_errors(value), value, path, errors)


def check_port_number_or_name(value: int | str, path: str, errors: Errors) -> None:
    if isinstance(value, int):
        check_port_number(value, path, errors)
    else:
        check_with(validation.port_name_errors(value), value, path, errors)


def check_user_id(value: int | None, path: str, errors: Errors) -> None:
    if value is not None:
        check_with(validation.user_id_errors(value), value, path, errors)


def check_ip(value: str, path: str, errors: Errors) -> None:
    check_with(addresses.ip_errors(value), value, path, errors)


def check_cidr(value: str, path: str, errors: Errors) -> None:
    check_with(addresses.cidr_errors(value), value, path, errors)


def check_labels(labels: Mapping[str, str] | None, path: str, errors: Errors) -> None:
    """Keys are qualified names, values label values; both errors stand at the map's own path."""
    if labels:
        errors.extend(metadata_validation.labels_errors(labels, path))


def check_annotations(annotations: Mapping[str, str] | None, path: str, errors: Errors) -> None:
    if annotations:
        errors.extend(metadata_validation.annotations_errors(annotations, path))


def check_label_selector(selector: Mapping[str, Any] | None, path: str, errors: Errors) -> None:
    if selector:
        errors.extend(selectors.label_selector_errors(selector, path))


def check_required(value: Any, path: str, errors: Errors) -> None:
    if not value:
        errors.append(field.required(path))


def check_not_negative(value: int, path: str, errors: Errors) -> None:
    if value < 0:
        errors.append(field.invalid(path, value, validation.MUST_BE_NON_NEGATIVE))


def check_positive(value: int, path: str, errors: Errors) -> None:
    if value <= 0:
        errors.append(field.invalid(path, value, validation.MUST_BE_POSITIVE))


def check_in_range(value: int, low: int, high: int, path: str, errors: Errors) -> None:
    check_with(validation.range_errors(value, low, high), value, path, errors)


def check_one_of(value: str, allowed: Sequence[str], path: str, errors: Errors) -> None:
    """`allowed` is listed in the order given: alphabetical where Kubernetes keeps a set."""
    if value not in allowed:
        errors.append(field.not_supported(path, value, allowed))


def check_choice(value: str | None, allowed: Sequence[str], path: str, errors: Errors) -> None:
    """A required choice: absent is `Required value`, anything else than `allowed` is unsupported."""
    if not value:
        errors.append(field.required(path))
    elif value not in allowed:
        errors.append(field.not_supported(path, value, allowed))


def check_immutable(new: Any, old: Any, path: str, errors: Errors) -> None:
    if new != old:
        errors.append(field.invalid(path, new, validation.IMMUTABLE))


def check_selector_kept(new: Mapping[str, Any] | None, old: Mapping[str, Any] | None, errors: Errors) -> None:
    if new != old:
        errors.append(field.invalid("spec.selector", go_selector(new), validation.IMMUTABLE))


def check_exactly_one(
    value: Mapping[str, Any], members: Iterable[tuple[str, Check]], noun: str, path: str, errors: Errors
) -> None:
    """Of a union's members exactly one is set: the first one found is checked, each further one is Forbidden.

    `noun` completes "may not specify more than 1 …" and "must specify a …".
    """
    found = False
    for name, check in members:
        member = value.get(name)
        if member is None:
            continue
        if found:
            errors.append(field.forbidden(f"{path}.{name}", f"may not specify more than 1 {noun}"))
        else:
            found = True
            check(member, f"{path}.{name}", errors)
    if not found:
        errors.append(field.required(path, f"must specify a {noun}"))


def go_struct(value: Mapping[str, Any], names: Mapping[str, str], empty: Mapping[str, Any] = NO_FIELDS) -> Any:
    """A value as Go prints an internal struct: every field under its Go name, unset ones as `empty` says, else null."""
    return {go_name: value.get(json_name, empty.get(json_name)) for json_name, go_name in names.items()}


def go_map(value: Mapping[str, Any] | None) -> Any:
    """A map as Go prints it: sorted by key, null where it is nil."""
    return None if value is None else dict(sorted(value.items()))


def go_selector(selector: Mapping[str, Any] | None) -> Any:
    """A label selector as Go prints it: in its own order, without what is empty."""
    if selector is None:
        return None
    printed: dict[str, Any] = {}
    if labels := selector.get("matchLabels"):
        printed["matchLabels"] = go_map(labels)
    if expressions := selector.get("matchExpressions"):
        printed["matchExpressions"] = [_go_expression(expression) for expression in expressions]
    return printed


def _go_expression(expression: Mapping[str, Any]) -> Mapping[str, Any]:
    printed = {name: expression.get(name, "") for name in ("key", "operator")}
    return {**printed, "values": expression["values"]} if expression.get("values") else printed
