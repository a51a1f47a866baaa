"""Volumes that are allowed but no longer work, and files inside volumes that lie over each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS
from apiserver.resources.volumes.claim_warnings import claim_spec_warnings
from kubeloop.apimachinery.field import go_quote

Json = Mapping[str, Any]

# Source -> what is reported, and under which name where that is another.
OLD_SOURCES = {
    "photonPersistentDisk": "photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "flocker": "flocker: deprecated in v1.22, non-functional in v1.25+",
    "storageos": "storageOS: deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "quobyte: deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "cephfs: deprecated in v1.28, non-functional in v1.31+",
    "rbd": "rbd: deprecated in v1.28, non-functional in v1.31+",
}


class File(NamedTuple):
    path: str
    source: str

    def __str__(self) -> str:
        return f"{go_quote(self.path)} ({self.source})" if self.source else go_quote(self.path)


def volume_warnings(volumes: Sequence[Json], path: str) -> Iterator[str]:
    """`path` is that of the pod spec."""
    for i, volume in enumerate(volumes):
        at = f"{path}.volumes[{i}]"
        for name, text in OLD_SOURCES.items():
            if name in volume:
                yield f"{at}.{text}"
        template = (volume.get("ephemeral") or NO_FIELDS).get("volumeClaimTemplate")
        if template is not None:
            spec = template.get("spec") or NO_FIELDS
            yield from claim_spec_warnings(spec, f"{at}.ephemeral.volumeClaimTemplate.spec")
    for volume in volumes:
        yield from _overlaps(volume)


def _overlaps(volume: Json) -> Iterator[str]:
    for kind, name_field, noun in (("configMap", "name", "ConfigMap"), ("secret", "secretName", "Secret")):
        source = volume.get(kind)
        if source is not None and "items" in source:
            described = f"{noun} {go_quote(source.get(name_field, ''))}"
            for text in _collisions(_files(source, "")):
                yield f"{_named(volume)} ({described}): overlapping paths: {text}"
    if items := (volume.get("downwardAPI") or NO_FIELDS).get("items"):
        for text in _collisions(_files({"items": items}, "")):
            yield f"{_named(volume)} (DownwardAPI): overlapping paths: {text}"
    files: list[File] = []
    for projection in (volume.get("projected") or NO_FIELDS).get("sources") or NO_ITEMS:
        if not projection:
            yield f"{_named(volume)} (Projected) has no sources provided"
        for text in _collisions(_projected_files(projection), files):
            yield f"{_named(volume)} (Projected): overlapping paths: {text}"


def _named(volume: Json) -> str:
    return f"volume {go_quote(volume.get('name', ''))}"


def _projected_files(projection: Json) -> list[File]:
    for kind, noun in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        source = projection.get(kind)
        if source is not None and "items" in source:
            described = noun if kind == "downwardAPI" else f"{noun} {go_quote(source.get('name', ''))}"
            return _files(source, described)
    if "serviceAccountToken" in projection:
        return [_file(projection["serviceAccountToken"], "ServiceAccountToken")]
    return []


def _files(source: Json, described: str) -> list[File]:
    return [_file(item, described) for item in source.get("items") or NO_ITEMS]


def _file(item: Json, described: str) -> File:
    return File(item.get("path", "").rstrip("/"), described)


def _collisions(files: Sequence[File], earlier: list[File] | None = None) -> Iterator[str]:
    """`a with b` for each file at or under the place of an earlier one; the files are added to `earlier`."""
    earlier = [] if earlier is None else earlier
    for file in files:
        for other in earlier:
            below, above = f"{file.path}/", f"{other.path}/"
            if file.path and other.path and (below.startswith(above) or above.startswith(below)):
                yield f"{file} with {other}"
        earlier.append(file)
