"""Cluster IPs: an IPAddress each, given out once, given back, and mended where a write got stuck half way."""

import argparse
import random

import pytest

from apiserver.flags import parser
from kubeloop.apimachinery.errors import Invalid, NotFound
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import EVENTS, IP_ADDRESSES, SERVICE_CIDRS, SERVICES
from kubeloop.apimachinery.service_addresses import FAMILY_LABEL, MANAGED_BY_LABEL, MANAGER, address_range
from kubeloop.testing.builders import a_service
from kubeloop.testing.cluster import Cluster, run_cluster
from tests.testkit.exchange import Ask, exchange
from tests.testkit.kinds import KindOnTrial

SERVICES_PATH = "/api/v1/namespaces/default/services"
ADDRESSES_PATH = "/apis/networking.k8s.io/v1/ipaddresses"
DUAL = ("10.96.0.0/16", "fd00::/112")


def body(name: str, **spec: object) -> Object:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}, **spec}}


def an_address(ip: str, **parent: str) -> Object:
    labels = {FAMILY_LABEL: "IPv4", MANAGED_BY_LABEL: MANAGER}
    ref = {"group": "", "resource": "services", "namespace": "default", **parent}
    meta = {"name": ip, "labels": labels}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": meta, "spec": {"parentRef": ref}}


async def addresses(cluster: Cluster) -> dict[str, str]:
    """Of all but the Service `kubernetes`: address -> the Service it is of."""
    found = {name_of(obj): obj["spec"]["parentRef"]["name"] for obj in await cluster.list(IP_ADDRESSES)}
    return {ip: name for ip, name in found.items() if name != "kubernetes"}


async def told(cluster: Cluster) -> list[tuple[str, str]]:
    return [(event["reason"], event["message"]) for event in await cluster.list(EVENTS)]


def test_every_address_of_the_dynamic_part_comes_before_the_static_one() -> None:
    """A range is given out completely: all but the network's and the broadcast address, the lowest ones last."""
    found = address_range("10.0.0.0/24")
    assert found is not None

    given = list(found.candidates(random.Random(1)))

    assert [f"10.0.0.{n}" for n in range(1, 255)] == sorted(given, key=lambda ip: int(ip.rpartition(".")[2]))
    assert {f"10.0.0.{n}" for n in range(1, 17)} == set(given[-16:])


def test_a_service_has_its_address_as_an_object() -> None:
    """Named as the address, labelled, and naming the Service; both go together."""
    created, address, _, gone = exchange(
        Ask("POST", SERVICES_PATH, body("a", clusterIP="10.96.7.7")),
        Ask("GET", f"{ADDRESSES_PATH}/10.96.7.7"),
        Ask("DELETE", f"{SERVICES_PATH}/a"),
        Ask("GET", f"{ADDRESSES_PATH}/10.96.7.7"),
    )

    assert 201 == created.status
    assert {FAMILY_LABEL: "IPv4", MANAGED_BY_LABEL: MANAGER} == address.body["metadata"]["labels"]
    assert {"resource": "services", "namespace": "default", "name": "a"} == address.body["spec"]["parentRef"]
    assert 404 == gone.status


def test_the_endpoints_of_a_service_go_with_it() -> None:
    """At once, and without a loop: the next Service of that name is not reached where this one was."""
    endpoints = "/api/v1/namespaces/default/endpoints"
    answers = exchange(
        Ask("POST", SERVICES_PATH, body("a")),
        Ask("POST", endpoints, {"metadata": {"name": "a"}}),
        Ask("POST", endpoints, {"metadata": {"name": "b"}}),
        Ask("DELETE", f"{SERVICES_PATH}/a"),
        Ask("GET", endpoints),
    )

    assert ["b"] == [name_of(obj) for obj in answers[-1].body["items"]]


def test_a_service_that_is_refused_leaves_nothing_behind() -> None:
    """Neither one that is invalid, nor one whose name is taken, nor a dry run."""
    answers = exchange(
        Ask("POST", SERVICES_PATH, body("a", clusterIP="10.96.7.7")),
        Ask("POST", SERVICES_PATH, body("a")),
        Ask("POST", SERVICES_PATH, body("b", sessionAffinity="Sometimes")),
        Ask("POST", SERVICES_PATH, body("c", type="NodePort", ports=[{"port": 80, "nodePort": 80}])),
        Ask("POST", f"{SERVICES_PATH}?dryRun=All", body("d")),
        Ask("GET", ADDRESSES_PATH),
    )

    assert [201, 409, 422, 422, 201] == [answer.status for answer in answers[:-1]]
    assert "10.96.0.0" == answers[4].body["spec"]["clusterIP"]
    assert ["10.96.0.1", "10.96.7.7"] == [name_of(obj) for obj in answers[-1].body["items"]]


