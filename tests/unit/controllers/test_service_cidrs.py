"""Ranges of cluster IPs: ready when they come, and kept while an address depends on them."""

import pytest

from controllers import service_cidrs
from controllers.service_cidrs import DELETION_GRACE_SECONDS, FINALIZER
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, finalizers_of, name_of
from kubeloop.apimachinery.resource import IP_ADDRESSES, SERVICE_CIDRS, SERVICES
from kubeloop.testing.builders import a_service
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster

PROCESSES = {"ranges": a_loop(service_cidrs.add_to)}


def a_range(name: str, *cidrs: str) -> Object:
    spec = {"cidrs": list(cidrs)}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": name}, "spec": spec}


def a_service_at(name: str, ip: str) -> Object:
    service = a_service(name)
    service["spec"]["clusterIP"] = ip
    return service


async def ready_of(cluster: Cluster, name: str) -> tuple[str, str, str]:
    found = get_condition(conditions_of(await cluster.api.get(SERVICE_CIDRS, name)), "Ready") or {}
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


async def is_gone(cluster: Cluster, name: str) -> bool:
    try:
        await cluster.api.get(SERVICE_CIDRS, name)
    except NotFound:
        return True
    return False


def test_a_range_is_protected_and_ready() -> None:
    """Those of users and the server's own alike."""

    async def check(cluster: Cluster) -> list[tuple[object, object]]:
        await cluster.create(a_range("more", "10.100.0.0/24"))
        await cluster.settled()
        found = await cluster.list(SERVICE_CIDRS)
        return [(finalizers_of(obj), await ready_of(cluster, name_of(obj))) for obj in found]

    ready = ("True", "", "Kubernetes Service CIDR is ready")
    assert [([FINALIZER], ready)] * 2 == run_cluster(check, processes=PROCESSES)


def test_a_range_nothing_depends_on_goes_after_a_grace() -> None:
    """Ten seconds, in which no server gives out an address of it."""

    async def check(cluster: Cluster) -> tuple[bool, bool]:
        await cluster.create(a_range("more", "10.100.0.0/24"))
        await cluster.settled()
        await cluster.api.delete(SERVICE_CIDRS, "more")
        await cluster.clock.sleep(DELETION_GRACE_SECONDS - 2)
        before = await is_gone(cluster, "more")
        await cluster.clock.sleep(4)
        return before, await is_gone(cluster, "more")

    assert (False, True) == run_cluster(check, processes=PROCESSES)


@pytest.mark.parametrize(
    "rescue",
    [a_range("other", "10.100.0.0/16"), None],
    ids=["another range holds it too", "the Service goes"],
)
def test_a_range_in_use_waits(rescue: Object | None) -> None:
    """It says why, gives out nothing more, and goes when no address depends on it any longer."""

    async def check(cluster: Cluster) -> tuple[tuple[str, str, str], bool, bool]:
        await cluster.create(a_range("more", "10.100.0.0/24"))
        service = await cluster.create(a_service_at("a", "10.100.0.7"))
        await cluster.settled()
        await cluster.api.delete(SERVICE_CIDRS, "more")
        await cluster.clock.sleep(60)
        told, waited = await ready_of(cluster, "more"), not await is_gone(cluster, "more")
        await (cluster.create(rescue) if rescue else cluster.delete(service))
        await cluster.clock.sleep(DELETION_GRACE_SECONDS + 1)
        return told, waited, await is_gone(cluster, "more")

    message = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
    assert (("False", "Terminating", message), True, True) == run_cluster(check, processes=PROCESSES)


def test_addresses_come_from_every_ready_range() -> None:
    """When the first range is full the next one is used; none of a range that is being deleted is given out."""

    async def check(cluster: Cluster) -> tuple[str, str]:
        await cluster.create(a_range("more", "10.100.0.0/30"))
        await cluster.settled()
        for name in ("a", "b"):
            await cluster.create(a_service_at(name, f"10.100.0.{1 if name == 'a' else 2}"))
        taken = [name_of(obj) for obj in await cluster.list(IP_ADDRESSES)]
        await cluster.api.delete(SERVICE_CIDRS, "more")
        await cluster.api.delete(SERVICES, "a", "default")
        with pytest.raises(Exception, match="does not match the current range") as refused:
            await cluster.create(a_service_at("c", "10.100.0.1"))
        return ",".join(taken), str(refused.value).rpartition(": ")[2]

    expected = ("10.100.0.1,10.100.0.2,10.96.0.1", "the provided network does not match the current range")
    assert expected == run_cluster(check, processes=PROCESSES)


def test_addresses_of_others_hold_nothing() -> None:
    """Only those the server gave out count."""

    async def check(cluster: Cluster) -> bool:
        parent = {"group": "gateway.networking.k8s.io", "resource": "gateways", "name": "g", "namespace": "default"}
        await cluster.create(a_range("more", "10.100.0.0/24"))
        address = {"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": {"name": "10.100.0.9"}}
        await cluster.create({**address, "spec": {"parentRef": parent}})
        await cluster.settled()
        await cluster.api.delete(SERVICE_CIDRS, "more")
        await cluster.clock.sleep(DELETION_GRACE_SECONDS + 1)
        return await is_gone(cluster, "more")

    assert run_cluster(check, processes=PROCESSES)
