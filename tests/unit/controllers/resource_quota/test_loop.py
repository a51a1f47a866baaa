"""Quotas in a living cluster."""

from typing import Any

import pytest

from controllers import resource_quota
from kubeloop.apimachinery.errors import Forbidden
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CUSTOM_RESOURCE_DEFINITIONS, RESOURCE_QUOTAS, Resource
from kubeloop.testing.builders import a_config_map, a_pod
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster

LOOPS = {"quota": a_loop(resource_quota.add_to)}
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")


def a_quota(**hard: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": hard},
    }


async def used(cluster: Cluster) -> Object:
    status = (await cluster.read(a_quota(), RESOURCE_QUOTAS)).get("status") or {}
    return dict(status.get("used") or {})


async def until_used(cluster: Cluster, wanted: Object, within_seconds: float = 60) -> None:
    async def is_used() -> bool:
        return await used(cluster) == wanted

    await cluster.eventually(is_used, within_seconds)


def test_usage_follows_what_comes_and_goes() -> None:
    """Admission charges, the loop gives back; a new limit takes effect at once."""

    async def check(cluster: Cluster) -> None:
        await cluster.create(a_pod("old"))
        await cluster.create(a_quota(pods="2"), RESOURCE_QUOTAS)
        await until_used(cluster, {"pods": "1"})

        await cluster.create(a_pod("new"))
        with pytest.raises(Forbidden, match="exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"):
            await cluster.create(a_pod("third"))

        await cluster.delete(a_pod("old"), grace_period_seconds=0)
        await until_used(cluster, {"pods": "1"})
        await cluster.patch(a_quota(), {"spec": {"hard": {"configmaps": "9"}}}, RESOURCE_QUOTAS)
        await until_used(cluster, {"pods": "1", "configmaps": "0"})

    run_cluster(check, processes=LOOPS)


def test_a_charge_for_nothing_is_given_back() -> None:
    """A create that was charged and then refused for its name is forgotten by the next full recount."""

    async def check(cluster: Cluster) -> None:
        await cluster.create(a_quota(configmaps="5"), RESOURCE_QUOTAS)
        await until_used(cluster, {"configmaps": "0"})
        await cluster.create(a_config_map("one"))
        await cluster.settled()
        await cluster.api.patch(
            RESOURCE_QUOTAS, "q", {"status": {"used": {"configmaps": "4"}}}, "default", subresource="status"
        )

        await until_used(cluster, {"configmaps": "1"}, within_seconds=resource_quota.reconciler.RESYNC_SECONDS + 5)

    run_cluster(check, processes=LOOPS)


def test_a_quiet_cluster_stays_quiet() -> None:
    """Recounts that find nothing new write nothing."""

    async def check(cluster: Cluster) -> list[Any]:
        await cluster.create(a_quota(pods="2", secrets="3"), RESOURCE_QUOTAS)
        await until_used(cluster, {"pods": "0", "secrets": "0"})
        await cluster.clock.sleep(1000)
        return [write for write in cluster.writes if write.process == "quota"]

    assert 1 == len(run_cluster(check, processes=LOOPS))


def test_custom_resources_are_counted_once_they_are_served() -> None:
    """A quota may name a resource before its definition exists."""
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }

    async def check(cluster: Cluster) -> None:
        await cluster.create(a_quota(**{"count/widgets.example.com": "2", "pods": "1"}), RESOURCE_QUOTAS)
        await until_used(cluster, {"pods": "0"})

        await cluster.create(definition, CUSTOM_RESOURCE_DEFINITIONS)

        await until_used(cluster, {"pods": "0", "count/widgets.example.com": "0"})

    run_cluster(check, processes=LOOPS)
