"""ClusterRoles that are the sum of others."""

from __future__ import annotations

from typing import Any

from controllers import cluster_role_aggregation
from controllers.cluster_role_aggregation import aggregated_rules
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CLUSTER_ROLES
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster

LOOPS = {"roles": a_loop(cluster_role_aggregation.add_to)}


def a_rule(resource: str) -> Object:
    return {"apiGroups": [""], "resources": [resource], "verbs": ["get"]}


def a_role(name: str, *resources: str, **labels: str) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": labels},
        "rules": [a_rule(resource) for resource in resources],
    }


def a_sum(*selectors: Object) -> Object:
    role = a_role("sum", team="x")
    return {**role, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": one} for one in selectors]}}


def test_rules_are_gathered_by_selector_and_name() -> None:
    """Each rule once, never the role's own, in an order that does not depend on the cache's."""
    roles = [
        a_role("b", "pods", "secrets", team="x"),
        a_role("c", "nodes", team="y"),
        a_role("a", "pods", "services", team="x"),
        a_role("d", "events", team="z"),
    ]
    total = {**a_sum({"team": "y"}, {"team": "x"}), "rules": [a_rule("old")]}

    rules = aggregated_rules(total, [*roles, total])

    assert [a_rule(name) for name in ("nodes", "pods", "services", "secrets")] == rules


def test_a_sum_follows_its_parts() -> None:
    """Parts come and go; what somebody else writes into the sum is overruled, and a quiet cluster stays quiet."""

    async def check(cluster: Cluster) -> list[Any]:
        await cluster.create(a_sum({"team": "x"}), CLUSTER_ROLES)
        await cluster.create(a_role("part", "pods", team="x"), CLUSTER_ROLES)

        async def until_rules(*resources: str) -> None:
            async def has_them() -> bool:
                rules = (await cluster.read(a_sum(), CLUSTER_ROLES)).get("rules") or []
                return bool(rules == [a_rule(name) for name in resources])

            await cluster.eventually(has_them)

        await until_rules("pods")
        await cluster.create(a_role("other", "secrets", team="x"), CLUSTER_ROLES)
        await until_rules("secrets", "pods")
        await cluster.patch(a_sum(), {"rules": [a_rule("everything")]}, CLUSTER_ROLES)
        await until_rules("secrets", "pods")
        await cluster.delete(a_role("other"), CLUSTER_ROLES)
        await until_rules("pods")
        await cluster.settled()
        return [write for write in cluster.writes if write.process == "roles"]

    assert 4 == len(run_cluster(check, processes=LOOPS))
