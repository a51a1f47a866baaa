"""What the compiler says of a policy's expressions once it knows the types of what they are about.

It loads the compiler (60 ms); the reconciler imports it with the first policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controllers.policy_types.kinds import KindName
from kubeloop.apimachinery.json_schema import Schema
from kubeloop.apimachinery.meta import Object
from kubeloop.cel.environment import Environment
from kubeloop.cel.policy_expressions import Composition, Expressions
from kubeloop.cel.schema_types import type_of
from kubeloop.cel.syntax import CompileError, InstantiationError
from kubeloop.cel.types import DYN, Type

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Matched:
    """A kind that a policy matches, and its schema."""

    kind: KindName
    schema: Schema


def warnings_of(spec: Json, matched: Sequence[Matched], params: Matched | None) -> list[Object]:
    """`status.typeChecking.expressionWarnings`; `params` is None too where the kind of parameters is not known."""
    typed = [(each.kind, _environment(spec, each, i, params)) for i, each in enumerate(matched)]
    found = []
    for path, expression in _expressions(spec):
        told = [f"{kind}: {fault}\n" for kind, environment in typed if (fault := _fault(environment, expression))]
        if told:
            found.append({"fieldRef": path, "warning": "\n".join(told)})
    return found


def _environment(spec: Json, matched: Matched, number: int, params: Matched | None) -> Environment:
    """Variables of the policy included. Types are told apart by their names: each gets one of its own."""
    parameters = None
    if spec.get("paramKind"):
        parameters = DYN if params is None else _type(params, f"{params.kind.kind}Params")
    expressions = Expressions.of_types(_type(matched, f"{matched.kind.kind}{number}"), parameters)
    composed = Composition.of(expressions, spec.get("variables") or ())
    return expressions.with_variables(composed.types).environment


def _type(matched: Matched, name: str) -> Type:
    return type_of(matched.schema, is_root=True, name=name) or DYN


def _expressions(spec: Json) -> Iterator[tuple[str, str]]:
    for i, validation in enumerate(spec.get("validations") or ()):
        for name in ("expression", "messageExpression"):
            if validation.get(name):
                yield f"spec.validations[{i}].{name}", validation[name]


def _fault(environment: Environment, expression: str) -> str:
    """Why it does not compile; that it could not be run is another matter."""
    try:
        environment.compile(expression)
    except InstantiationError:
        return ""
    except CompileError as error:
        return str(error)
    return ""
