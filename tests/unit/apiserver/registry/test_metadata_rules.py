"""What differs between kinds in how their metadata is looked at."""

import pytest

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
