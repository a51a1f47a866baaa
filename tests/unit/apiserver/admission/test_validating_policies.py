"""ValidatingAdmissionPolicies: what they refuse, and in which words."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apiserver.admission.chain import CREATE, Attributes
from apiserver.admission.plugins.validating_admission_policy import BINDINGS, POLICIES, ValidatingAdmissionPolicy
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CONFIG_MAPS, SECRETS, Resource
from tests.testkit.reader import DictReader

RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
DENIED = "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "


def a_policy(*validations: Object, **spec: Any) -> Object:
    constraints = {"resourceRules": [RULE]}
    return {
        "metadata": {"name": "p", "resourceVersion": "1"},
        "spec": {"matchConstraints": constraints, "failurePolicy": "Fail", "validations": list(validations), **spec},
    }


def judge(
    policy: Object, data: Object, *, resource: Resource = CONFIG_MAPS, others: DictReader | None = None, **binding: Any
) -> tuple[int, str, list[str]]:
    """Code and message of the refusal (0 and "" where there is none), and the warnings."""
    reader = others or DictReader()
    bound = {"policyName": "p", "validationActions": ["Deny"], **binding}
    reader.put(POLICIES, policy).put(BINDINGS, {"metadata": {"name": "b"}, "spec": bound})
    warnings: list[str] = []
    obj = {"metadata": {"name": "c", "namespace": "ns", "labels": {"a": "b"}}, "data": data}
    attributes = Attributes(CREATE, resource, "ns", "c", obj, warn=warnings.append)
    try:
        asyncio.run(ValidatingAdmissionPolicy(reader).validate(attributes))
    except ApiError as error:
        return error.code, error.message, warnings
    return 0, "", warnings


@pytest.mark.parametrize(
    ("validation", "code", "why"),
    [
        ({"expression": "object.data.a == 'x'"}, 0, ""),
        ({"expression": "object.data.a == 'y'"}, 422, "failed expression: object.data.a == 'y'"),
        ({"expression": "object.data.a == 'y'", "message": "no"}, 422, "no"),
        ({"expression": "false", "messageExpression": "'got ' + object.data.a"}, 422, "got x"),
        ({"expression": "request.operation != 'CREATE'", "message": "no", "reason": "Forbidden"}, 403, "no"),
        (
            {"expression": "object.data.b == ''"},
            422,
            "expression 'object.data.b == ''' resulted in error: no such key: b",
        ),
    ],
)
def test_validations(validation: Object, code: int, why: str) -> None:
    """What does not hold, or fails, is refused with the policy's message and reason."""
    assert (code, DENIED + why if code else "", []) == judge(a_policy(validation), {"a": "x"})


def test_failures_may_be_ignored() -> None:
    """With failurePolicy Ignore an expression that fails refuses nothing."""
    policy = a_policy({"expression": "object.data.b == ''"}, failurePolicy="Ignore")

    assert 0 == judge(policy, {})[0]


def test_bindings_may_warn() -> None:
    """A binding that only warns lets the write pass."""
    code, _, warnings = judge(a_policy({"expression": "false", "message": "no"}), {}, validationActions=["Warn"])

    assert (0, ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no"]) == (code, warnings)


def test_only_what_is_matched() -> None:
    """Other resources, other labels and conditions that do not hold keep a policy out."""
    never = a_policy({"expression": "false"})
    conditional = a_policy({"expression": "false"}, matchConditions=[{"name": "x", "expression": "has(object.data.z)"}])
    selector = {"objectSelector": {"matchLabels": {"a": "other"}}}

    codes = [
        judge(never, {})[0],
        judge(never, {}, resource=SECRETS)[0],
        judge(never, {}, matchResources=selector)[0],
        judge(conditional, {})[0],
    ]

    assert [422, 0, 0, 0] == codes


def test_variables_build_on_each_other() -> None:
    """A variable may name those before it."""
    variables = [{"name": "a", "expression": "object.data.n"}, {"name": "b", "expression": "variables.a + '!'"}]
    policy = a_policy({"expression": "variables.b != 'x!'", "messageExpression": "variables.b"}, variables=variables)

    assert DENIED + "x!" == judge(policy, {"n": "x"})[1]


def test_params() -> None:
    """A binding's parameters are read from the objects it refers to; Deny refuses where there are none."""
    policy = a_policy({"expression": "params.data.max == '1'"}, paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    reference = {"name": "limits", "namespace": "ns", "parameterNotFoundAction": "Deny"}
    limits = {"metadata": {"name": "limits", "namespace": "ns"}, "data": {"max": "2"}}

    missing = judge(policy, {}, paramRef=reference)[1]
    found = judge(policy, {}, paramRef=reference, others=DictReader().put("configmaps", limits))[1]

    why = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert (DENIED + why, DENIED + "failed expression: params.data.max == '1'") == (missing, found)
