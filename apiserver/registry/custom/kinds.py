"""From a CustomResourceDefinition to the Kinds it makes: one for each served version."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from apiserver.printing.custom import custom_columns
from apiserver.registry.catalog import Conversion, Kind, Subresource
from apiserver.registry.custom.strategy import CustomStrategy, View
from apiserver.registry.scale_fields import WORKLOAD, PathScale
from apiserver.schema.codec import Codec
from apiserver.schema.custom_type import CustomType
from kubeloop.apimachinery.meta import Object, ReadOnlyObject
from kubeloop.apimachinery.resource import Resource

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_KUBE_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")


def kinds_of(definition: ReadOnlyObject, metadata: Codec, is_terminating: Callable[[], bool]) -> list[Kind]:
    """The kinds of an accepted definition, the version clients should prefer first.

    While `is_terminating` none of their objects may be created.
    """
    spec = definition["spec"]
    versions = {version["name"]: version for version in spec["versions"]}
    types = {name: _type(version, spec, metadata) for name, version in versions.items()}
    stored = next(name for name, version in versions.items() if version.get("storage"))
    served = sorted((v for v in versions.values() if v.get("served")), key=lambda v: by_preference(v["name"]))
    # What may have been written under another schema is brought into the form of this one whenever it is read.
    has_other_schemas = len(versions) > 1 or definition["metadata"].get("generation", 1) > 1
    kinds = []
    for version in served:
        conversion = None
        if has_other_schemas:
            conversion = _conversion(definition, types, stored, version["name"])
        kinds.append(_kind(definition, version, types[version["name"]], conversion, is_terminating))
    return kinds


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
    type_: CustomType,
    conversion: Conversion | None,
    is_terminating: Callable[[], bool],
) -> Kind:
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    resource = Resource(
        spec["group"], version["name"], names["plural"], names["kind"], namespaced=spec["scope"] == "Namespaced"
    )
    subresources = version.get("subresources") or {}
    scale = _scale(subresources.get("scale"))
    has_status = subresources.get("status") is not None
    view: View = conversion.from_stored if conversion is not None else _as_it_is
    strategy = CustomStrategy(
        resource,
        type_,
        view,
        has_status=has_status,
        scale=scale,
        selectable=_selectable(version),
        is_terminating=is_terminating,
    )
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
        conversion=conversion,
        custom=type_,
        scale=scale or WORKLOAD,
        deprecation=_deprecation(resource, version),
    )


def _as_it_is(obj: Object) -> Object:
    return obj


def _conversion(definition: ReadOnlyObject, types: Mapping[str, CustomType], stored: str, wanted: str) -> Conversion:
    """Strategy None: all versions have the same fields, of which each shows those it knows."""
    group, kind = definition["spec"]["group"], definition["status"]["acceptedNames"]["kind"]

    def from_stored(obj: Object) -> Object:
        whole, _ = types[stored].coerce({"apiVersion": f"{group}/{stored}", "kind": kind, **obj})
        types[stored].fill_defaults(whole)
        if wanted != stored:
            whole, _ = types[wanted].coerce(whole)
        del whole["apiVersion"], whole["kind"]
        return whole

    return Conversion(_as_it_is, from_stored)


def _subresources(kind: str, has_status: bool, has_scale: bool) -> tuple[Subresource, ...]:
    found = [Subresource("status", kind)] if has_status else []
    if has_scale:
        found.append(Subresource("scale", "Scale", group="autoscaling", version="v1"))
    return tuple(found)


def _scale(scale: Mapping[str, Any] | None) -> PathScale | None:
    if scale is None:
        return None
    paths = [_path(scale.get(name) or "") for name in ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")]
    return PathScale(*paths)


def _path(json_path: str) -> tuple[str, ...]:
    return tuple(json_path.removeprefix(".").split(".")) if json_path else ()


def _selectable(version: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    fields = version.get("selectableFields") or ()
    return {field["jsonPath"].removeprefix("."): _path(field["jsonPath"]) for field in fields}


def _deprecation(resource: Resource, version: Mapping[str, Any]) -> str:
    if not version.get("deprecated"):
        return ""
    text: str = version.get("deprecationWarning") or f"{resource.api_version} {resource.kind} is deprecated"
    return text
