"""CEL of admission policies and match conditions: the variables they may name, and what must come out.

Validation of policies compiles with it when they are stored, the policies themselves when they are asked. Facts:
k8s.io/apiserver/pkg/admission/plugin/cel/compile.go (v1.36). Imported only where there is an expression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubeloop.cel.environment import Environment, Program
from kubeloop.cel.patches import JSON_PATCH as OPERATION
from kubeloop.cel.patches import OBJECT
from kubeloop.cel.syntax import CompileError
from kubeloop.cel.types import (
    AUTHORIZER,
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    RESOURCE_CHECK,
    STRING,
    TIMESTAMP,
    UINT,
    Field,
    Type,
    list_of,
    map_of,
    object_of,
)

Json = Mapping[str, Any]

JSON_PATCH, APPLY_CONFIGURATION = list_of(OPERATION), OBJECT


class ExpressionError(ValueError):
    """An expression that cannot be used; the text says why, as the real server does."""


def _object(type_name: str, /, **fields: Type) -> Type:
    return object_of(type_name, {key: Field(key, type_) for key, type_ in fields.items()})


_KIND = _object("kubernetes.GroupVersionKind", group=STRING, version=STRING, kind=STRING)
_RESOURCE = _object("kubernetes.GroupVersionResource", group=STRING, version=STRING, resource=STRING)
_USER = _object(
    "kubernetes.UserInfo",
    username=STRING,
    uid=STRING,
    groups=list_of(STRING),
    extra=map_of(STRING, list_of(STRING)),
)
_REQUEST = _object(
    "kubernetes.AdmissionRequest",
    kind=_KIND,
    resource=_RESOURCE,
    subResource=STRING,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=STRING,
    name=STRING,
    namespace=STRING,
    operation=STRING,
    userInfo=_USER,
    dryRun=BOOL,
    options=DYN,
)
_CONDITION = _object(
    "kubernetes.NamespaceCondition",
    status=STRING,
    type=STRING,
    lastTransitionTime=TIMESTAMP,
    message=STRING,
    reason=STRING,
)
_NAMESPACE = _object(
    "kubernetes.Namespace",
    metadata=_object(
        "kubernetes.NamespaceMetadata",
        name=STRING,
        generateName=STRING,
        namespace=STRING,
        labels=map_of(STRING, STRING),
        annotations=map_of(STRING, STRING),
        UID=STRING,
        creationTimestamp=TIMESTAMP,
        deletionGracePeriodSeconds=INT,
        deletionTimestamp=TIMESTAMP,
        generation=INT,
        resourceVersion=STRING,
        finalizers=list_of(STRING),
    ),
    spec=_object("kubernetes.NamespaceSpec", finalizers=list_of(STRING)),
    status=_object("kubernetes.NamespaceStatus", conditions=list_of(_CONDITION), phase=STRING),
)

AUTHORIZER_NAME, REQUEST_RESOURCE = "authorizer", "authorizer.requestResource"
_AUTHORIZERS = {AUTHORIZER_NAME: AUTHORIZER, REQUEST_RESOURCE: RESOURCE_CHECK}
_KEPT = frozenset((*(type_.name for type_ in (BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, UINT)),))


@dataclass(frozen=True, slots=True)
class Expressions:
    """Compiles the expressions of one policy or webhook."""

    environment: Environment

    @classmethod
    def of(cls, *, has_params: bool = False, has_authorizer: bool = True) -> Expressions:
        variables = {"object": DYN, "oldObject": DYN, "request": _REQUEST, "namespaceObject": _NAMESPACE}
        if has_params:
            variables["params"] = DYN
        if has_authorizer:
            variables |= _AUTHORIZERS
        return cls(Environment(variables))

    @classmethod
    def of_types(cls, object_type: Type, params: Type | None) -> Expressions:
        """Those of a policy whose types are checked. As upstream, of the authorizer nothing but itself is declared."""
        variables = {
            "object": object_type,
            "oldObject": object_type,
            "request": _REQUEST,
            "namespaceObject": _NAMESPACE,
        }
        if params is not None:
            variables["params"] = params
        return cls(Environment({**variables, AUTHORIZER_NAME: AUTHORIZER}))

    def with_patches(self) -> Expressions:
        """Those of a mutation, which make patches."""
        return Expressions(self.environment.with_patches())

    def with_variables(self, types: Mapping[str, Type]) -> Expressions:
        """Expressions that may also name `variables.x`."""
        fields = {name: Field(name, type_) for name, type_ in types.items()}
        return Expressions(self.environment.with_variables({"variables": object_of("kubernetes.variables", fields)}))

    def compile(self, source: str, *results: Type) -> Program:
        """The program of an expression, whose type is one of `results` (any where none is given)."""
        try:
            program = self.environment.compile(source)
        except CompileError as error:
            raise ExpressionError(error.told) from error
        if results and program.type not in results:
            wanted = str(results[0]) if len(results) == 1 else f"one of [{' '.join(map(str, results))}]"
            raise ExpressionError(f"must evaluate to {wanted} but got {program.type}")
        return program


@dataclass(slots=True)
class Composition:
    """The variables of a policy: their programs, and what is wrong with which of them, by place."""

    types: dict[str, Type] = field(default_factory=dict)
    programs: dict[str, Program | ExpressionError] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, plain: Expressions, variables: Sequence[Json]) -> Composition:
        """A variable sees those before it; one that does not compile may be anything."""
        composition = cls()
        for i, variable in enumerate(variables):
            name = variable.get("name", "")
            try:
                program = plain.with_variables(composition.types).compile(variable.get("expression", ""))
            except ExpressionError as error:
                composition.programs[name], composition.problems[i] = error, str(error)
                composition.types[name] = DYN
            else:
                composition.programs[name] = program
                composition.types[name] = _kept(program.type)
        return composition


def _kept(type_: Type) -> Type:
    """What is left of an expression's type in the variable that holds it: objects lose theirs."""
    if type_.name in ("list", "map"):
        return Type(type_.name, tuple(_kept(parameter) for parameter in type_.parameters))
    return type_ if type_.name in _KEPT else DYN


CONDITION, MESSAGE, ANNOTATION = (BOOL,), (STRING,), (STRING, NULL)
