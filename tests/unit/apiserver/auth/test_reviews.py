"""Reviews are answered in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from apiserver.auth.authentication import Authenticator, TokenFile, User
from apiserver.auth.authorization import Access, Decision, Rules
from apiserver.auth.reviews import Reviewers, prepare, review
from kubeloop.apimachinery.errors import ApiError, BadRequest, Invalid
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import parse_time

ALICE = User("alice", "u", ("devs", "system:authenticated"))


class Scripted:
    """Allows get and keeps what it was asked."""

    def __init__(self, rules: Sequence[Object] = ()) -> None:
        self.asked: list[Access] = []
        self._rules = rules

    def authorize(self, access: Access) -> Decision:
        self.asked.append(access)
        return Decision(True, "because") if access.verb == "get" else Decision(False)

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules(self._rules)


def reviewed(kind: str, spec: Object | None, authorizer: Scripted | None = None, **more: Any) -> Object:
    tokens = TokenFile.parse('alicetoken,alice,u,"devs"')
    reviewers = Reviewers(Authenticator([tokens]), authorizer or Scripted(), parse_time("2026-01-02T03:04:05Z"))
    obj: Object = {"kind": kind, "apiVersion": "x/v1", "metadata": more.pop("metadata", {})}
    if spec is not None:
        obj["spec"] = spec
    return review(kind, obj, ALICE, reviewers, more.pop("namespace", ""))


def test_one_asks_about_oneself() -> None:
    """SelfSubjectAccessReview asks about the user of the request and repeats the question."""
    authorizer = Scripted()
    spec = {"resourceAttributes": {"namespace": "ns", "verb": "get", "resource": "pods", "subresource": "log"}}

    answer = reviewed("SelfSubjectAccessReview", spec, authorizer)

    assert {"allowed": True, "reason": "because"} == answer["status"]
    assert ({}, spec) == (answer["metadata"], answer["spec"])
    assert [Access(ALICE, "get", "", "*", "pods", "log", "ns")] == authorizer.asked


def test_one_asks_about_others_and_paths() -> None:
    """SubjectAccessReview names its subject; a refusal without a reason has none."""
    authorizer = Scripted()
    spec = {"user": "bob", "groups": ["g"], "nonResourceAttributes": {"path": "/x", "verb": "post"}}

    answer = reviewed("SubjectAccessReview", spec, authorizer)

    assert {"allowed": False} == answer["status"]
    assert [Access(User("bob", groups=("g",)), "post", path="/x")] == authorizer.asked


RESOURCE = {"resource": "pods", "verb": "get", "namespace": "ns"}


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        (
            "SelfSubjectAccessReview",
            {},
            "spec.resourceAttributes: Invalid value: null: "
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
        (
            "SelfSubjectAccessReview",
            {"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"path": "/", "verb": "get"}},
            'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: '
            "cannot be specified in combination with resourceAttributes",
        ),
        (
            "SubjectAccessReview",
            {"resourceAttributes": RESOURCE},
            'spec.user: Invalid value: "": at least one of user or group must be specified',
        ),
        (
            "LocalSubjectAccessReview",
            {"user": "bob", "resourceAttributes": {**RESOURCE, "namespace": "other"}},
            'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace',
        ),
    ],
)
def test_questions_that_make_no_sense(kind: str, spec: Object, expected: str) -> None:
    """The refusal has neither kind nor name, as the real server's."""
    metadata = {"namespace": "ns"} if kind.startswith("Local") else {}

    with pytest.raises(Invalid) as refused:
        reviewed(kind, spec, metadata=metadata, namespace="ns")

    assert f'.authorization.k8s.io "" is invalid: {expected}' == refused.value.message


def test_a_review_is_prepared_as_any_object_that_is_created() -> None:
    """The namespace is the URL's, and what only the system writes goes before anybody looks at it."""
    without: Object = {"metadata": {"uid": "u", "creationTimestamp": None, "namespace": "ns"}}
    local: Object = {"spec": {}}
    prepare(without, "")
    prepare(local, "ns")

    with pytest.raises(BadRequest) as refused:
        prepare({"metadata": {"namespace": "ns"}}, "other")

    assert ({}, {"namespace": "ns"}) == (without["metadata"], local["metadata"])
    expected = "the namespace of the provided object does not match the namespace sent on the request"
    assert expected == refused.value.message


def asked_about(**selectors: Any) -> Object:
    return {"resourceAttributes": {**RESOURCE, "verb": "list", **selectors}}


