"""CEL of device selectors: `device`, what it may be asked for, and what a selector may cost.

Classes and claims are checked with it when they are written, the scheduler asks devices with it. Facts:
k8s.io/dynamic-resource-allocation/cel/compile.go (v1.36). Imported only where there is a selector.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from kubeloop.apimachinery.quantity import parse
from kubeloop.cel.cost.estimate import estimated_cost
from kubeloop.cel.cost.sizes import Sizes
from kubeloop.cel.environment import Environment, Program
from kubeloop.cel.kubernetes import Quantity
from kubeloop.cel.syntax import CompileError
from kubeloop.cel.types import BOOL, DYN, QUANTITY, STRING, Field, map_of, object_of
from kubeloop.cel.values import EvaluationError, type_name
from kubeloop.cel.versions import Semver

Json = Mapping[str, Any]

MAX_COST = 1_000_000
_DEVICE = object_of(
    "kubernetes.DRADevice",
    {
        "driver": Field("driver", STRING),
        "allowMultipleAllocations": Field("allowMultipleAllocations", BOOL),
        "attributes": Field("attributes", map_of(STRING, map_of(STRING, DYN))),
        "capacity": Field("capacity", map_of(STRING, map_of(STRING, QUANTITY))),
    },
)


class _EveryName(dict[str, Sizes]):
    """The fields of a map whose names nobody knows: each is as large as any."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self._sizes = sizes

    def get(self, name: str, default: Any = None) -> Sizes:
        return self._sizes


def _maps(value: Sizes, fields: Mapping[str, Sizes]) -> Sizes:
    """Of values by name, by domain."""
    by_name = Sizes(_MOST_NAMES, 0, fields, key=Sizes(_LONGEST_NAME, 0), element=value)
    return Sizes(_MOST_NAMES, 0, key=Sizes(_LONGEST_DOMAIN, 0), element=by_name)


_MOST_NAMES, _LONGEST_NAME, _LONGEST_DOMAIN = 32, 32, 63
_ATTRIBUTE = Sizes(64, 0)
DEVICE_SIZES = Sizes(
    0,
    0,
    {
        "driver": Sizes(_LONGEST_DOMAIN, 0),
        "allowMultipleAllocations": Sizes(1, 0),
        "attributes": _maps(_ATTRIBUTE, _EveryName(_ATTRIBUTE)),
        "capacity": _maps(Sizes(0, 0), {}),
    },
)


class _Domains(dict[str, Any]):
    """By domain. Every domain is there: one that nothing was said of is empty."""

    def __contains__(self, domain: object) -> bool:
        return True

    def __missing__(self, domain: str) -> Any:
        return {}


@cache
def _environment() -> Environment:
    return Environment({"device": _DEVICE}, has_bindings=True)


def compile_selector(expression: str) -> Program:
    """Raises ValueError, whose text says why it cannot be used."""
    try:
        program = _environment().compile(expression)
    except CompileError as error:
        raise ValueError(error.told) from error
    if program.type not in (BOOL, DYN):
        raise ValueError(f"must evaluate to bool or the unknown type, not {program.type.shown}")
    return program


def is_too_costly(program: Program) -> bool:
    """Whether a selector might cost more than one may, whatever devices there are."""
    return estimated_cost(program.tree, DEVICE_SIZES) > MAX_COST


def device_value(driver: str, is_shared: bool, attributes: Mapping[str, Json], capacity: Json) -> Mapping[str, Any]:
    """`device` of an expression: attributes as slices have them, and capacities by name as text.

    Raises ValueError for an attribute of a type that is not known here.
    """
    found, amounts = _Domains(), _Domains()
    for name, attribute in attributes.items():
        domain, own = _parts(name, driver)
        found.setdefault(domain, {})[own] = _attribute(name, attribute)
    for name, amount in capacity.items():
        domain, own = _parts(name, driver)
        amounts.setdefault(domain, {})[own] = Quantity(parse(str(amount)))
    return {"driver": driver, "allowMultipleAllocations": is_shared, "attributes": found, "capacity": amounts}


def matches(program: Program, device: Mapping[str, Any]) -> bool:
    """Raises EvaluationError."""
    value = program.evaluate({"device": device})
    if not isinstance(value, bool):
        kind = type_name(value)
        why = f"type conversion error from '{kind}' to 'bool'"
        raise EvaluationError(f"CEL result of type {kind} could not be converted to bool: {why}")
    return value


def _parts(name: str, driver: str) -> tuple[str, str]:
    """The domain, which is the driver's where none is given, and the name in it."""
    domain, slash, own = name.partition("/")
    return (domain, own) if slash else (driver, name)


def _attribute(name: str, attribute: Json) -> Any:
    for kind in ("int", "bool", "string"):
        if attribute.get(kind) is not None:
            return attribute[kind]
    if attribute.get("version") is None:
        raise ValueError(f"attribute {name}: unsupported attribute value")
    try:
        return Semver.parse(attribute["version"])
    except ValueError as error:
        raise ValueError(f"attribute {name}: parse semantic version: {error}") from error
