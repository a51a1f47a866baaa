"""What a CustomResourceDefinition's spec must say: group, scope, versions, names and conversion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.admissionregistration.webhook_client import check_client
from apiserver.resources.apiextensions.definition_names import check_joined, check_names, check_required_names
from apiserver.resources.apiextensions.definition_version import Parts, check_parts, split_shared
from apiserver.resources.apiextensions.internal_schema import internal_versions
from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_choice, check_with
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.ca_bundle import ca_bundle_error
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.json_schema import all_within

Json = Mapping[str, Any]

SCOPES = ("Cluster", "Namespaced")
STRATEGIES = ("None", "Webhook")
REVIEW_VERSIONS = ("v1", "v1beta1")
LONGEST_DEPRECATION_WARNING = 256


def check_definition_spec(
    spec: Json, path: str, errors: Errors, *, before: Json = NO_FIELDS, checks_bundle: bool = False
) -> None:
    """`before` is what it is to replace; `checks_bundle`: the CA bundle of a conversion webhook must be one."""
    _check_group(spec.get("group", ""), f"{path}.group", errors)
    check_choice(spec.get("scope"), SCOPES, f"{path}.scope", errors)
    versions = spec.get("versions") or NO_ITEMS
    _check_schemas_present(versions, path, errors)
    if spec.get("preserveUnknownFields") and _has_defaults(versions):
        reason = "must be false in order to use defaults in the schema"
        errors.append(field.invalid(f"{path}.preserveUnknownFields", True, reason))
    unchanged = _unchanged_schemas(versions, before.get("versions") or NO_ITEMS)
    shared, rest = split_shared(versions)
    has_status = [_has_status({**shared, **version}) for version in rest]
    for i, version in enumerate(rest):
        parts = Parts.of(version, version.get("name", "") in unchanged)
        _check_version(version, parts, has_status[i], f"{path}.versions[{i}]", errors)
    _check_version_list(rest, f"{path}.versions", errors)
    first = rest[0].get("name", "") if rest else ""
    if first:
        check_joined(validation.dns1035_label_errors(first), first, f"{path}.version", errors)
    check_required_names(spec.get("names") or NO_FIELDS, f"{path}.names", errors)
    check_names(spec.get("names") or NO_FIELDS, f"{path}.names", errors)
    check_parts(Parts.of(shared, first in unchanged), any(has_status), path, "validation", errors)
    _check_conversion(spec, f"{path}.conversion", errors, checks_bundle=checks_bundle)


def _check_group(group: str, path: str, errors: Errors) -> None:
    if not group:
        errors.append(field.required(path))
    elif reasons := validation.dns_subdomain_errors(group):
        check_joined(reasons, group, path, errors)
    elif "." not in group:
        errors.append(field.invalid(path, group, "should be a domain with at least one dot"))


def _check_schemas_present(versions: Sequence[Json], path: str, errors: Errors) -> None:
    """Every version has a schema."""
    for i, version in enumerate(versions):
        if _schema_of(version) is None:
            errors.append(field.required(f"{path}.versions[{i}].schema.openAPIV3Schema"))


def _schema_of(version: Json) -> Json | None:
    schema: Json | None = (version.get("schema") or NO_FIELDS).get("openAPIV3Schema")
    return schema


def _unchanged_schemas(versions: Sequence[Json], before: Sequence[Json]) -> set[str]:
    """The names of the versions whose schema stays as it is."""
    known = {version.get("name", ""): _schema_of(version) for version in before}
    names = {version.get("name", ""): _schema_of(version) for version in versions}
    return {name for name, schema in names.items() if name in known and known[name] == schema}


def _has_defaults(versions: Sequence[Json]) -> bool:
    schemas = [schema for version in versions if (schema := _schema_of(version)) is not None]
    return any(part.get("default") is not None for schema in schemas for part in all_within(schema))


def _has_status(version: Json) -> bool:
    return (version.get("subresources") or NO_FIELDS).get("status") is not None


def _check_version(version: Json, parts: Parts, has_status: bool, path: str, errors: Errors) -> None:
    name = version.get("name", "")
    check_joined(validation.dns1035_label_errors(name), name, f"{path}.name", errors)
    warning = version.get("deprecationWarning")
    if warning is not None:
        reasons = _deprecation_warning_errors(warning, version.get("deprecated", False))
        check_with(reasons, warning, f"{path}.deprecationWarning", errors)
    check_parts(parts, has_status, path, "schema", errors)


def _deprecation_warning_errors(warning: str, is_deprecated: bool) -> list[str]:
    if not is_deprecated:
        return ["can only be set for deprecated versions"]
    reasons = []
    if len(warning.encode()) > LONGEST_DEPRECATION_WARNING:
        reasons.append(f"must be <= {LONGEST_DEPRECATION_WARNING} characters long")
    if not warning:
        reasons.append("must not be an empty string")
    bad = next((i for i, character in enumerate(warning) if not character.isprintable()), None)
    if bad is not None:
        at = len(warning[:bad].encode())
        reasons.append(f"must only contain printable UTF-8 characters; non-printable character found at index {at}")
    return reasons


def _check_version_list(versions: Sequence[Json], path: str, errors: Errors) -> None:
    names = [version.get("name", "") for version in versions]
    listed = internal_versions(versions)
    if len(set(names)) < len(names):
        errors.append(field.invalid(path, listed, "must contain unique version names"))
    if sum(version.get("storage", False) for version in versions) != 1:
        errors.append(field.invalid(path, listed, "must have exactly one version marked as storage version"))


def _check_conversion(spec: Json, path: str, errors: Errors, *, checks_bundle: bool) -> None:
    """`path` names the fields as upstream's internal type has them."""
    conversion = spec.get("conversion") or NO_FIELDS
    strategy, webhook = conversion.get("strategy", ""), conversion.get("webhook") or NO_FIELDS
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy != "None" and spec.get("preserveUnknownFields"):
        reason = "must be None if spec.preserveUnknownFields is true"
        errors.append(field.invalid(f"{path}.strategy", strategy, reason))
    check_choice(strategy, STRATEGIES, f"{path}.strategy", errors)
    if strategy == "Webhook":
        if client is None:
            reason = "required when strategy is set to Webhook"
            errors.append(field.required(f"{path}.webhookClientConfig", reason))
        else:
            check_client(client, f"{path}.webhookClientConfig", errors)
            bundle = client.get("caBundle") or ""
            if checks_bundle and (reason := ca_bundle_error(bundle)):
                errors.append(field.invalid(f"{path}.webhookClientConfig.caBundle", bundle, reason))
        _check_review_versions(versions, f"{path}.conversionReviewVersions", errors)
        return
    for name, value in (("webhookClientConfig", client is not None), ("conversionReviewVersions", versions)):
        if value:
            errors.append(field.forbidden(f"{path}.{name}", "should not be set when strategy is not set to Webhook"))


def _check_review_versions(versions: Sequence[str], path: str, errors: Errors) -> None:
    if not versions:
        errors.append(field.required(path))
        return
    for i, version in enumerate(versions):
        if version in versions[:i]:
            errors.append(field.invalid(f"{path}[{i}]", version, "duplicate version"))
        else:
            check_with(validation.dns1035_label_errors(version), version, f"{path}[{i}]", errors)
    if not any(version in REVIEW_VERSIONS for version in versions):
        reason = f"must include at least one of {', '.join(REVIEW_VERSIONS)}"
        errors.append(field.invalid(path, versions, reason))


def unknown_formats(spec: Json, is_known: Any) -> list[str]:
    """A warning for each format in the schemas that nobody looks at."""
    shared, rest = split_shared(spec.get("versions") or NO_ITEMS)
    schemas = [schema for holder in (shared, *rest) if (schema := _schema_of(holder)) is not None]
    return [
        f"unrecognized format {go_quote(part['format'])}"
        for schema in schemas
        for part in all_within(schema)
        if part.get("format") and not is_known(part["format"], part.get("type", ""))
    ]
