"""Webhook configurations, admission policies and their bindings."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import KindOnTrial

GROUP = "admissionregistration.k8s.io/v1"
VALIDATING = KindOnTrial(GROUP, "ValidatingWebhookConfiguration")
MUTATING = KindOnTrial(GROUP, "MutatingWebhookConfiguration")
POLICIES = KindOnTrial(GROUP, "ValidatingAdmissionPolicy")
MUTATING_POLICIES = KindOnTrial(GROUP, "MutatingAdmissionPolicy")
BINDINGS = KindOnTrial(GROUP, "ValidatingAdmissionPolicyBinding")
MUTATING_BINDINGS = KindOnTrial(GROUP, "MutatingAdmissionPolicyBinding")

RULE: Object = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}


def webhooks(**fields: Any) -> Object:
    webhook = {
        "name": "w.example.com",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://h.example.com/x"},
        "rules": [RULE],
        **fields,
    }
    return {"webhooks": [webhook]}


def policy(**spec: Any) -> Object:
    return {"spec": {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}], **spec}}


def test_webhook_defaults() -> None:
    """A webhook fails closed, looks at everything, and has ten seconds; only mutating ones are reinvoked."""
    client = {"service": {"name": "s", "namespace": "n"}}

    validating = VALIDATING.created(webhooks(clientConfig=client))["webhooks"][0]
    mutating = MUTATING.created(webhooks())["webhooks"][0]

    chosen = {name: validating[name] for name in ("failurePolicy", "matchPolicy", "timeoutSeconds", "objectSelector")}
    assert {"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10, "objectSelector": {}} == chosen
    assert 443 == validating["clientConfig"]["service"]["port"]
    assert (None, "Never") == (validating.get("reinvocationPolicy"), mutating["reinvocationPolicy"])


@pytest.mark.parametrize(
    ("fields", "refusals"),
    [
        ({}, []),
        (
            {"name": "a.b"},
            ['name: Invalid value: "a.b": should be a domain with at least three segments separated by dots'],
        ),
        ({"sideEffects": "Some"}, ['sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"']),
        ({"clientConfig": {}}, ["clientConfig: Required value: exactly one of url or service is required"]),
        (
            {"clientConfig": {"url": "https://h:x"}},
            [
                'clientConfig.url: Required value: url must be a valid URL: parse "https://h:x": '
                'invalid port ":x" after host; desired format: https://host[/path]'
            ],
        ),
        (
            {"clientConfig": {"url": "https://u@h.example.com/?a=b#c"}},
            [
                'clientConfig.url: Invalid value: "u": user information is not permitted in the URL',
                'clientConfig.url: Invalid value: "c": fragments are not permitted in the URL',
                'clientConfig.url: Invalid value: "a=b": query parameters are not permitted in the URL',
            ],
        ),
        (
            {"clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/a//b/"}}},
            ['clientConfig.service.path: Invalid value: "/a//b/": segment[1] may not be empty'],
        ),
        (
            {"rules": [{**RULE, "resources": ["pods/*", "pods/status", "*/scale", "x/scale"]}]},
            [
                "rules[0].resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, "
                "must not specify pods/status",
                "rules[0].resources[3]: Invalid value: \"x/scale\": if '*/scale' is present, must not specify x/scale",
            ],
        ),
        (
            {"admissionReviewVersions": ["v9", "v9"]},
            [
                'admissionReviewVersions[1]: Invalid value: "v9": duplicate version',
                'admissionReviewVersions: Invalid value: ["v9","v9"]: must include at least one of v1, v1beta1',
            ],
        ),
        (
            {"matchConditions": [{"name": "a", "expression": "true"}, {"name": "a", "expression": " "}]},
            ["matchConditions[1].expression: Required value", 'matchConditions[1].name: Duplicate value: "a"'],
        ),
    ],
)
def test_webhooks(fields: Object, refusals: list[str]) -> None:
    """A webhook is named, reachable, free of side effects, and asked about something."""
    actual = [error.removeprefix("webhooks[0].") for error in VALIDATING.create_errors(webhooks(**fields))]

    assert refusals == actual


def test_generation_counts_webhooks() -> None:
    """Other webhooks are another generation, other labels are not."""
    old = VALIDATING.created(webhooks())

    labelled = VALIDATING.changed(old, {"metadata": {"labels": {"a": "b"}}})
    changed = VALIDATING.changed(old, webhooks(timeoutSeconds=5))

    assert (1, 2) == (labelled["metadata"]["generation"], changed["metadata"]["generation"])


@pytest.mark.parametrize(
    ("body", "refusals"),
    [
        (policy(), []),
        (policy(matchConstraints={}), ["spec.matchConstraints.resourceRules: Required value"]),
        (
            policy(validations=[{"expression": "true", "message": "a\nb", "reason": "Mood"}]),
            [
                'spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
                'spec.validations[0].reason: Unsupported value: "Mood": '
                'supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
            ],
        ),
        (
            policy(variables=[{"name": "in", "expression": ""}]),
            [
                'spec.variables[0].name: Invalid value: "in": must be a valid CEL identifier',
                "spec.variables[0].expression: Required value: expression is not specified",
            ],
        ),
        (
            policy(paramKind={"apiVersion": "a/b/c", "kind": "K"}),
            ['spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
        ),
        (
            policy(auditAnnotations=[{"key": "k", "valueExpression": "'v'"}] * 2),
            ['spec.auditAnnotations[1].key: Duplicate value: "k"'],
        ),
    ],
)
def test_policies(body: Object, refusals: list[str]) -> None:
    """A policy matches something and asks something of it."""
    actual = POLICIES.create_errors(body)

    assert refusals == actual


def test_mutating_policies() -> None:
    """They change what comes in by one sort of patch, so they cannot match deletions."""
    mutation = {"patchType": "ApplyConfiguration", "jsonPatch": {"expression": "[]"}}
    constraints = {"resourceRules": [{**RULE, "operations": ["DELETE"]}]}

    errors = MUTATING_POLICIES.create_errors({"spec": {"matchConstraints": constraints, "mutations": [mutation]}})

    expected = [
        'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": '
        'supported values: "*", "CONNECT", "CREATE", "UPDATE"',
        "spec.mutations[0].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration",
        'spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": '
        "must not be specified when patchType is ApplyConfiguration",
        "spec.reinvocationPolicy: Required value",
    ]
    assert expected == errors


@pytest.mark.parametrize(
    ("kind", "spec", "refusals"),
    [
        (BINDINGS, {"policyName": "p", "validationActions": ["Deny", "Audit"]}, []),
        (MUTATING_BINDINGS, {"policyName": "p"}, []),
        (
            BINDINGS,
            {"policyName": "p"},
            ["spec.validationActions: Required value: at least one validation action is required"],
        ),
        (
            MUTATING_BINDINGS,
            {"policyName": "p", "paramRef": {}},
            [
                "spec.paramRef: Required value: one of name or selector must be specified",
                "spec.paramRef.parameterNotFoundAction: Required value",
            ],
        ),
    ],
)
def test_bindings(kind: KindOnTrial, spec: Object, refusals: list[str]) -> None:
    """A binding names its policy, and what a violation leads to."""
    actual = kind.create_errors({"spec": spec})

    assert refusals == actual


def test_reserved_names_are_warned_of() -> None:
    """Names kept for configurations from files are let pass with a warning."""
    obj = POLICIES.created({**policy(), "metadata": {"name": "a.static.k8s.io"}})

    actual = list(POLICIES.strategy.warnings(obj))

    text = "are reserved for static manifest-based configurations and cannot be managed via the API"
    assert [f'metadata.name: names ending with ".static.k8s.io" {text}'] == actual
