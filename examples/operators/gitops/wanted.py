"""From manifests to what has to be in the cluster: where each object lives, and marked as the Application's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from examples.operators.gitops.application import TRACKING, Application
from examples.operators.gitops.manifests import Directory, Manifest, Problem
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import CUSTOM_RESOURCE_DEFINITIONS, Resource
from kubeloop.client.discovery import KindMapper, NoMatch


class Identity(NamedTuple):
    """What an object is, in whichever version it is written."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        return f"{kind} {self.namespace}/{self.name}" if self.namespace else f"{kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """`obj` is sent to the server as it stands; `digest` says whether it is the same as another time."""

    identity: Identity
    resource: Resource
    obj: Object
    digest: bytes


@dataclass(frozen=True, slots=True)
class Unknown:
    """An object of a kind that nobody serves (yet)."""

    identity: Identity
    version: str
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """In the order in which it is applied. Where something could not be read, nothing may be pruned."""

    wanted: Sequence[Wanted]
    unknown: Sequence[Unknown]
    problems: Sequence[Problem]

    @property
    def is_complete(self) -> bool:
        return not self.unknown and not self.problems

    def definitions(self) -> Iterable[tuple[Identity, str, str]]:
        """The CustomResourceDefinitions: which they are, and the group and kind they define."""
        for wanted in self.wanted:
            if wanted.resource == CUSTOM_RESOURCE_DEFINITIONS:
                spec = wanted.obj.get("spec") or {}
                yield wanted.identity, spec.get("group") or "", (spec.get("names") or {}).get("kind") or ""


async def plan(mapper: KindMapper, application: Application, directory: Directory) -> Plan:
    """An object that is described twice is applied as the first description has it; the other one is a problem."""
    wanted: dict[Identity, Wanted] = {}
    unknown: list[Unknown] = []
    problems = list(directory.problems)
    for manifest in directory.manifests:
        try:
            resource = await mapper.resource(manifest.api_version, manifest.kind)
        except NoMatch as error:
            unknown.append(_unknown(manifest, application, str(error)))
            continue
        one = _wanted(manifest, resource, application)
        if one.identity in wanted:
            problems.append(Problem(manifest.file, f"{one.identity} is described more than once"))
        wanted.setdefault(one.identity, one)
    return Plan(list(wanted.values()), unknown, problems)


def _wanted(manifest: Manifest, resource: Resource, application: Application) -> Wanted:
    metadata = dict(manifest.obj["metadata"])
    if resource.namespaced:
        metadata["namespace"] = metadata.get("namespace") or application.namespace
    metadata["labels"] = {**(metadata.get("labels") or {}), TRACKING: application.key.name}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), TRACKING: str(application.key)}
    obj = {**manifest.obj, "metadata": metadata}
    identity = Identity(resource.group, resource.kind, metadata.get("namespace") or "", metadata["name"])
    return Wanted(identity, resource, obj, hashlib.sha256(orjson.dumps(obj)).digest())


def _unknown(manifest: Manifest, application: Application, message: str) -> Unknown:
    """Whether it would have a namespace nobody knows; it is told with the one it would get."""
    group, _, version = manifest.api_version.rpartition("/")
    namespace = manifest.obj["metadata"].get("namespace") or application.namespace
    return Unknown(Identity(group, manifest.kind, namespace, name_of(manifest.obj)), version, message)