def test_a_service_that_becomes_an_alias_gives_its_address_back() -> None:
    """And takes another one when it becomes a plain Service again."""
    alias = {"type": "ExternalName", "externalName": "a.example.com", "clusterIP": None, "clusterIPs": None}
    answers = exchange(
        Ask("POST", SERVICES_PATH, body("a", clusterIP="10.96.7.7")),
        Ask("PATCH", f"{SERVICES_PATH}/a", {"spec": alias}),
        Ask("GET", ADDRESSES_PATH),
        Ask("PATCH", f"{SERVICES_PATH}/a", {"spec": {"type": "ClusterIP", "externalName": None}}),
        Ask("GET", ADDRESSES_PATH),
    )

    ip = answers[3].body["spec"]["clusterIP"]
    assert ["10.96.0.1"] == [name_of(obj) for obj in answers[2].body["items"]]
    assert {"10.96.0.1", ip} == {name_of(obj) for obj in answers[4].body["items"]}


def test_a_full_range_says_so() -> None:
    """Six addresses, one of them the server's own."""
    answers = exchange(*(Ask("POST", SERVICES_PATH, body(f"s{n}")) for n in range(6)), service_ranges=("10.0.0.0/29",))

    reason = 'Internal error occurred: failed to allocate a serviceIP for Service "s5": range is full'
    assert [201] * 5 + [500] == [answer.status for answer in answers]
    assert reason == answers[-1].message


def test_two_ranges_make_dual_stack_services() -> None:
    """Who asks for both families gets an address of each; who then asks for one gives the second back."""
    answers = exchange(
        Ask("POST", SERVICES_PATH, body("one")),
        Ask("POST", SERVICES_PATH, body("two", ipFamilyPolicy="RequireDualStack", ipFamilies=["IPv6"])),
        Ask("PATCH", f"{SERVICES_PATH}/one", {"spec": {"ipFamilyPolicy": "PreferDualStack"}}),
        Ask(
            "PATCH",
            f"{SERVICES_PATH}/two",
            {"spec": {"ipFamilyPolicy": "SingleStack", "ipFamilies": None, "clusterIPs": None}},
        ),
        Ask("GET", ADDRESSES_PATH),
        service_ranges=DUAL,
    )

    one, two, both, single, listed = (answer.body for answer in answers)
    assert ["IPv4"] == one["spec"]["ipFamilies"]
    assert ["IPv6", "IPv4"] == two["spec"]["ipFamilies"]
    assert [ip.startswith("fd00::") for ip in two["spec"]["clusterIPs"]] == [True, False]
    assert (["IPv4", "IPv6"], one["spec"]["clusterIP"]) == (both["spec"]["ipFamilies"], both["spec"]["clusterIPs"][0])
    assert two["spec"]["clusterIPs"][:1] == single["spec"]["clusterIPs"]
    expected = {"10.96.0.1", *both["spec"]["clusterIPs"], *single["spec"]["clusterIPs"]}
    assert expected == {name_of(obj) for obj in listed["items"]}


def test_one_range_refuses_the_other_family() -> None:
    """In the words for a cluster that has it not."""
    kind = KindOnTrial("v1", "Service")

    with pytest.raises(Invalid, match="this cluster is not configured for dual-stack services"):
        kind.created(body("a", ipFamilyPolicy="RequireDualStack"))


def test_the_default_range_comes_again() -> None:
    """Who deletes it on a cluster without loops gets it back."""

    async def check(cluster: Cluster) -> Object:
        await cluster.api.delete(SERVICE_CIDRS, "kubernetes")
        await cluster.clock.sleep(11)
        return await cluster.api.get(SERVICE_CIDRS, "kubernetes")

    found = run_cluster(check)

    assert ["10.96.0.0/16"] == found["spec"]["cidrs"]
    assert ["True"] == [condition["status"] for condition in found["status"]["conditions"]]


def test_an_address_without_its_service_is_freed_after_a_minute() -> None:
    """As a server leaves it that dies between the two writes; until then the Service may still come."""

    async def check(cluster: Cluster) -> tuple[dict[str, str], dict[str, str], list[tuple[str, str]]]:
        await cluster.create(an_address("10.96.9.9", name="lost"))
        await cluster.clock.sleep(50)
        before = await addresses(cluster)
        await cluster.clock.sleep(15)
        return before, await addresses(cluster), await told(cluster)

    before, after, events = run_cluster(check)

    assert ({"10.96.9.9": "lost"}, {}) == (before, after)
    note = "IPAddress: 10.96.9.9 for Service default/lost appears to have leaked: cleaning up"
    assert [("IPAddressNotAllocated", note)] == events


