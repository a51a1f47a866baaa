"""What pods are called, and the files that a kubelet writes for that."""

from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.naming import hostname, hosts_file, problem, resolv_conf
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import EVENTS
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.played_pod import a_pod
from tests.unit.kubelet_sim.test_nodes import pod_on, ready_nodes, run_nodes

FQDN = {"hostname": "web", "subdomain": "shop", "setHostnameAsFQDN": True}


def a_pod_at(ip: str = "10.0.0.7", **spec: Any) -> Object:
    pod = a_pod(**spec)
    pod["status"]["podIPs"] = [{"ip": ip}]
    return pod


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({}, "p"),
        ({"hostname": "web", "subdomain": "shop"}, "web"),
        (FQDN, "web.shop.default.svc.cluster.local"),
        ({"hostname": "web", "setHostnameAsFQDN": True}, "web"),
        ({"hostnameOverride": "my.own.name", "subdomain": "shop"}, "my.own.name"),
        ({"hostNetwork": True, "hostname": "web"}, "node-0"),
        ({"hostnameOverride": "x" * 62 + ".y"}, "x" * 62),
    ],
)
def test_a_pod_is_called_as_its_spec_says(spec: Object, name: str) -> None:
    """By its own name where it says nothing; on the host's network by its node's."""
    assert name == hostname(a_pod(**spec))


def test_hosts_are_listed() -> None:
    """With the pod's domain, and with what aliases add."""
    aliases = [{"ip": "1.2.3.4", "hostnames": ["foo", "bar"]}]

    lines = hosts_file(a_pod_at(hostname="web", subdomain="shop", hostAliases=aliases)).splitlines()

    assert "# Kubernetes-managed hosts file." == lines[0]
    assert [
        "10.0.0.7\tweb.shop.default.svc.cluster.local\tweb",
        "",
        "# Entries added by HostAliases.",
        "1.2.3.4\tfoo\tbar",
    ] == lines[-4:]
    assert hosts_file(a_pod_at()).endswith("fe00::2\tip6-allrouters\n10.0.0.7\tp\n")
    assert hosts_file(a_pod_at(hostNetwork=True)).startswith("# Kubernetes-managed hosts file (host network).\n")


CONFIG = {
    "nameservers": ["9.9.9.9"],
    "searches": ["x.y"],
    "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
}
CLUSTER = "search default.svc.cluster.local svc.cluster.local cluster.local"


@pytest.mark.parametrize(
    ("spec", "lines"),
    [
        ({}, [CLUSTER, "nameserver 10.96.0.10", "options ndots:5"]),
        ({"dnsPolicy": "None", "dnsConfig": CONFIG}, ["search x.y", "nameserver 9.9.9.9", "options ndots:2 edns0"]),
        (
            {"dnsPolicy": "ClusterFirst", "dnsConfig": CONFIG},
            [f"{CLUSTER} x.y", "nameserver 10.96.0.10", "nameserver 9.9.9.9", "options ndots:2 edns0"],
        ),
        ({"dnsPolicy": "Default"}, ["nameserver 10.96.0.10"]),
        ({"dnsPolicy": "ClusterFirst", "hostNetwork": True}, ["nameserver 10.96.0.10"]),
        (
            {"dnsPolicy": "ClusterFirstWithHostNet", "hostNetwork": True},
            [CLUSTER, "nameserver 10.96.0.10", "options ndots:5"],
        ),
    ],
)
def test_who_is_asked_for_names(spec: Object, lines: list[str]) -> None:
    """As the policy says, with what the pod's own configuration adds."""
    assert lines == resolv_conf(a_pod(**spec)).splitlines()


def test_a_name_that_is_too_long_keeps_a_pod_from_having_a_sandbox() -> None:
    """It is told once, and the pod waits without an address."""
    long = {**FQDN, "subdomain": "s" * 40}

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        pod = await cluster.create(pod_on("node-0", **long))
        await cluster.clock.sleep(30)

        status = (await cluster.read(pod))["status"]
        waiting = status["containerStatuses"][0]["state"]["waiting"]["reason"]
        assert ("Pending", "ContainerCreating", None) == (status["phase"], waiting, status.get("podIP"))
        told = [one["message"] for one in await cluster.list(EVENTS) if one["reason"] == "FailedCreatePodSandBox"]
        assert [f"Failed to create pod sandbox: {problem(pod)}"] == told
        assert "is too long (64 characters is the max, 70 characters requested)" in told[0]

    run_nodes(check, nodes=1)


def test_names_fit_without_the_domain() -> None:
    """It is the whole name that counts, where it is asked for."""
    assert "" == problem(a_pod(**FQDN)) == problem(a_pod(**{**FQDN, "subdomain": "s" * 40, "setHostnameAsFQDN": False}))
