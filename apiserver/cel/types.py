"""The types of CEL expressions, as the checker knows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object type; `key` is its name in the value, where the expression's has escapes."""

    key: str
    type: Type


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
    def is_parameter(self) -> bool:
        return len(self.name) == 1


DYN, NULL, BOOL, INT, UINT, DOUBLE, STRING, BYTES = (
    Type(name) for name in ("dyn", "null_type", "bool", "int", "uint", "double", "string", "bytes")
)
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


def object_of(name: str, fields: Mapping[str, Field]) -> Type:
    return Type(name, fields=fields)


def joined(types: Sequence[Type]) -> Type:
    """The type of a list of these: theirs if it is one, else dyn."""
    first = next((found for found in types if found != DYN), DYN)
    return first if all(found in (first, DYN) for found in types) else DYN


def matches(wanted: Type, found: Type, bound: dict[str, Type]) -> bool:
    """Whether a value of type `found` may stand where `wanted` is; type parameters are bound on the way."""
    if wanted.is_parameter:
        if wanted.name not in bound or bound[wanted.name] == DYN:
            bound[wanted.name] = found
            return True
        return matches(bound[wanted.name], found, bound)
    if DYN in (wanted, found) or NULL in (wanted, found):
        return True
    if wanted.fields is not None or found.fields is not None:
        return wanted is found
    if wanted.name != found.name:
        return False
    return all(matches(w, f, bound) for w, f in zip(wanted.parameters, found.parameters, strict=False))


def filled(type_: Type, bound: Mapping[str, Type]) -> Type:
    """The type with its parameters replaced; unbound ones are dyn."""
    if type_.is_parameter:
        return bound.get(type_.name, DYN)
    if not type_.parameters:
        return type_
    return Type(type_.name, tuple(filled(parameter, bound) for parameter in type_.parameters))


Variables = Mapping[str, Type]
Bindings = Mapping[str, Any]
