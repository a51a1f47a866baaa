"""What holds a cluster together: namespaces, owners, quotas, budgets, roles, autoscaling."""

from __future__ import annotations

from typing import Any

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    HORIZONTAL_POD_AUTOSCALERS,
    NAMESPACES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    RESOURCE_QUOTAS,
    SERVICE_ACCOUNTS,
)
from kubeloop.testing.builders import a_config_map, a_deployment, a_namespace, a_pod, a_service
from kubeloop.testing.cluster import Cluster
from kubeloop.testing.scenario import Scenario
from tests.level_triggered.loops import processes
from tests.level_triggered.waiting import until, until_gone, until_it_is_there, until_status
from tests.unit.controllers.autoscalers import an_autoscaler

ROOT_CA = "kube-root-ca.crt"


async def accounts_for_all(cluster: Cluster) -> None:
    for name in ("one", "two"):
        await cluster.create(a_namespace(name))
        await until_it_is_there(cluster, SERVICE_ACCOUNTS, "default", name)
    await cluster.api.delete(SERVICE_ACCOUNTS, "default", "one")
    await cluster.create(a_namespace("three"))


async def certificates_for_all(cluster: Cluster) -> None:
    for name in ("one", "two", "three"):
        await cluster.create(a_namespace(name))
        await until_it_is_there(cluster, CONFIG_MAPS, ROOT_CA, name)
    await cluster.api.delete(CONFIG_MAPS, ROOT_CA, "one")
    await cluster.api.patch(CONFIG_MAPS, ROOT_CA, {"data": {"ca.crt": "spoilt", "more": "of it"}}, "two")


async def furnished_and_gone(cluster: Cluster) -> None:
    for name in ("going", "held", "staying"):
        await cluster.create(a_namespace(name))
        await until_it_is_there(cluster, SERVICE_ACCOUNTS, "default", name)
        await cluster.create(a_config_map("stuff").namespace(name))
        await cluster.create(a_pod("p").namespace(name).on("node-0"))
        await cluster.create(a_service("web").namespace(name))
    held = await cluster.create(a_config_map("held").namespace("held").finalizers("example.com/hold"))
    for name in ("going", "held"):
        await cluster.api.delete(NAMESPACES, name)
    await until_gone(cluster, a_namespace("going"))
    await cluster.patch(held, {"metadata": {"finalizers": None}})
    await until_gone(cluster, a_namespace("held"))


async def families(cluster: Cluster) -> None:
    """Three of three generations: one goes at once, one from its youngest up, of one the children stay."""
    old = {}
    for policy in ("Background", "Foreground", "Orphan"):
        name = policy.lower()
        old[policy] = await cluster.create(a_config_map(name))
        child = await cluster.create(a_config_map(f"{name}-child").owned_by(old[policy]))
        for i in range(2):
            await cluster.create(a_config_map(f"{name}-grandchild-{i}").owned_by(child))
    two_owners = a_config_map("shared").owned_by(old["Background"]).owned_by(old["Orphan"])
    two_owners["metadata"]["ownerReferences"][0]["controller"] = False
    shared = await cluster.create(two_owners)
    await cluster.clock.sleep(3)
    await cluster.delete(old["Background"], propagation_policy="Background")

    async def has_one_owner() -> bool:
        return len((await cluster.read(shared))["metadata"]["ownerReferences"]) == 1

    await until(cluster, has_one_owner)
    for policy in ("Foreground", "Orphan"):
        await cluster.delete(old[policy], propagation_policy=policy)
    for obj in old.values():
        await until_gone(cluster, obj)
    await until_gone(cluster, a_config_map("background-grandchild-0"))
    ghost = {**old["Background"], "apiVersion": "v1", "kind": "ConfigMap"}
    await cluster.create(a_config_map("late").owned_by(ghost))
    await until_gone(cluster, a_config_map("late"))


async def charged_and_given_back(cluster: Cluster) -> None:
    hard = {"pods": "10", "configmaps": "20", "requests.cpu": "4"}
    metadata = {"name": "q", "namespace": "default"}
    quota: Object = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}}
    await cluster.create(a_pod("old").requests(cpu="500m"))
    await cluster.create(quota, RESOURCE_QUOTAS)

    async def until_used(**used: str) -> None:
        wanted = {"pods": "0", "configmaps": "0", "requests.cpu": "0", **used}
        await until_status(cluster, quota, RESOURCE_QUOTAS, used=wanted)

    await until_used(**{"pods": "1", "requests.cpu": "500m"})
    for i in range(4):
        await cluster.create(a_pod(f"p{i}").requests(cpu="250m"))
        await cluster.create(a_config_map(f"c{i}"))
    for i in range(3):
        await cluster.delete(a_pod(f"p{i}"), grace_period_seconds=0)
    await until_used(**{"pods": "2", "requests.cpu": "750m", "configmaps": "4"})
    await cluster.patch(quota, {"spec": {"hard": {"services": "3", "pods": None}}}, RESOURCE_QUOTAS)
    await cluster.create(a_service("web"))


