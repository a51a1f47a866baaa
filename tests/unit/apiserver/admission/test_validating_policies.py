"""ValidatingAdmissionPolicies: what they refuse, and in which words."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apiserver.admission.chain import CREATE, DELETE, Attributes
from apiserver.admission.plugins.validating_admission_policy import ValidatingAdmissionPolicy
from apiserver.auth.authentication import User
from apiserver.auth.authorization import Access, AlwaysAllow, Decision, Rules
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CONFIG_MAPS, HORIZONTAL_POD_AUTOSCALERS, SECRETS, Resource
from tests.testkit.forms import FORMS
from tests.testkit.reader import DictReader

GROUP = "admissionregistration.k8s.io"
POLICIES, BINDINGS = f"validatingadmissionpolicies.{GROUP}", f"validatingadmissionpolicybindings.{GROUP}"
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
        asyncio.run(ValidatingAdmissionPolicy(reader, FORMS, AlwaysAllow()).validate(attributes))
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


class Permitting:
    """An authorizer that lets one verb pass, and counts what it is asked."""

    def __init__(self, verb: str) -> None:
        self.verb, self.asked = verb, list[Access]()

    def authorize(self, access: Access) -> Decision:
        self.asked.append(access)
        return Decision(access.verb == self.verb, "because")

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules()


def judge_of(policy: Object, authorizer: Permitting, actions: list[str], **more: Any) -> tuple[str, dict[str, str]]:
    """The message of the refusal, and the audit annotations."""
    reader = DictReader().put(POLICIES, policy)
    reader.put(BINDINGS, {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": actions}})
    annotations: dict[str, str] = {}
    obj = {"metadata": {"name": "c", "namespace": "ns"}, "data": {}}
    given = {"operation": CREATE, "object": obj, "user": User("alice", extra={"k": ["v"]}), **more}
    attributes = Attributes(resource=CONFIG_MAPS, namespace="ns", name="c", annotate=annotations.setdefault, **given)
    try:
        asyncio.run(ValidatingAdmissionPolicy(reader, FORMS, authorizer).validate(attributes))
    except ApiError as error:
        return error.message, annotations
    return "", annotations


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("authorizer.group('apps').resource('deployments').namespace('x').name('n').check('create').allowed()", True),
        ("authorizer.group('').resource('pods').subresource('log').check('get').allowed()", False),
        ("authorizer.requestResource.check('create').reason() == 'because'", True),
        ("authorizer.path('/healthz').check('create').allowed()", True),
        ("authorizer.serviceAccount('ns', 'sa').group('').resource('pods').check('get').errored()", False),
        (
            "authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector('c').check('x').error() == ''",
            True,
        ),
    ],
)
def test_expressions_ask_the_authorizer(expression: str, holds: bool) -> None:
    """Checks are built up call by call, about the one who writes, what he writes, and anything else."""
    message, _ = judge_of(a_policy({"expression": expression}), Permitting("create"), ["Deny"])

    assert holds == (not message)


def test_the_authorizer_is_asked_each_question_once() -> None:
    """All the policies of a write share its answers."""
    check = {"expression": "authorizer.requestResource.check('create').allowed()"}
    authorizer = Permitting("create")

    judge_of(a_policy(check, check), authorizer, ["Deny"])

    (asked,) = authorizer.asked
    assert ("alice", "configmaps", "ns", "c") == (asked.user.name, asked.resource, asked.namespace, asked.name)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("authorizer.path(' ').check('get').allowed()", "path must not be empty"),
        ("authorizer.group('').resource('').check('get').allowed()", "resource must not be empty"),
        (
            "authorizer.serviceAccount('a.b', 'c').path('/x').check('get').allowed()",
            "Invalid service account namespace",
        ),
    ],
)
def test_questions_that_make_no_sense(expression: str, why: str) -> None:
    """They fail when they are asked."""
    message, _ = judge_of(a_policy({"expression": expression}), Permitting(""), ["Deny"])

    assert f"{DENIED}expression '{expression}' resulted in error: {why}" == message


def test_policies_annotate_the_audit_event() -> None:
    """Audit annotations carry the policy's name; a failed validation is told of where the binding says Audit."""
    annotations = [
        {"key": "who", "valueExpression": "' ' + request.userInfo.extra['k'][0]"},
        {"key": "none", "valueExpression": "null"},
    ]
    policy = a_policy({"expression": "true"}, {"expression": "false", "message": "no"}, auditAnnotations=annotations)

    _, told = judge_of(policy, Permitting(""), ["Audit"])

    failure = '[{"message":"no","policy":"p","binding":"b","expressionIndex":1,"validationActions":["Audit"]}]'
    assert {"p/who": "v", "validation.policy.admission.k8s.io/validation_failure": failure} == told


