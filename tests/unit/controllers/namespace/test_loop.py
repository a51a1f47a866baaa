"""Namespaces that go, and what new ones get."""

from typing import Any

from controllers import namespace, root_ca_publisher, serviceaccount
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, uid_of
from kubeloop.apimachinery.resource import API_SERVICES, CONFIG_MAPS, NAMESPACES, PODS, SERVICE_ACCOUNTS
from kubeloop.testing.builders import a_config_map, a_deployment, a_namespace, a_pod
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.controllers import nodes

LOOPS = {
    "namespace": a_loop(namespace.add_to),
    "serviceaccount": a_loop(serviceaccount.add_to),
    "root-ca": a_loop(root_ca_publisher.add_to),
    "nodes": a_loop(nodes.add_to),
}
ROOT_CA = "kube-root-ca.crt"


async def is_gone(cluster: Cluster) -> bool:
    try:
        await cluster.api.get(NAMESPACES, "going")
    except NotFound:
        return True
    return False


async def a_furnished_namespace(cluster: Cluster) -> None:
    await cluster.create(a_namespace("going"))
    await cluster.eventually(lambda: found(cluster, SERVICE_ACCOUNTS, "default"))
    await cluster.eventually(lambda: found(cluster, CONFIG_MAPS, ROOT_CA))


async def found(cluster: Cluster, resource: Any, name: str) -> Object | None:
    try:
        return await cluster.api.get(resource, name, "going")
    except NotFound:
        return None


def test_a_new_namespace_is_furnished() -> None:
    """A default service account and the CA bundle come by themselves, and come back when deleted or spoilt."""

    async def check(cluster: Cluster) -> tuple[bool, Object]:
        await a_furnished_namespace(cluster)
        before = await cluster.api.get(SERVICE_ACCOUNTS, "default", "going")
        await cluster.api.delete(SERVICE_ACCOUNTS, "default", "going")
        await cluster.api.patch(CONFIG_MAPS, ROOT_CA, {"data": {"ca.crt": "x", "more": "y"}}, "going")
        await cluster.settled()
        after = await cluster.api.get(SERVICE_ACCOUNTS, "default", "going")
        return uid_of(before) != uid_of(after), (await cluster.api.get(CONFIG_MAPS, ROOT_CA, "going"))["data"]

    is_new, data = run_cluster(check, processes=LOOPS)

    assert (True, {"ca.crt": root_ca_publisher.PLACEHOLDER}) == (is_new, data)


def test_a_namespace_waits_while_an_aggregated_api_cannot_be_asked() -> None:
    """Nobody can tell what is left in it. What is known is deleted all the same; it goes when the APIService went."""
    spec = {
        "group": "fruit.example.com",
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 1,
        "service": {"namespace": "default", "name": "nowhere"},
    }
    api_service = {"metadata": {"name": "v1.fruit.example.com"}, "spec": spec}

    async def failure(cluster: Cluster) -> str:
        going = await cluster.api.get(NAMESPACES, "going")
        condition = get_condition(conditions_of(going), "NamespaceDeletionDiscoveryFailure") or {}
        return str(condition.get("message") or "")

    async def check(cluster: Cluster) -> str:
        await a_furnished_namespace(cluster)
        await cluster.create(api_service, API_SERVICES)
        await cluster.clock.sleep(1)
        await cluster.api.delete(NAMESPACES, "going")
        message = await cluster.eventually(lambda: failure(cluster))
        await cluster.eventually(lambda: is_empty(cluster))
        await cluster.clock.sleep(120)
        assert not await is_gone(cluster)
        await cluster.api.delete(API_SERVICES, "v1.fruit.example.com")
        await cluster.eventually(lambda: is_gone(cluster), within_seconds=600)
        return message

    async def is_empty(cluster: Cluster) -> bool:
        return not await cluster.list(CONFIG_MAPS, "going")

    assert run_cluster(check, processes=LOOPS) == (
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
        "fruit.example.com/v1: stale GroupVersion discovery: fruit.example.com/v1"
    )


def test_a_deleted_namespace_is_emptied_and_goes() -> None:
    """With everything in it, within seconds."""

    async def check(cluster: Cluster) -> float:
        await a_furnished_namespace(cluster)
        await cluster.create(a_pod("p").namespace("going").on("node-0"))
        await cluster.create(a_deployment("web").namespace("going"))
        await cluster.settled()
        began = cluster.clock.monotonic()
        await cluster.api.delete(NAMESPACES, "going")
        await cluster.eventually(lambda: is_gone(cluster))
        return cluster.clock.monotonic() - began

    assert run_cluster(check, processes=LOOPS) <= 5


def test_conditions_say_what_holds_a_namespace() -> None:
    """Kinds and finalizers of what is left; it goes when that goes."""

    async def check(cluster: Cluster) -> dict[str, str]:
        await a_furnished_namespace(cluster)
        held = await cluster.create(a_config_map("held").namespace("going").finalizers("example.com/hold"))
        await cluster.api.delete(NAMESPACES, "going")
        await cluster.clock.sleep(10)
        conditions = (await cluster.api.get(NAMESPACES, "going"))["status"]["conditions"]
        await cluster.patch(held, {"metadata": {"finalizers": None}})
        await cluster.eventually(lambda: is_gone(cluster))
        return {c["type"]: c["message"] for c in conditions if c["status"] == "True"}

    assert {
        "NamespaceContentRemaining": "Some resources are remaining: configmaps. has 1 resource instances",
        "NamespaceFinalizersRemaining": (
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"
        ),
    } == run_cluster(check, processes=LOOPS)


def test_pods_go_first() -> None:
    """While a pod is held, nothing else is touched."""

    async def check(cluster: Cluster) -> tuple[bool, bool]:
        await a_furnished_namespace(cluster)
        await cluster.create(a_config_map("needed").namespace("going"))
        pod = await cluster.create(a_pod("p").namespace("going").finalizers("example.com/hold"))
        await cluster.api.delete(NAMESPACES, "going")
        await cluster.clock.sleep(60)
        is_kept = await found(cluster, CONFIG_MAPS, "needed") is not None
        await cluster.patch(pod, {"metadata": {"finalizers": None}}, PODS)
        await cluster.eventually(lambda: is_gone(cluster))
        return is_kept, await is_gone(cluster)

    assert (True, True) == run_cluster(check, processes=LOOPS)
