"""What the compiler says of policies, with upstream's cases (typechecking_test.go, v1.36)."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.policy_types.checking import Matched, warnings_of
from controllers.policy_types.kinds import KindName
from kubeloop.apimachinery.meta import Object

DEPLOYMENT, CONFIG = KindName("apps", "v1", "Deployment"), KindName("", "v1", "Config")
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
# spec.text, and beside it an object with fields of any name
REPRODUCER = {
    "spec": {"type": "object", "properties": {"text": TEXT}},
    "status": {"type": "object", "properties": {"problem": {"type": "object", "additionalProperties": True}}},
}
AUTHORIZER = "kubernetes.authorization.Authorizer"


def an_object(**properties: Object) -> Object:
    return {"type": "object", "properties": properties}


def checked(expression: str, schema: Object, params: Object | None = None, **spec: Any) -> list[Object]:
    spec = {"validations": [{"expression": expression}], **spec}
    return warnings_of(spec, [Matched(DEPLOYMENT, schema)], None if params is None else Matched(CONFIG, params))


@pytest.mark.parametrize(
    ("expression", "schema"),
    [
        ("object.foo == 'bar'", an_object(foo=TEXT)),
        ("object.foo == oldObject.foo", an_object(foo=TEXT)),
        ("object.metadata.name == 'x' && object.kind == 'y'", an_object()),
        ("authorizer.group('').resource('endpoints').check('create').allowed()", an_object(foo=TEXT)),
        ("request.userInfo.username == 'x' && namespaceObject.metadata.name == 'y'", an_object()),
        ("has(object.spec.text)", an_object(**REPRODUCER)),
        ("true", {}),
        ("object.anything == 1", {}),
        ("1", an_object()),
    ],
)
def test_what_fits_is_not_told(expression: str, schema: Object) -> None:
    """A schema without a type says nothing, and neither does the type of the whole expression matter."""
    assert [] == checked(expression, schema)


@pytest.mark.parametrize(
    ("expression", "schema", "column", "fault"),
    [
        ("object.foo == 'bar'", an_object(bar=TEXT), 7, "undefined field 'foo'"),
        (
            "object.foo == 'bar'",
            an_object(foo=NUMBER),
            12,
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
        (
            "authorizer.allowed()",
            an_object(),
            19,
            f"found no matching overload for 'allowed' applied to '{AUTHORIZER}.()'",
        ),
        (
            "authorizer.requestResource.check('get').allowed()",
            an_object(),
            11,
            f"unexpected failed resolution of '{AUTHORIZER}'",
        ),
        ("object.status.problem.any == 1", an_object(**REPRODUCER), 22, "undefined field 'any'"),
        ("params.bar == 'x'", an_object(), 1, "undeclared reference to 'params' (in container '')"),
    ],
)
def test_what_does_not_fit_is_told_as_the_compiler_tells_it(
    expression: str, schema: Object, column: int, fault: str
) -> None:
    """With the kind before it, and a line's end after it."""
    shown = f"ERROR: <input>:1:{column}: {fault}\n | {expression}\n | {'.' * (column - 1)}^"

    warning = {"fieldRef": "spec.validations[0].expression", "warning": f"apps/v1, Kind=Deployment: {shown}\n"}
    assert [warning] == checked(expression, schema)


def places(warnings: list[Object]) -> list[str]:
    return [warning["fieldRef"] for warning in warnings]


def test_every_expression_is_checked_by_itself() -> None:
    """Those of messages too."""
    validations = [
        {"expression": "object.foo == 'bar'", "messageExpression": "object.foo + 114514"},
        {"expression": "object.bar == 'foo'"},
    ]

    warnings = warnings_of({"validations": validations}, [Matched(DEPLOYMENT, an_object(foo=TEXT))], None)

    assert ["spec.validations[0].messageExpression", "spec.validations[1].expression"] == places(warnings)


def test_kinds_are_told_apart() -> None:
    """One warning an expression, with a part for each kind that it does not fit, in the order of the kinds."""
    kinds = [KindName("", "v1", "Pod"), DEPLOYMENT, KindName("batch", "v1", "Job")]
    schemas = [an_object(bar=TEXT), an_object(foo=TEXT), an_object()]
    matched = [Matched(kind, schema) for kind, schema in zip(kinds, schemas, strict=True)]

    [warning] = warnings_of({"validations": [{"expression": "object.foo == ''"}]}, matched, None)

    shown = "ERROR: <input>:1:7: undefined field 'foo'\n | object.foo == ''\n | ......^\n"
    assert f"v1, Kind=Pod: {shown}\nbatch/v1, Kind=Job: {shown}" == warning["warning"]


@pytest.mark.parametrize(
    ("expression", "params", "told"),
    [
        ("object.foo == params.bar", an_object(foo=TEXT), "undefined field 'bar'"),
        ("object.foo == params.foo", an_object(foo=TEXT), ""),
        ("params != null", {}, ""),
        ("params.whatever == 1", None, ""),
    ],
)
def test_parameters_have_a_type_where_their_kind_is_known(expression: str, params: Object | None, told: str) -> None:
    """Otherwise they may be anything."""
    kind = {"apiVersion": "v1", "kind": "Config"}

    warnings = checked(expression, an_object(foo=TEXT), params, paramKind=kind)

    assert told in "".join(warning["warning"] for warning in warnings)
    assert bool(told) == bool(warnings)


@pytest.mark.parametrize(
    ("variable", "expression", "told"),
    [
        ("true", "variables.it", ""),
        ("true", "variables.nonExisting", "undefined field 'nonExisting'"),
        ("'something'", "variables.it == object.foo", "applied to '(string, int)'"),
        ("object.foo", "variables.it == ''", "applied to '(int, string)'"),
        ("object.nothing", "variables.it == 1", ""),
        ("object", "variables.it.anything == 1", ""),
    ],
)
def test_variables_have_the_type_of_their_expression(variable: str, expression: str, told: str) -> None:
    """One that does not compile may be anything, and so may an object; variables themselves are not told of."""
    warnings = checked(expression, an_object(foo=NUMBER), variables=[{"name": "it", "expression": variable}])

    assert told in "".join(warning["warning"] for warning in warnings)
    assert bool(told) == bool(warnings)


def test_what_could_not_be_run_compiles() -> None:
    """A pattern that is none is seen when the policy is used."""
    assert [] == checked("object.foo.find('[') == ''", an_object(foo=TEXT))
