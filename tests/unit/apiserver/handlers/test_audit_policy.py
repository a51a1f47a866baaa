"""The audit policy: which rule is a request's, and what is no policy."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.auth.authentication import User
from apiserver.auth.authorization import Access
from apiserver.handlers.audit_policy import Policy, PolicyError

ALICE = User("alice", groups=("devs", "system:authenticated"))
HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"


def level(rule: str, access: Access) -> str:
    return Policy.parse(f"{HEAD}rules: [{rule}]".encode()).verdict(access).level


def access(verb: str = "get", resource: str = "pods", group: str = "", **more: Any) -> Access:
    name, _, subresource = resource.partition("/")
    return Access(ALICE, verb, group, "v1", name, subresource, **more)


@pytest.mark.parametrize(
    ("rule", "asked", "expected"),
    [
        ("{level: Request}", access(), True),
        ("{level: Request, users: [bob]}", access(), False),
        ("{level: Request, userGroups: [ops, devs]}", access(), True),
        ("{level: Request, verbs: [list]}", access(), False),
        ("{level: Request, namespaces: [ns]}", access(namespace="ns"), True),
        ("{level: Request, namespaces: ['']}", access(resource="nodes"), True),
        ("{level: Request, namespaces: [ns]}", Access(ALICE, "get", path="/api"), False),
        ("{level: Request, resources: [{group: ''}]}", access(), True),
        ("{level: Request, resources: [{group: apps}]}", access(), False),
        (
            "{level: Request, resources: [{group: '*', resources: [deployments]}]}",
            access("get", "deployments", "apps"),
            True,
        ),
        ("{level: Request, resources: [{resources: [pods]}]}", access(resource="pods/log"), False),
        ("{level: Request, resources: [{resources: [pods/log]}]}", access(resource="pods/log"), True),
        ("{level: Request, resources: [{resources: ['pods/*']}]}", access(resource="pods/log"), True),
        ("{level: Request, resources: [{resources: ['pods/*']}]}", access(), True),
        ("{level: Request, resources: [{resources: ['*/log']}]}", access(resource="pods/log"), True),
        ("{level: Request, resources: [{resources: ['*']}]}", access(resource="pods/log"), True),
        ("{level: Request, resources: [{resources: [pods], resourceNames: [a]}]}", access(name="b"), False),
        ("{level: Request, nonResourceURLs: ['/healthz*']}", Access(ALICE, "get", path="/healthz/ping"), True),
        ("{level: Request, nonResourceURLs: ['*']}", access(), False),
    ],
)
def test_which_requests_a_rule_is_for(rule: str, asked: Access, expected: bool) -> None:
    """Everything it names has to fit; what it does not name fits always."""
    assert ("Request" if expected else "None") == level(rule, asked)


def test_rules_add_stages_and_have_the_last_word_on_managed_fields() -> None:
    """What the policy omits is omitted everywhere."""
    policy = Policy.parse(
        f"{HEAD}omitStages: [RequestReceived]\nomitManagedFields: true\nrules:\n"
        "- {level: Request, omitStages: [ResponseStarted], omitManagedFields: false}".encode()
    )
    verdict = policy.verdict(access())

    assert {"RequestReceived", "ResponseStarted"} == verdict.omitted_stages
    assert (False, True) == (verdict.omits_managed_fields, policy.otherwise.omits_managed_fields)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: b", "unknown group version field , Kind= in policy"),
        (f"{HEAD}rules: []", "loaded illegal policy with 0 rules"),
        (f"{HEAD}rules: 5", "failed decoding: rules are no list of objects"),
        (f"{HEAD}rules: [{{}}]", "rules[0].level: Required value"),
        (
            f"{HEAD}rules: [{{level: All}}]",
            'rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", '
            '"RequestResponse"',
        ),
        (
            f"{HEAD}rules: [{{level: None, nonResourceURLs: [api]}}]",
            'rules[0].nonResourceURLs[0]: Invalid value: "api": '
            "non-resource URL rules must begin with a '/' character",
        ),
        (
            f"{HEAD}rules: [{{level: None, nonResourceURLs: ['/a*b']}}]",
            "rules[0].nonResourceURLs[0]: Invalid value: \"/a*b\": non-resource URL wildcards '*' must be the final "
            "character of the rule",
        ),
        (
            f"{HEAD}omitStages: [Never]\nrules: [{{level: None}}]",
            'omitStages[0]: Invalid value: "Never": allowed stages are '
            "RequestReceived,ResponseStarted,ResponseComplete,Panic",
        ),
        (
            f"{HEAD}rules: [{{level: None, resources: [{{resourceNames: [a]}}]}}]",
            'rules[0].resources.resourceNames: Invalid value: ["a"]: '
            "using resourceNames requires at least one resource",
        ),
    ],
)
def test_what_is_no_policy_is_refused(text: str, said: str) -> None:
    """In the real server's words."""
    with pytest.raises(PolicyError) as refused:
        Policy.parse(text.encode())

    assert said == str(refused.value)
