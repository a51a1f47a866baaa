"""Admission webhooks, through a whole server: who is asked, and what is asked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testkit.exchange import Ask, exchange
from tests.testkit.webhooks import (
    CREATE,
    DENIED,
    DEPLOYMENT,
    DEPLOYMENTS,
    EVERYTHING,
    MAP,
    MAPS,
    POD,
    PODS,
    RULE,
    Hooks,
    a_webhook,
    add,
    allow,
    deny,
    last,
    mutating,
    patch,
    validating,
)

# -- what is asked ----------------------------------------------------------------------------------------------------


def test_the_question_carries_the_whole_request() -> None:
    """Kind and resource, who asks, both objects with their types, and the options as they were sent."""
    hooks = Hooks(v=allow)
    answer = last(
        hooks,
        validating(a_webhook("v")),
        Ask("POST", f"{MAPS}?fieldManager=me&fieldValidation=Strict", MAP),
        Ask("PATCH", f"{MAPS}/c", {"data": {"a": "2"}}),
    )
    assert answer.status == 200
    review, (_, created), (_, changed) = hooks.reviews[0], *hooks.asked
    assert (review["kind"], review["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    assert created["kind"] == created["requestKind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert created["resource"] == created["requestResource"]
    assert created["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (created["name"], created["namespace"], created["operation"]) == ("c", "default", "CREATE")
    assert created["userInfo"] == {
        "username": "kubernetes-admin",
        "groups": ["system:masters", "system:authenticated"],
    }
    assert (created["object"]["kind"], created["object"]["apiVersion"]) == ("ConfigMap", "v1")
    assert created["object"]["data"] == {"a": "1"}
    assert (created["oldObject"], created["dryRun"]) == (None, False)
    assert created["options"] == {
        "kind": "CreateOptions",
        "apiVersion": "meta.k8s.io/v1",
        "fieldManager": "me",
        "fieldValidation": "Strict",
    }
    assert (changed["operation"], changed["oldObject"]["data"], changed["object"]["data"]) == (
        "UPDATE",
        {"a": "1"},
        {"a": "2"},
    )
    assert changed["oldObject"]["kind"] == "ConfigMap"
    assert changed["options"] == {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"}


def test_a_generated_name_is_shown_to_validating_webhooks_only() -> None:
    """Mutating ones are asked before there is a name."""
    hooks = Hooks(m=allow, v=allow)
    prefixed = {**MAP, "metadata": {"generateName": "c-"}}
    answer = last(hooks, mutating(a_webhook("m")), validating(a_webhook("v")), Ask("POST", MAPS, prefixed))
    (_, first), (_, second) = hooks.asked
    assert "name" not in first
    assert "uid" not in first["object"]["metadata"]
    assert second["name"] == answer.body["metadata"]["name"]
    assert second["object"]["metadata"]["uid"] == answer.body["metadata"]["uid"]


def test_deletions_show_what_is_to_go() -> None:
    """The object is the old one; in a collection each is asked about, and its name is not in the request."""
    hooks = Hooks(v=allow)
    two = Ask("POST", MAPS, {**MAP, "metadata": {"name": "d", "labels": {"of": "two"}}})
    configure = validating(a_webhook("v", {**EVERYTHING, "operations": ["DELETE"]}))
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "propagationPolicy": "Orphan"}
    last(
        hooks,
        CREATE,
        two,
        configure,
        Ask("DELETE", f"{MAPS}/c", options),
        Ask("DELETE", f"{MAPS}?labelSelector=of=two"),
    )
    (_, one), (_, of_many) = hooks.asked
    assert (one["operation"], one["name"], one["object"], one["oldObject"]["data"]) == (
        "DELETE",
        "c",
        None,
        MAP["data"],
    )
    assert one["options"] == {**options, "apiVersion": "meta.k8s.io/v1"}
    assert "name" not in of_many
    assert of_many["oldObject"]["metadata"]["name"] == "d"


@pytest.mark.parametrize(
    ("before", "ask", "subresource", "kind", "operation"),
    [
        (
            Ask("POST", DEPLOYMENTS, DEPLOYMENT),
            Ask("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 3}}),
            "scale",
            {"group": "autoscaling", "version": "v1", "kind": "Scale"},
            "UPDATE",
        ),
        (
            Ask("POST", DEPLOYMENTS, DEPLOYMENT),
            Ask("PATCH", f"{DEPLOYMENTS}/d/status", {"status": {"replicas": 1}}),
            "status",
            {"group": "apps", "version": "v1", "kind": "Deployment"},
            "UPDATE",
        ),
        (
            Ask("POST", PODS, POD),
            Ask("POST", f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}),
            "binding",
            {"group": "", "version": "v1", "kind": "Binding"},
            "CREATE",
        ),
        (
            Ask("POST", PODS, POD),
            Ask("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}}),
            "eviction",
            {"group": "policy", "version": "v1", "kind": "Eviction"},
            "CREATE",
        ),
        (
            Ask("GET", PODS),
            Ask("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", {"spec": {}}),
            "token",
            {"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"},
            "CREATE",
        ),
        (
            Ask("GET", PODS),
            Ask(
                "POST",
                "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/"}}},
            ),
            "",
            {"group": "authorization.k8s.io", "version": "v1", "kind": "SelfSubjectAccessReview"},
            "CREATE",
        ),
    ],
)
def test_subresources_show_the_object_they_take(
    before: Ask, ask: Ask, subresource: str, kind: dict[str, str], operation: str
) -> None:
    """A Scale, a Binding, an Eviction: what was sent, not what it does. Each is asked about once."""
    hooks = Hooks(m=allow, v=allow)
    account = Ask("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    answers = exchange(
        account,
        before,
        mutating(a_webhook("m", EVERYTHING)),
        validating(a_webhook("v", EVERYTHING)),
        ask,
        webhook_transports=hooks.transport,
    )
    asked = [(name, request.get("subResource", ""), request["operation"]) for name, request in hooks.asked]
    assert asked == [("m", subresource, operation), ("v", subresource, operation)], answers[-1].body
    for _, request in hooks.asked:
        assert request["kind"] == request["requestKind"] == kind
        assert request["object"]["kind"] == kind["kind"]
        assert request.get("requestSubResource", "") == subresource


@pytest.mark.parametrize(
    ("ask", "kind", "options"),
    [
        (
            Ask("POST", f"{PODS}/p/exec?command=sh&command=-c&stdin=true&tty=false&container=c"),
            "PodExecOptions",
            {"stdin": True, "container": "c", "command": ["sh", "-c"]},
        ),
        (Ask("POST", f"{PODS}/p/attach?stdout=1"), "PodAttachOptions", {"stdout": True}),
        (Ask("POST", f"{PODS}/p/portforward?ports=80&ports=443"), "PodPortForwardOptions", {"ports": [80, 443]}),
        (Ask("GET", f"{PODS}/p/proxy/a/b"), "PodProxyOptions", {"path": "/a/b"}),
    ],
)
def test_connecting_to_a_pod_is_asked_about(ask: Ask, kind: str, options: dict[str, Any]) -> None:
    """Before anybody looks whether there is something to connect to; the object is what the query says."""
    hooks = Hooks(v=deny("not in this cluster", code=403))
    rule = {**EVERYTHING, "operations": ["CONNECT"]}
    answer = exchange(validating(a_webhook("v", rule)), ask, webhook_transports=hooks.transport)[-1]
    assert (answer.status, answer.message) == (403, f"{DENIED}: not in this cluster")
    _, request = hooks.asked[0]
    assert request["object"] == {"kind": kind, "apiVersion": "v1", **options}
    assert (request["operation"], request["name"], request["options"]) == ("CONNECT", "p", None)
    assert request["subResource"] == ask.target.split("/")[7].partition("?")[0]


def test_what_a_webhook_makes_of_a_connection_counts() -> None:
    """The container it names is the one that is looked for, not that of the URL."""
    hooks = Hooks(m=patch(add("/container", "other")))
    rule = {**RULE, "operations": ["CONNECT"], "resources": ["pods/exec"]}
    account = Ask("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    pod = Ask("POST", PODS, POD)
    answer = last(hooks, account, pod, mutating(a_webhook("m", rule)), Ask("POST", f"{PODS}/p/exec?container=c"))
    assert (answer.status, answer.message) == (400, "container other is not valid for pod p")


def test_configurations_of_webhooks_are_never_shown_to_webhooks() -> None:
    """One that refuses everything can still be removed."""
    hooks = Hooks(v=deny())
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/v"
    assert last(hooks, validating(a_webhook("v", EVERYTHING)), Ask("DELETE", path)).status == 200
    assert hooks.asked == []


# -- who is asked -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "is_asked"),
    [
        ({}, True),
        ({"rules": [{**RULE, "operations": ["UPDATE"]}]}, False),
        ({"rules": [{**RULE, "apiGroups": ["apps"]}]}, False),
        ({"rules": [{**RULE, "apiVersions": ["v2"]}]}, False),
        ({"rules": [{**RULE, "resources": ["secrets"]}]}, False),
        ({"rules": [{**RULE, "resources": ["configmaps/status"]}]}, False),
        ({"rules": [{**RULE, "resources": ["configmaps/*"]}]}, True),
        ({"rules": [{**RULE, "resources": ["*"]}]}, True),
        ({"rules": [{**RULE, "scope": "Cluster"}]}, False),
        ({"rules": [{**RULE, "scope": "Namespaced"}]}, True),
        ({"objectSelector": {"matchLabels": {"x": "y"}}}, False),
        ({"objectSelector": {"matchLabels": {"app": "web"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"x": "y"}}}, False),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, True),
        ({"matchConditions": [{"name": "n", "expression": "object.data.a == '2'"}]}, False),
        ({"matchConditions": [{"name": "n", "expression": "request.userInfo.username != ''"}]}, True),
        ({"matchConditions": [{"name": "n", "expression": "object.data.b == '2'"}], "failurePolicy": "Ignore"}, False),
    ],
)
def test_rules_selectors_and_conditions_choose_who_is_asked(fields: dict[str, Any], is_asked: bool) -> None:
    """All of them must fit."""
    hooks = Hooks(v=allow)
    labelled = {**MAP, "metadata": {"name": "c", "labels": {"app": "web"}}}
    assert last(hooks, validating({**a_webhook("v", RULE), **fields}), Ask("POST", MAPS, labelled)).status == 201
    assert bool(hooks.asked) == is_asked


def test_a_condition_that_cannot_be_told_refuses_the_request() -> None:
    """Unless failures are ignored."""
    condition = {"name": "n", "expression": "object.data.b == '2'"}
    answer = last(Hooks(), validating(a_webhook("v", matchConditions=[condition])), CREATE)
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    why = "expression 'object.data.b == '2'' resulted in error: no such key: b"
    assert answer.message == f'configmaps "c" is forbidden: {why}'


def test_a_namespace_is_selected_by_its_own_labels() -> None:
    """Those it is to have, before it has them."""
    hooks = Hooks(v=allow)
    rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["namespaces"]}
    webhook = a_webhook("v", rule, namespaceSelector={"matchLabels": {"team": "blue"}})
    for team in ("red", "blue"):
        body = {"metadata": {"name": team, "labels": {"team": team}}}
        last(hooks, validating(webhook), Ask("POST", "/api/v1/namespaces", body))
    assert [(request["name"], request["namespace"]) for _, request in hooks.asked] == [("blue", "blue")]


AUTOSCALER = {
    "metadata": {"name": "h"},
    "spec": {
        "maxReplicas": 3,
        "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
        "targetCPUUtilizationPercentage": 70,
    },
}
AUTOSCALERS_V1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"


@pytest.mark.parametrize("policy", ["Equivalent", "Exact"])
def test_equivalent_requests_are_shown_in_the_version_of_the_rule(policy: str) -> None:
    """A webhook for v2 is asked about v1 too, and sees v2; not so where it asks for exact matches."""
    hooks = Hooks(m=patch(add("/spec/minReplicas", 2)))
    rule = {**RULE, "apiGroups": ["autoscaling"], "apiVersions": ["v2"], "resources": ["horizontalpodautoscalers"]}
    answer = last(hooks, mutating(a_webhook("m", rule, matchPolicy=policy)), Ask("POST", AUTOSCALERS_V1, AUTOSCALER))
    if policy == "Exact":
        assert hooks.asked == []
        return
    _, request = hooks.asked[0]
    assert request["kind"]["version"] == request["resource"]["version"] == "v2"
    assert request["requestKind"]["version"] == request["requestResource"]["version"] == "v1"
    assert request["object"]["apiVersion"] == "autoscaling/v2"
    assert request["object"]["spec"]["metrics"][0]["resource"]["name"] == "cpu"
    assert answer.body["spec"]["minReplicas"] == 2
    assert answer.body["spec"]["targetCPUUtilizationPercentage"] == 70