def a_budget(**spec: Any) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "budget", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }


async def kept_by_a_budget(cluster: Cluster) -> None:
    await cluster.create(a_budget(maxUnavailable="25%"), POD_DISRUPTION_BUDGETS)
    web = await cluster.create(a_deployment("web").replicas(4))
    await until_status(cluster, web, availableReplicas=4)

    async def until_budget(**wanted: Any) -> None:
        await until_status(cluster, a_budget(), POD_DISRUPTION_BUDGETS, **wanted)

    await until_budget(currentHealthy=4, disruptionsAllowed=1)
    victim = (await cluster.list(PODS, "default"))[0]
    name = victim["metadata"]["name"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}
    await cluster.api.create(PODS, eviction, "default", name=name, subresource="eviction")
    await until_gone(cluster, victim)
    await until_budget(currentHealthy=4, disruptionsAllowed=1, disruptedPods=None)
    await cluster.patch(web, {"spec": {"replicas": 8}})
    await until_budget(currentHealthy=8, disruptionsAllowed=2)
    await cluster.patch(a_budget(), {"spec": {"maxUnavailable": None, "minAvailable": 8}}, POD_DISRUPTION_BUDGETS)


def a_role(name: str, *resources: str, **labels: str) -> Object:
    rules = [{"apiGroups": [""], "resources": [one], "verbs": ["get"]} for one in resources]
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}


async def summed_roles(cluster: Cluster) -> None:
    selectors = [{"matchLabels": {"team": "x"}}, {"matchLabels": {"team": "y"}}]
    await cluster.create({**a_role("sum"), "aggregationRule": {"clusterRoleSelectors": selectors}}, CLUSTER_ROLES)
    for name, team in (("a", "x"), ("b", "y"), ("c", "z"), ("d", "x")):
        await cluster.create(a_role(name, f"{name}s", "pods", team=team), CLUSTER_ROLES)
    await cluster.clock.sleep(3)
    await cluster.delete(a_role("a"), CLUSTER_ROLES)
    await cluster.patch(a_role("c"), {"metadata": {"labels": {"team": "y"}}}, CLUSTER_ROLES)
    spoilt = a_role("", "secrets")["rules"]
    await cluster.patch(a_role("sum"), {"rules": spoilt}, CLUSTER_ROLES)


def without_what_was_decided(resource: str, obj: Object) -> Object:
    """What an autoscaler last decided, and when, is told after the deed: who dies between the two cannot tell it."""
    if not resource.startswith("horizontalpodautoscalers"):
        return obj
    told = ("lastScaleTime", "desiredReplicas")
    return {**obj, "status": {k: v for k, v in obj.get("status", {}).items() if k not in told}}


async def between_limits(cluster: Cluster) -> None:
    """Nobody serves metrics: what remains is to keep within the limits, and to say why no more is done."""
    web = await cluster.create(a_deployment("web").replicas(1))
    await until_status(cluster, web, availableReplicas=1)
    hpa = await cluster.create(an_autoscaler(minReplicas=3, maxReplicas=5), HORIZONTAL_POD_AUTOSCALERS)
    await until_status(cluster, web, availableReplicas=3)
    await cluster.patch(web, {"spec": {"replicas": 9}})
    await until_status(cluster, web, availableReplicas=5)
    await cluster.patch(hpa, {"spec": {"maxReplicas": 4}}, HORIZONTAL_POD_AUTOSCALERS)

    async def has_followed() -> bool:
        return bool((await cluster.read(web))["spec"]["replicas"] == 4)

    await until(cluster, has_followed)


DEPLOYED = ("deployment-controller", "replicaset-controller", "pods")

SCENARIOS = (
    Scenario("serviceaccount-controller", processes("serviceaccount-controller"), accounts_for_all),
    Scenario(
        "root-ca-certificate-publisher-controller",
        processes("root-ca-certificate-publisher-controller"),
        certificates_for_all,
    ),
    Scenario(
        "namespace-controller",
        processes("namespace-controller", "serviceaccount-controller", "pods"),
        furnished_and_gone,
    ),
    Scenario("garbage-collector-controller", processes("garbage-collector-controller"), families),
    Scenario("resourcequota-controller", processes("resourcequota-controller"), charged_and_given_back),
    Scenario("disruption-controller", processes("disruption-controller", *DEPLOYED), kept_by_a_budget),
    Scenario("clusterrole-aggregation-controller", processes("clusterrole-aggregation-controller"), summed_roles),
    Scenario(
        "horizontal-pod-autoscaler-controller",
        processes("horizontal-pod-autoscaler-controller", *DEPLOYED),
        between_limits,
        reduce=without_what_was_decided,
    ),
)
