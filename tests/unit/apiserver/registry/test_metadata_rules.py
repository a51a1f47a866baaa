"""What differs between kinds in how their metadata is looked at."""

import base64

import pytest

from tests.testkit.certificate_requests import OF_ALICE
from tests.testkit.exchange import Ask, exchange

CORE, GROUPS = "/api/v1/namespaces/default", "/apis"
BARE = {"metadata": {"name": "a", "finalizers": ["bare"]}}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (f"{CORE}/configmaps", BARE, 422),
        (LEASES, BARE, 201),
        (BUDGETS, BARE, 201),
        ("/apis/node.k8s.io/v1/runtimeclasses", {**BARE, "handler": "h"}, 201),
        ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", BARE, 422),
        ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", BARE, 201),
    ],
)
def test_finalizers_without_a_domain(path: str, body: dict[str, object], status: int) -> None:
    """Kinds that are checked by apimachinery's own rules may have them."""
    assert exchange(Ask("POST", path, body))[0].status == status


def test_a_budget_with_two_faults() -> None:
    """Its metadata is looked at only where its spec is good."""
    metadata = {"name": "a", "labels": {"a b": "c"}}
    both, one = exchange(
        Ask("POST", BUDGETS, {"metadata": metadata, "spec": {"minAvailable": -1}}),
        Ask("POST", BUDGETS, {"metadata": metadata}),
    )

    assert [cause[0] for cause in both.causes] == ["spec.minAvailable"]
    assert [cause[0] for cause in one.causes] == ["metadata.labels"]


def test_limit_ranges_may_be_created_by_put() -> None:
    """As leases, roles, endpoints, services, runtime classes and events may."""
    created = exchange(Ask("PUT", f"{CORE}/limitranges/a", {"metadata": {"name": "a"}, "spec": {"limits": []}}))[0]

    assert created.status == 201


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        (BUDGETS, {"metadata": {"name": "a"}}, 422),
        (LEASES, {"metadata": {"name": "a"}}, 422),
        (f"{CORE}/configmaps", {"metadata": {"name": "a"}}, 200),
    ],
)
@pytest.mark.parametrize("version", [None, "", "0"])
def test_a_patch_that_takes_the_version_away(path: str, body: dict[str, object], code: int, version: object) -> None:
    """Kinds that are only updated by those who know their version say so to patches, too."""
    patch = Ask("PATCH", f"{path}/a", {"metadata": {"resourceVersion": version, "labels": {"a": "b"}}})
    answer = exchange(Ask("POST", path, body), patch)[1]

    assert code == answer.status
    if code == 422:
        assert [("metadata.resourceVersion", "Invalid value: 0: must be specified for an update")] == answer.causes


def test_a_prefix_that_a_change_brings() -> None:
    """Of the kinds that do not look at their name again it has to be no more than a segment of a path."""
    prefix = {"metadata": {"generateName": "No Name"}}
    bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
    _, budget, _, role = exchange(
        Ask("POST", BUDGETS, {"metadata": {"name": "a"}}),
        Ask("PATCH", f"{BUDGETS}/a", prefix),
        Ask("POST", bindings, {"metadata": {"name": "a"}}),
        Ask("PATCH", f"{bindings}/a", {"metadata": {"generateName": "a/b"}}),
    )

    assert 200 == budget.status
    assert {"metadata.generateName"} == {field for field, _ in role.causes}


def test_owners_are_quoted_in_the_order_of_their_type() -> None:
    """However they were sent; flags that were not are left out."""
    owner = {"uid": "u", "controller": True, "name": "n", "kind": "Pod", "apiVersion": "v1"}
    other = {**owner, "blockOwnerDeletion": False}
    answer = exchange(Ask("POST", LEASES, {"metadata": {"name": "a", "ownerReferences": [owner, other]}}))[0]

    one = '{"apiVersion":"v1","kind":"Pod","name":"n","uid":"u","controller":true'
    assert answer.causes[0][1].startswith(f'Invalid value: [{one}}},{one},"blockOwnerDeletion":false}}]: ')


def test_a_limit_range_without_a_name_is_given_one() -> None:
    """A UUID that is not the object's own."""
    answer = exchange(Ask("POST", f"{CORE}/limitranges", {"spec": {"limits": []}}))[0]

    metadata = answer.body["metadata"]
    assert 201 == answer.status
    assert len(metadata["uid"]) == len(metadata["name"])
    assert metadata["uid"] != metadata["name"]


@pytest.mark.parametrize("form", ["Table", "PartialObjectMetadata"])
def test_what_was_only_tried_has_no_version_in_any_form(form: str) -> None:
    """Neither the Table of a dry run nor its row."""
    asked = {"accept": f"application/json;as={form};g=meta.k8s.io;v=v1"}
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    target = {"scaleTargetRef": reference, "maxReplicas": 1}
    scalers = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    answers = exchange(
        Ask("POST", f"{CORE}/configmaps?dryRun=All", {"metadata": {"name": "a"}}, more=asked),
        Ask("POST", f"{scalers}?dryRun=All", {"metadata": {"name": "a"}, "spec": target}, more=asked),
    )

    assert [201, 201] == [answer.status for answer in answers]
    assert not any("resourceVersion" in answer.text for answer in answers)


def test_names_are_quoted_as_go_quotes_them() -> None:
    """A name that no object can have may still hold anything."""
    answer = exchange(Ask("POST", f"{CORE}/configmaps", {"metadata": {"name": 'a\n"b"'}}))[0]

    assert answer.message.startswith('ConfigMap "a\\n\\"b\\"" is invalid: ')


@pytest.mark.parametrize(
    ("metadata", "refused"),
    [
        ({"name": "system:A b"}, []),
        ({"name": "a/b"}, ["metadata.name"]),
        ({"name": "a/b", "labels": {"a": "b c"}}, ["metadata.labels"]),
    ],
)
def test_the_name_of_a_signing_request_is_looked_at_last(metadata: dict[str, object], refused: list[str]) -> None:
    """It may be any segment of a path, and what else is wrong is said first."""
    asked = {"request": base64.b64encode(OF_ALICE.encode()).decode(), "signerName": "example.com/s", "usages": ["any"]}
    requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    answer = exchange(Ask("POST", requests, {"metadata": metadata, "spec": asked}))[0]

    assert refused == [field for field, _ in answer.causes]


def test_what_a_binding_brings_is_not_looked_at() -> None:
    """As upstream writes it past all checks."""
    pods = f"{CORE}/pods"
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    binding = {"metadata": {"name": "a", "labels": {"a": "b c"}}, "target": {"kind": "Node", "name": "n"}}
    *_, bound, shown = exchange(
        Ask("POST", "/api/v1/namespaces", {"metadata": {"name": "default"}}),
        Ask("POST", f"{CORE}/serviceaccounts", {"metadata": {"name": "default"}}),
        Ask("POST", pods, pod),
        Ask("POST", f"{pods}/a/binding", binding),
        Ask("GET", f"{pods}/a"),
    )

    assert 201 == bound.status
    assert ("b c", "n") == (shown.body["metadata"]["labels"]["a"], shown.body["spec"]["nodeName"])