def one(key: str, operator: str, *values: str) -> Object:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"rawSelector": "spec.nodeName=n1"}, "spec.nodeName=n1"),
        ({"requirements": [one("a", "In", "x,y"), one("b", "NotIn", "z")]}, "a=x\\,y,b!=z"),
        ({"requirements": [one("a", "Exists"), one("b", "In", "z")]}, "b=z"),
    ],
)
def test_an_authorizer_learns_the_field_selector(selector: Object, expected: str) -> None:
    """As far as it can be read, spelled as a request would."""
    authorizer = Scripted()
    reviewed("SelfSubjectAccessReview", asked_about(fieldSelector=selector), authorizer)

    assert expected == authorizer.asked[0].field_selector


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        ({"fieldSelector": {"rawSelector": "a=b"}, "labelSelector": {"rawSelector": "a in (b)"}}, None),
        (
            {"fieldSelector": {"rawSelector": "a"}, "labelSelector": {"rawSelector": "a in"}},
            "spec.resourceAttributes.fieldSelector ignored due to parse error; "
            "spec.resourceAttributes.labelSelector ignored due to parse error",
        ),
        (
            {"fieldSelector": {"requirements": [one("a", "Exists"), one("b", "In", "c")]}},
            "spec.resourceAttributes.fieldSelector partially ignored due to parse error",
        ),
        (
            {"labelSelector": {"requirements": [one("a", "Later"), one("b", "Exists")]}},
            "spec.resourceAttributes.labelSelector partially ignored due to parse error",
        ),
    ],
)
def test_the_answer_says_which_selectors_could_not_be_read(selectors: Object, expected: str | None) -> None:
    """They are left out of the question, in part or as a whole."""
    answer = reviewed("SelfSubjectAccessReview", asked_about(**selectors))

    assert expected == answer["status"].get("evaluationError")


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        (
            {"fieldSelector": {}},
            "fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, "
            "requirements or rawSelector is required",
        ),
        (
            {"labelSelector": {"rawSelector": "a", "requirements": [one("a", "Exists")]}},
            'labelSelector.rawSelector: Invalid value: "a": may not specified at the same time as requirements',
        ),
        (
            {"fieldSelector": {"requirements": [one("", "In")]}},
            "[fieldSelector.requirements[0].key: Required value: must be specified, "
            "spec.resourceAttributes.fieldSelector.requirements[0].values: Required value: must be specified when "
            "`operator` is 'In' or 'NotIn']",
        ),
        (
            {"labelSelector": {"requirements": [one("a", "Exists", "b")]}},
            "labelSelector.requirements[0].values: Forbidden: may not be specified when `operator` is 'Exists' or "
            "'DoesNotExist'",
        ),
    ],
)
def test_selectors_that_make_no_sense(selectors: Object, expected: str) -> None:
    """Field by field, as everywhere."""
    with pytest.raises(Invalid) as refused:
        reviewed("SelfSubjectAccessReview", asked_about(**selectors))

    assert expected == refused.value.message.partition(" is invalid: ")[2].replace("spec.resourceAttributes.", "", 1)


def test_the_rules_of_a_namespace() -> None:
    """Rules on resources and on paths stand apart; the question is not repeated."""
    rules = [
        {"verbs": ["get"], "apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": ["d"]},
        {"verbs": ["get"], "nonResourceURLs": ["/healthz"]},
    ]

    answer = reviewed("SelfSubjectRulesReview", {"namespace": "ns"}, Scripted(rules))

    expected = {"resourceRules": [rules[0]], "nonResourceRules": [rules[1]], "incomplete": False}
    assert (expected, {}) == (answer["status"], answer["spec"])


def test_who_am_i() -> None:
    """SelfSubjectReview has the time of the request and the user."""
    answer = reviewed("SelfSubjectReview", None)

    expected = {"username": "alice", "uid": "u", "groups": ["devs", "system:authenticated"]}
    assert {"creationTimestamp": "2026-01-02T03:04:05Z"} == answer["metadata"]
    assert {"userInfo": expected} == answer["status"]


@pytest.mark.parametrize(
    ("spec", "is_known"),
    [
        ({"token": "alicetoken"}, True),
        ({"token": "nobody"}, False),
        ({"token": "alicetoken", "audiences": ["other"]}, False),
    ],
)
def test_whose_a_token_is(spec: Object, is_known: bool) -> None:
    """TokenReview answers the user and the audiences, or an empty user."""
    status = reviewed("TokenReview", spec)["status"]

    known = {"username": "alice", "uid": "u", "groups": ["devs", "system:authenticated"]}
    assert (known if is_known else {}) == status["user"]
    assert is_known == status.get("authenticated", False)
    assert (["https://kubernetes.default.svc"] if is_known else None) == status.get("audiences")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("TokenReview", "token is required for TokenReview in authentication"),
        ("SelfSubjectRulesReview", "no namespace on request"),
    ],
)
def test_questions_without_content(kind: str, message: str) -> None:
    """They are bad requests."""
    with pytest.raises(ApiError) as refused:
        reviewed(kind, {})

    assert (400, message) == (refused.value.code, refused.value.message)
