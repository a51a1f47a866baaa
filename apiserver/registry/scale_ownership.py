"""Who owns a workload's replicas, as seen through its scale subresource: entries go there and come back."""

from __future__ import annotations

from apiserver.patch.server_side_apply.managers import Managed, decode, encode
from apiserver.patch.server_side_apply.scaling import to_parent, to_scale
from apiserver.registry.catalog import Kind
from apiserver.registry.context import Machinery
from apiserver.registry.field_management import FieldManagement
from apiserver.registry.field_versions import KindVersions
from apiserver.registry.strategy import Strategy
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource

_SCALE = Kind(Resource("autoscaling", "v1", "scales", "Scale"), "scale", Strategy())


class ScaleOwnership:
    """Of the Scales of one kind. `field_management` is the Scale's own."""

    def __init__(self, kind: Kind, machinery: Machinery) -> None:
        self._api_version = kind.resource.api_version
        self._versions = KindVersions(kind, machinery.schema, machinery.catalog)
        scale_versions = KindVersions(_SCALE, machinery.schema, machinery.catalog)
        self.field_management = FieldManagement(scale_versions, machinery.clock)

    def give(self, workload: Object, scale: Object) -> None:
        """The Scale as it is changed carries the entries of those who own replicas."""
        parent = _entries(workload)
        if managed := to_scale(parent, self._paths(parent)):
            scale["metadata"]["managedFields"] = encode(managed)

    def take(self, scale: Object, workload: Object) -> None:
        """The workload's entries, after the Scale's have changed."""
        parent = _entries(workload)
        managed = to_parent(parent, _entries(scale), self._paths(parent), self._api_version)
        if managed:
            workload["metadata"]["managedFields"] = encode(managed)
        else:
            workload["metadata"].pop("managedFields", None)

    def _paths(self, managed: Managed) -> dict[str, tuple[str, ...]]:
        versions = {self._api_version, *(entry.api_version for entry in managed.values())}
        found = {version: self._versions.replicas_path(version) for version in versions}
        return {version: tuple(f"f:{name}" for name in path) for version, path in found.items() if path is not None}


def _entries(obj: Object) -> Managed:
    return decode(obj["metadata"].get("managedFields") or ())
