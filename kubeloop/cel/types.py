"""The types of CEL expressions, as the checker knows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object type; `key` is its name in the value, where the expression's has escapes."""

    key: str
    type: Type
    is_nullable: bool = False


@dataclass(frozen=True, slots=True)
class Type:
    """`fields` is given for objects only, which are the same only where they are one and the same."""

    name: str
    parameters: tuple[Type, ...] = ()
    fields: Mapping[str, Field] | None = field(default=None, compare=False, repr=False)
    list_type: str = field(default="", compare=False, repr=False)  # set or map, where a schema says so
    list_keys: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parameters))})" if self.parameters else self.name

    @property
    def shown(self) -> str:
        """As errors of the checker spell it."""
        name = _SHOWN.get(self.name, self.name)
        return f"{name}({', '.join(part.shown for part in self.parameters)})" if self.parameters else name

    @property
    def is_parameter(self) -> bool:
        return len(self.name) == 1 or self.name.startswith("_var")

    def with_parameters(self, parameters: tuple[Type, ...]) -> Type:
        return replace(self, parameters=parameters)


_SHOWN = {
    "null_type": "null",
    "google.protobuf.Duration": "duration",
    "google.protobuf.Timestamp": "timestamp",
}
DYN, NULL, BOOL, INT, UINT, DOUBLE, STRING, BYTES = (
    Type(name) for name in ("dyn", "null_type", "bool", "int", "uint", "double", "string", "bytes")
)
ERROR = Type("!error!")  # of what is wrong: it goes with everything, so that one mistake is told once
DURATION, TIMESTAMP = Type("google.protobuf.Duration"), Type("google.protobuf.Timestamp")
TYPE = Type("type")
QUANTITY, URL, SEMVER = Type("kubernetes.Quantity"), Type("kubernetes.URL"), Type("kubernetes.Semver")
IP, CIDR, NAMED_FORMAT = Type("net.IP"), Type("net.CIDR"), Type("kubernetes.NamedFormat")
AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION = (
    Type(f"kubernetes.authorization.{name}")
    for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
)
A, B = Type("A"), Type("B")


def list_of(element: Type) -> Type:
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(inner: Type) -> Type:
    return Type("optional_type", (inner,))


def type_type(of: Type) -> Type:
    """The type of a type's name."""
    return Type("type", (of,))


def object_of(name: str, fields: Mapping[str, Field]) -> Type:
    return Type(name, fields=fields)


Variables = Mapping[str, Type]
Bindings = Mapping[str, Any]
