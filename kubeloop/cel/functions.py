"""Functions of CEL as declarations: a name, signatures, and the Python function that computes it.

A signature reads `string.(string) bool` for a method, `(int, int) int` for a function or operator. The checker chooses
among them by types; the compiler calls `implementation`, which minds the types of values where the checker could not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from kubeloop.cel import types
from kubeloop.cel.types import Type
from kubeloop.cel.values import EvaluationError, NoSuchOverload, Optional, UInt

Implementation = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Overload:
    """`parameters` begins with the receiver where there is one."""

    is_member: bool
    parameters: tuple[Type, ...]
    result: Type


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    overloads: tuple[Overload, ...]
    implementation: Implementation


Library = Mapping[str, Function]


def function(name: str, implementation: Implementation, *signatures: str) -> Function:
    """A function whose values are checked against its signatures before it runs."""
    overloads = tuple(overload(signature) for signature in signatures)
    return Function(name, overloads, _guarded(implementation, overloads))


def accepts(parse: Implementation) -> Callable[..., bool]:
    """Whether something can be parsed at all."""

    def accepted(*arguments: Any) -> bool:
        try:
            parse(*arguments)
        except ValueError:
            return False
        return True

    return accepted


def library(*functions: Function) -> Library:
    """Functions by name; those of one name are joined."""
    found: dict[str, Function] = {}
    for one in functions:
        before = found.get(one.name)
        found[one.name] = one if before is None else _joined(before, one)
    return found


def merged(*libraries: Library) -> Library:
    return library(*(one for each in libraries for one in each.values()))


def _joined(first: Function, second: Function) -> Function:
    def implementation(*arguments: Any) -> Any:
        chosen = first if any(_fits(one, arguments) for one in first.overloads) else second
        return chosen.implementation(*arguments)

    return Function(first.name, (*first.overloads, *second.overloads), implementation)


def _guarded(implementation: Implementation, overloads: tuple[Overload, ...]) -> Implementation:
    def guarded(*arguments: Any) -> Any:
        if not any(_fits(one, arguments) for one in overloads):
            raise NoSuchOverload
        try:
            return implementation(*arguments)
        except EvaluationError:
            raise
        except (ValueError, OverflowError) as error:
            raise EvaluationError(str(error)) from error

    return guarded


def _fits(one: Overload, arguments: tuple[Any, ...]) -> bool:
    if len(arguments) != len(one.parameters):
        return False
    return all(_is_of(value, type_) for value, type_ in zip(arguments, one.parameters, strict=True))


def _is_of(value: Any, type_: Type) -> bool:
    python = _PYTHON.get(type_.name)
    if python is None:
        return type_.is_parameter or type_ == types.DYN or getattr(value, "cel_type", None) == type_.name
    if python is int:
        return type(value) is int
    return isinstance(value, python)


_PYTHON: dict[str, type | tuple[type, ...]] = {
    "bool": bool,
    "int": int,
    "uint": UInt,
    "double": float,
    "string": str,
    "bytes": bytes,
    "list": list,
    "map": dict,
    types.DURATION.name: timedelta,
    types.TIMESTAMP.name: datetime,
    "optional_type": Optional,
}
_NAMES = {
    "duration": types.DURATION,
    "timestamp": types.TIMESTAMP,
    "quantity": types.QUANTITY,
    "url": types.URL,
    "semver": types.SEMVER,
    "ip": types.IP,
    "cidr": types.CIDR,
    "format": types.NAMED_FORMAT,
    "optional": Type("optional_type"),
    "authorizer": types.AUTHORIZER,
    "path_check": types.PATH_CHECK,
    "group_check": types.GROUP_CHECK,
    "resource_check": types.RESOURCE_CHECK,
    "decision": types.DECISION,
}
_WORD = re.compile(r"\w+|[(),.]")


@lru_cache(maxsize=2048)
def overload(signature: str) -> Overload:
    """The declaration that a signature spells."""
    words = _WORD.findall(signature)
    parameters: list[Type] = []
    is_member = words[0] != "("
    if is_member:
        parameters.append(_type(words))
        words.pop(0)  # the dot
    words.pop(0)
    while words[0] != ")":
        parameters.append(_type(words))
        if words[0] == ",":
            words.pop(0)
    words.pop(0)
    return Overload(is_member, tuple(parameters), _type(words))


def _type(words: list[str]) -> Type:
    name = words.pop(0)
    plain = _NAMES.get(name) or Type(name)
    if not words or words[0] != "(" or name not in ("list", "map", "optional", "type"):
        return plain
    words.pop(0)
    parameters = []
    while words[0] != ")":
        parameters.append(_type(words))
        if words[0] == ",":
            words.pop(0)
    words.pop(0)
    return Type(plain.name, tuple(parameters))
