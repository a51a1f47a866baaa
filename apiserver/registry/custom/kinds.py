"""From a CustomResourceDefinition to the Kinds it makes: one for each served version, and one it is stored in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from apiserver.printing.custom import custom_columns
from apiserver.registry.catalog import Kind, Subresource
from apiserver.registry.custom.strategy import CustomStrategy
from apiserver.registry.custom.versioning import Converter, CustomVersioning, DefinedVersions
from apiserver.registry.scale_fields import WORKLOAD, PathScale
from apiserver.schema.codec import Codec
from apiserver.schema.custom_type import CustomType
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.resource import Resource

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_KUBE_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")


class DefinedKinds(NamedTuple):
    """What a definition makes."""

    served: Sequence[Kind]  # the version clients should prefer first
    stored: Kind  # the version it is stored in, be it served or not: the server's own work is done in it


def kinds_of(
    definition: ReadOnlyObject,
    metadata: Codec,
    is_terminating: Callable[[], bool],
    converter_of: Callable[[ReadOnlyObject], Converter],
) -> DefinedKinds:
    """The kinds of an accepted definition.

    While `is_terminating` none of their objects may be created. `converter_of` is asked where it has a webhook.
    """
    spec = definition["spec"]
    defined = _defined(definition, metadata, converter_of)
    # What may have been written under another schema is brought into the form of this one whenever it is read.
    has_other_schemas = len(spec["versions"]) > 1 or definition["metadata"].get("generation", 1) > 1

    def kind_of(version: Mapping[str, Any]) -> Kind:
        return _kind(definition, version, defined, has_other_schemas, is_terminating)

    by_name = sorted(spec["versions"], key=lambda version: by_preference(version["name"]))
    served = [kind_of(version) for version in by_name if version.get("served")]
    stored = next(version for version in by_name if version.get("storage"))
    found = next((kind for kind in served if kind.resource.version == stored["name"]), None)
    return DefinedKinds(served, found or kind_of(stored))


def _defined(
    definition: ReadOnlyObject, metadata: Codec, converter_of: Callable[[ReadOnlyObject], Converter]
) -> DefinedVersions:
    spec = definition["spec"]
    versions = {f"{spec['group']}/{version['name']}": version for version in spec["versions"]}
    has_webhook = len(versions) > 1 and (spec.get("conversion") or {}).get("strategy") == "Webhook"
    return DefinedVersions(
        kind=definition["status"]["acceptedNames"]["kind"],
        stored=next(name for name, version in versions.items() if version.get("storage")),
        types={name: _type(version, spec, metadata) for name, version in versions.items()},
        replicas_paths={
            name: scale.spec_path for name, version in versions.items() if (scale := _scale_of(version)) is not None
        },
        converter=converter_of(definition) if has_webhook else None,
    )


def storage_of(definition: ReadOnlyObject) -> str:
    """The storage resource of a definition's objects."""
    return f"{definition['spec']['names']['plural']}.{definition['spec']['group']}"


def by_preference(version: str) -> tuple[Any, ...]:
    """Sorts versions as discovery does: GA before beta before alpha, higher numbers first, others last by name."""
    match = _KUBE_VERSION.fullmatch(version)
    if match is None:
        return (1, version)
    stability = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return (0, stability, -int(match[1]), -int(match[3] or 0))


def in_discovery_order(kinds: Iterable[Kind]) -> list[Kind]:
    return sorted(kinds, key=lambda kind: (kind.group, by_preference(kind.resource.version), kind.plural))


def _type(version: Mapping[str, Any], spec: Mapping[str, Any], metadata: Codec) -> CustomType:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}
    return CustomType(schema, metadata, bool(spec.get("preserveUnknownFields")))


def _kind(
    definition: ReadOnlyObject,
    version: Mapping[str, Any],
    defined: DefinedVersions,
    has_other_schemas: bool,
    is_terminating: Callable[[], bool],
) -> Kind:
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    resource = Resource(
        spec["group"], version["name"], names["plural"], names["kind"], namespaced=spec["scope"] == "Namespaced"
    )
    type_ = defined.types[resource.api_version]
    scale = _scale_of(version)
    has_status = (version.get("subresources") or {}).get("status") is not None
    strategy = CustomStrategy(
        resource,
        type_,
        has_status=has_status,
        scale=scale,
        selectable=_selectable(version),
        is_terminating=is_terminating,
    )
    versioning = CustomVersioning(defined, resource.api_version, strategy.selectable_fields)
    return Kind(
        resource,
        names.get("singular") or names["kind"].lower(),
        strategy,
        list_kind=names.get("listKind") or "",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=VERBS,
        subresources=_subresources(names["kind"], has_status, scale is not None),
        columns=custom_columns(version.get("additionalPrinterColumns")),
        storage=storage_of(definition),
        versioning=versioning if has_other_schemas else None,
        custom=type_,
        scale=scale or WORKLOAD,
        deprecation=_deprecation(definition, version),
    )


def _subresources(kind: str, has_status: bool, has_scale: bool) -> tuple[Subresource, ...]:
    found = [Subresource("status", kind)] if has_status else []
    if has_scale:
        found.append(Subresource("scale", "Scale", group="autoscaling", version="v1"))
    return tuple(found)


def _scale_of(version: Mapping[str, Any]) -> PathScale | None:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return None
    paths = [_path(scale.get(name) or "") for name in ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")]
    return PathScale(*paths)


def _path(json_path: str) -> tuple[str, ...]:
    return tuple(json_path.removeprefix(".").split(".")) if json_path else ()


def _selectable(version: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    fields = version.get("selectableFields") or ()
    return {field["jsonPath"].removeprefix("."): _path(field["jsonPath"]) for field in fields}


def _deprecation(definition: ReadOnlyObject, version: Mapping[str, Any]) -> str:
    """The warning of a deprecated version; one that says nothing itself names the best of those to be used instead."""
    if not version.get("deprecated"):
        return ""
    if (own := version.get("deprecationWarning")) is not None:
        return str(own)
    spec, rank = definition["spec"], by_preference(version["name"])
    group, kind = spec["group"], spec["names"]["kind"]
    text = f"{group}/{version['name']} {kind} is deprecated"
    better = sorted(
        (by_preference(other["name"]), other["name"])
        for other in spec["versions"]
        if other.get("served") and not other.get("deprecated") and by_preference(other["name"]) < rank
    )
    return f"{text}; use {group}/{better[0][1]} {kind}" if better else text