def test_an_address_left_behind_is_found_by_the_next_server() -> None:
    """The minute counts from when it was made, not from the start."""

    async def check(cluster: Cluster) -> dict[str, str]:
        await cluster.create(an_address("10.96.9.9", name="lost"))
        await cluster.stop_server()
        await cluster.clock.sleep(100)
        await cluster.start_server()
        return await addresses(cluster)

    assert {} == run_cluster(check)


def test_an_address_that_is_missing_is_made_again() -> None:
    """Somebody deleted it, or a server of before ServiceCIDRs stored the Service."""

    async def check(cluster: Cluster) -> tuple[str, dict[str, str], list[tuple[str, str]]]:
        service = await cluster.create(a_service("a"))
        ip: str = service["spec"]["clusterIP"]
        await cluster.api.delete(IP_ADDRESSES, ip)
        await cluster.clock.sleep(1)
        return ip, await addresses(cluster), await told(cluster)

    ip, found, events = run_cluster(check)

    assert {ip: "a"} == found
    assert [("ClusterIPNotAllocated", f"Cluster IP [IPv4]: {ip} is not allocated; repairing")] == events


def test_an_address_that_lost_its_labels_is_made_again() -> None:
    """Without them nobody would count it."""

    async def check(cluster: Cluster) -> list[object]:
        service = await cluster.create(a_service("a"))
        patch = {"metadata": {"labels": {MANAGED_BY_LABEL: None}}}
        await cluster.api.patch(IP_ADDRESSES, service["spec"]["clusterIP"], patch)
        await cluster.api.patch(SERVICES, "a", {"metadata": {"labels": {"x": "y"}}}, "default")
        await cluster.clock.sleep(1)
        return [(await cluster.api.get(IP_ADDRESSES, service["spec"]["clusterIP"]))["metadata"]["labels"]]

    assert [{FAMILY_LABEL: "IPv4", MANAGED_BY_LABEL: MANAGER}] == run_cluster(check)


def test_a_service_whose_range_is_gone_is_told() -> None:
    """Once, however often it changes: only its owner can mend that."""

    async def check(cluster: Cluster) -> list[tuple[str, str]]:
        more = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "more"}}
        await cluster.create({**more, "spec": {"cidrs": ["10.100.0.0/24"]}})
        await cluster.create({**a_service("a"), "spec": {**a_service("a")["spec"], "clusterIP": "10.100.0.7"}})
        await cluster.api.delete(SERVICE_CIDRS, "more")
        for value in ("x", "y"):
            await cluster.api.patch(SERVICES, "a", {"metadata": {"labels": {"x": value}}}, "default")
            await cluster.clock.sleep(1)
        return await told(cluster)

    note = "Cluster IP [IPv4]: 10.100.0.7 is not within any configured Service CIDR; please recreate service"
    assert [("ClusterIPOutOfRange", note)] == run_cluster(check)


def test_an_address_that_names_the_wrong_service_is_freed() -> None:
    """The Service is there and has another one."""

    async def check(cluster: Cluster) -> tuple[str, dict[str, str]]:
        service = await cluster.create(a_service("a"))
        await cluster.create(an_address("10.96.9.9", name="a"))
        await cluster.clock.sleep(10)
        return service["spec"]["clusterIP"], await addresses(cluster)

    ip, found = run_cluster(check)

    assert {ip: "a"} == found


@pytest.mark.parametrize(
    "text", ["x", "10.0.0.0/16,10.1.0.0/16", "10.0.0.0/30", "fd00::/48", "10.0.0.0/16,fd00::/112,fd01::/112"]
)
def test_a_bad_range_is_refused_at_the_start(text: str) -> None:
    """One line, before anything is served."""
    with pytest.raises((SystemExit, argparse.ArgumentError)):
        parser().parse_args([f"--service-cluster-ip-range={text}"])


def test_the_address_is_gone_with_its_last_finalizer() -> None:
    """A Service that waits for a finalizer keeps its address until then."""

    async def check(cluster: Cluster) -> tuple[int, int]:
        service = {**a_service("a"), "metadata": {"name": "a", "namespace": "default", "finalizers": ["a.b/c"]}}
        await cluster.create(service)
        await cluster.api.delete(SERVICES, "a", "default")
        waiting = len(await addresses(cluster))
        await cluster.api.patch(SERVICES, "a", {"metadata": {"finalizers": None}}, "default")
        with pytest.raises(NotFound):
            await cluster.api.get(SERVICES, "a", "default")
        return waiting, len(await addresses(cluster))

    assert (1, 0) == run_cluster(check)