def test_an_audit_annotation_that_fails_refuses() -> None:
    """Whatever the binding's actions are, unless failures are ignored."""
    annotations = [{"key": "who", "valueExpression": "string(object.nope)"}]

    message, _ = judge_of(a_policy(auditAnnotations=annotations), Permitting(""), ["Audit"])
    ignored, _ = judge_of(a_policy(auditAnnotations=annotations, failurePolicy="Ignore"), Permitting(""), ["Audit"])

    why = "expression 'string(object.nope)' resulted in error: no such key: nope"
    assert (DENIED + why, "") == (message, ignored)


def test_what_is_empty_is_not_in_the_request() -> None:
    """There is no subResource of the main endpoint, no old object on CREATE and no new one on DELETE."""
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    everything = {"resourceRules": [rule]}
    created = "!has(request.subResource) && oldObject == null && request.name == 'c' && !request.dryRun"
    deleted = "object == null && oldObject.kind == 'ConfigMap' && namespaceObject == null"
    old = {"metadata": {"name": "c", "namespace": "ns"}}

    on_create = judge_of(a_policy({"expression": created}), Permitting(""), ["Deny"])[0]
    policy = a_policy({"expression": deleted}, matchConstraints=everything)
    on_delete = judge_of(policy, Permitting(""), ["Deny"], operation=DELETE, object=None, old_object=old)[0]

    assert ("", "") == (on_create, on_delete)


def test_an_equivalent_resource_is_matched_and_shown_as_that() -> None:
    """A policy on autoscaling/v1 sees what comes as v2 in its own form; with Exact it does not see it."""
    rule = {
        "operations": ["*"],
        "apiGroups": ["autoscaling"],
        "apiVersions": ["v1"],
        "resources": ["horizontalpodautoscalers"],
    }
    expression = {
        "expression": "request.kind.version == 'v2'",
        "messageExpression": "object.apiVersion + ' ' + request.requestKind.version",
    }
    autoscaler = {"metadata": {"name": "h", "namespace": "ns"}, "spec": {"maxReplicas": 1, "scaleTargetRef": {}}}

    def message(match_policy: str) -> str:
        constraints = {"resourceRules": [rule], "matchPolicy": match_policy}
        reader = DictReader().put(POLICIES, a_policy(expression, matchConstraints=constraints))
        reader.put(BINDINGS, {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}})
        attributes = Attributes(CREATE, HORIZONTAL_POD_AUTOSCALERS, "ns", "h", autoscaler)
        try:
            asyncio.run(ValidatingAdmissionPolicy(reader, FORMS, AlwaysAllow()).validate(attributes))
        except ApiError as error:
            return error.message.rpartition(": ")[2]
        return ""

    assert ("autoscaling/v1 v2", "") == (message("Equivalent"), message("Exact"))


@pytest.mark.parametrize(
    ("reference", "namespace", "why"),
    [
        ({"selector": {"matchLabels": {"l": "x"}}}, "ns", "failed expression: params.data.max == '1'"),
        ({"selector": {"matchLabels": {"l": "z"}}, "parameterNotFoundAction": "Allow"}, "ns", ""),
        ({"name": "limits"}, "ns", "failed expression: params.data.max == '1'"),
        ({"name": "limits", "namespace": "other"}, "ns", ""),
    ],
)
def test_params_by_selector_and_namespace(reference: Object, namespace: str, why: str) -> None:
    """Every object that a selector finds in the write's namespace is a parameter; a name may be another namespace's."""
    policy = a_policy({"expression": "params.data.max == '1'"}, paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    reader = DictReader()
    for where, limit in (("ns", "2"), ("other", "1")):
        metadata = {"name": "limits", "namespace": where, "labels": {"l": "x"}}
        reader.put("configmaps", {"metadata": metadata, "data": {"max": limit}})

    message = judge(policy, {}, paramRef=reference, others=reader)[1]

    assert (DENIED + why if why else "") == message
