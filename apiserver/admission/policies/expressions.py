"""CEL of admission policies and match conditions: the variables they may name, and what must come out.

Validation of policies compiles with it when they are stored, the policies themselves when they are asked. Facts:
k8s.io/apiserver/pkg/admission/plugin/cel/compile.go (v1.36). Imported only where there is an expression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.cel.environment import Environment, Program
from apiserver.cel.syntax import CompileError
from apiserver.cel.types import BOOL, DYN, NULL, STRING, Field, Type, list_of, map_of, object_of

Json = Mapping[str, Any]

JSON_PATCH, APPLY_CONFIGURATION = list_of(Type("JSONPatch")), Type("Object")


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
        creationTimestamp=DYN,
        deletionGracePeriodSeconds=DYN,
        deletionTimestamp=DYN,
        generation=DYN,
        resourceVersion=STRING,
        finalizers=list_of(STRING),
    ),
    spec=_object("kubernetes.NamespaceSpec", finalizers=list_of(STRING)),
    status=_object("kubernetes.NamespaceStatus", phase=STRING),
)


@dataclass(frozen=True, slots=True)
class Expressions:
    """Compiles the expressions of one policy or webhook."""

    environment: Environment

    @classmethod
    def of(cls, *, has_params: bool = False, has_namespace: bool = True) -> Expressions:
        variables = {"object": DYN, "oldObject": DYN, "request": _REQUEST}
        if has_params:
            variables["params"] = DYN
        if has_namespace:
            variables["namespaceObject"] = _NAMESPACE
        return cls(Environment(variables, ("Object", "JSONPatch")))

    def compile(self, source: str, *results: Type) -> Program:
        """The program of an expression, whose type is one of `results` (any where none is given)."""
        try:
            program = self.environment.compile(source)
        except CompileError as error:
            raise ExpressionError(f"compilation failed: {error}") from error
        if results and program.type not in results:
            wanted = str(results[0]) if len(results) == 1 else f"one of [{' '.join(map(str, results))}]"
            raise ExpressionError(f"must evaluate to {wanted} but got {program.type}")
        return program

    def with_composed(self, variables: Sequence[Json]) -> tuple[Expressions, dict[str, Program], dict[int, str]]:
        """Expressions that may also name `variables.x`; the variables' programs, and what is wrong with which.

        A variable sees those before it.
        """
        fields: dict[str, Field] = {}
        programs: dict[str, Program] = {}
        problems: dict[int, str] = {}
        for i, variable in enumerate(variables):
            name = variable.get("name", "")
            known = Expressions(self.environment.with_variables({"variables": object_of("variables", dict(fields))}))
            try:
                programs[name] = known.compile(variable.get("expression", ""))
            except ExpressionError as error:
                problems[i] = str(error)
                continue
            fields[name] = Field(name, programs[name].type)
        composed = self.environment.with_variables({"variables": object_of("variables", fields)})
        return Expressions(composed), programs, problems


CONDITION, MESSAGE, ANNOTATION = (BOOL,), (STRING,), (STRING, NULL)
