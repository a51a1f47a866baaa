"""The catalog: every resource the server serves, as data. Discovery, OpenAPI, routing and the stores all read it.

`apiserver/resources/catalog.py` has the tuple of built-in kinds; custom resources are added while the server runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from apiserver.printing.table import Column
from apiserver.registry.scale_fields import WORKLOAD, ScaleFields
from apiserver.registry.strategy import Strategy
from apiserver.schema.custom_type import CustomType
from apiserver.schema.type_meta import GroupVersionKind
from apiserver.storage.interface import Stored, Value
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource

READ_WRITE = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CREATE_ONLY = ("create",)


@dataclass(frozen=True, slots=True)
class Subresource:
    """One endpoint below an object, `pods/binding`. group and version are given where its kind is another group's."""

    name: str
    kind: str
    verbs: tuple[str, ...] = ("get", "patch", "update")
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Conversion:
    """How a served version of a built-in kind that is not the stored one reads and writes (autoscaling/v1).

    The stores work on the stored version of these, as the real server does on its internal one.
    """

    to_stored: Callable[[Object], Object]
    from_stored: Callable[[Object], Object]


class Versioning(Protocol):
    """How one version of a custom kind reads what was stored in any, and how what it writes is stored.

    The stores work on objects in the version asked for, as the real server does. Everything here that fails, fails with
    the ApiError of a conversion webhook.
    """

    @property
    def stored_in(self) -> str:
        """The apiVersion that is stored, served or not."""

    @property
    def may_change_labels(self) -> bool:
        """Whether what a label selector chooses shows only in this version."""

    async def shown(self, items: Sequence[Stored]) -> Sequence[Stored]:
        """Stored objects in this version, in the same order, each at its own revision."""

    async def value(self, obj: Object) -> Value:
        """An object of this version as it is to be stored. Does not change it."""

    def holds(self, stored: Stored, value: Value) -> bool:
        """Whether it is stored just so already: then nothing need be written."""

    def type_of(self, api_version: str) -> CustomType | None:
        """The type in a version of the definition, served or not; None where it has none of that name."""

    def replicas_path(self, api_version: str) -> tuple[str, ...]:
        """Where that version keeps what its Scale shows; () where it has none."""

    def convert_now(self, obj: Object, from_version: str, to_version: str) -> Object | None:
        """A whole object in another version; None where a webhook has to be asked."""

    async def convert(self, obj: Object, from_version: str, to_version: str) -> Object:
        """The same, whoever has to be asked."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One served resource of one version.

    `storage` names where it is stored; the versions of one kind share it. The stored version has no `conversion`, and
    a kind without `versioning` shows objects as they are stored.
    """

    resource: Resource
    singular: str
    strategy: Strategy
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = READ_WRITE
    subresources: tuple[Subresource, ...] = ()
    columns: tuple[Column, ...] = ()
    storage: str = ""
    conversion: Conversion | None = None
    versioning: Versioning | None = None
    custom: CustomType | None = None  # the type of a custom resource, which no Go type has
    scale: ScaleFields = WORKLOAD
    list_kind: str = ""  # of custom kinds, whose lists may be named otherwise than by the kind and "List"
    deprecation: str = ""  # the warning every request for it is answered with
    hashed_version: str = ""  # the version the real server stores it in, where that is an older one
    gvk: GroupVersionKind = field(init=False)
    head: bytes = field(init=False)  # what opens an object's JSON: `{"kind":"Pod","apiVersion":"v1",`

    def __post_init__(self) -> None:
        opening = f'{{"kind":"{self.resource.kind}","apiVersion":"{self.resource.api_version}",'
        object.__setattr__(self, "head", opening.encode())
        gvk = GroupVersionKind(self.resource.group, self.resource.version, self.resource.kind)
        object.__setattr__(self, "gvk", gvk)

    @property
    def group(self) -> str:
        return self.resource.group

    @property
    def plural(self) -> str:
        return self.resource.plural

    @property
    def is_custom(self) -> bool:
        return self.custom is not None

    @property
    def is_stored(self) -> bool:
        """Whether objects of this kind are kept at all (reviews and bindings are only answered)."""
        return "list" in self.verbs and bool(self.storage)

    def subresource(self, name: str) -> Subresource | None:
        for subresource in self.subresources:  # a generator would cost more than the loop
            if subresource.name == name:
                return subresource
        return None


@dataclass(slots=True)
class Catalog:
    """All served kinds, found by group, version and plural."""

    _kinds: dict[tuple[str, str, str], Kind] = field(default_factory=dict)
    _groups: dict[str, list[str]] = field(default_factory=dict)  # of _kinds; asked for on every request
    _custom_groups: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, kinds: Iterable[Kind]) -> Catalog:
        catalog = cls()
        for kind in kinds:
            catalog.add(kind)
        return catalog

    def add(self, kind: Kind) -> None:
        self._kinds[(kind.group, kind.resource.version, kind.plural)] = kind
        self._groups = self._count_groups()

    def remove(self, kind: Kind) -> None:
        self._kinds.pop((kind.group, kind.resource.version, kind.plural), None)
        self._groups = self._count_groups()

    def replace_custom(self, kinds: Iterable[Kind]) -> None:
        """All custom kinds there are from now on, in the order discovery shows them, after the built-in ones."""
        self._kinds = {key: kind for key, kind in self._kinds.items() if not kind.is_custom}
        for kind in kinds:
            self._kinds.setdefault((kind.group, kind.resource.version, kind.plural), kind)
        self._groups = self._count_groups()
        self._custom_groups = {kind.group for kind in self._kinds.values() if kind.is_custom}

    def is_custom_group(self, group: str) -> bool:
        return group in self._custom_groups

    def get(self, group: str, version: str, plural: str) -> Kind | None:
        return self._kinds.get((group, version, plural))

    def by_kind(self, group: str, kind: str) -> Kind | None:
        """The first served version of a kind."""
        return next((k for k in self._kinds.values() if k.group == group and k.resource.kind == kind), None)

    def served_stored_version(self, kind: Kind) -> Kind | None:
        """The version that objects of `kind` are stored in; None where that of a custom kind is not served."""
        if kind.versioning is not None:
            group, _, version = kind.versioning.stored_in.rpartition("/")
            return self.get(group, version, kind.plural)
        return self.stored_version(kind)

    def stored_version(self, kind: Kind) -> Kind:
        """The version that objects of a built-in kind are stored in: itself, unless it converts."""
        return next((k for k in self._kinds.values() if k.storage == kind.storage and k.conversion is None), kind)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds.values())

    def groups(self) -> dict[str, list[str]]:
        """group -> versions, in the order they were added (the first is preferred). Not to be changed."""
        return self._groups

    def _count_groups(self) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for group, version, _ in self._kinds:
            versions = groups.setdefault(group, [])
            if version not in versions:
                versions.append(version)
        return groups

    def of_version(self, group: str, version: str) -> list[Kind]:
        return [k for (g, v, _), k in self._kinds.items() if (g, v) == (group, version)]
