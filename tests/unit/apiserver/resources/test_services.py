"""Services: addresses and ports are given out once, kept over changes and dropped with the type that needs them."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.errors import Invalid
from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import KindOnTrial

ENDPOINTS = KindOnTrial("v1", "Endpoints")


def services(*stored: Object) -> KindOnTrial:
    return KindOnTrial("v1", "Service", *stored, listed_as="services")


def service(**spec: object) -> Object:
    return {"spec": {"selector": {"a": "b"}, "ports": [{"port": 80}], **spec}}


def stored_service(name: str, **spec: object) -> Object:
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"type": "ClusterIP", **spec}}


def test_a_service_gets_an_address_and_its_defaults() -> None:
    """A Service with one port gets a cluster IP, in both its fields, and everything that goes without saying."""
    created = services().created(service())["spec"]

    address = created["clusterIP"]
    actual = {name: value for name, value in created.items() if name != "selector"}

    expected = {
        "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80}],
        "clusterIP": address,
        "clusterIPs": [address],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
    }
    assert expected == actual
    assert address.startswith("10.96.")


def test_an_address_is_given_out_once() -> None:
    """The address of a stored Service is refused to another."""
    kind = services()
    kind.created({**service(clusterIP="10.96.7.7"), "metadata": {"name": "first"}})

    with pytest.raises(Invalid) as refused:
        kind.created(service(clusterIP="10.96.7.7"))

    reason = (
        'spec.clusterIPs: Invalid value: ["10.96.7.7"]: failed to allocate IP 10.96.7.7: '
        "provided IP is already allocated"
    )
    assert f'Service "a" is invalid: {reason}' == refused.value.message


def test_a_node_port_is_given_out_once() -> None:
    """The node port of a stored Service is refused to another."""
    kind = services(
        stored_service("first", type="NodePort", ports=[{"port": 80, "protocol": "TCP", "nodePort": 30077}])
    )

    with pytest.raises(Invalid) as refused:
        kind.created(service(type="NodePort", ports=[{"port": 80, "nodePort": 30077}]))

    reason = "spec.ports[0].nodePort: Invalid value: 30077: provided port is already allocated"
    assert f'Service "a" is invalid: {reason}' == refused.value.message


def test_a_headless_service_has_no_address() -> None:
    """`None` is kept as it is."""
    actual = services().created(service(clusterIP="None"))["spec"]

    assert ("None", ["None"]) == (actual["clusterIP"], actual["clusterIPs"])


def test_the_address_stays_over_changes() -> None:
    """A PUT that leaves the address out keeps it."""
    kind = services()
    old = kind.created(service())

    actual = kind.changed(old, {"spec": {"clusterIP": None, "clusterIPs": None}})["spec"]

    assert old["spec"]["clusterIP"] == actual["clusterIP"]


def test_an_external_name_ends_what_only_addresses_need() -> None:
    """A Service that becomes an alias loses address, families and traffic policy."""
    kind = services()
    old = kind.created(service())
    change = {"type": "ExternalName", "externalName": "a.example.com", "clusterIP": None, "clusterIPs": None}

    actual = kind.changed(old, {"spec": change})["spec"]

    expected = {
        "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80}],
        "selector": {"a": "b"},
        "type": "ExternalName",
        "sessionAffinity": "None",
        "externalName": "a.example.com",
    }
    assert expected == actual


def test_node_ports_end_with_their_type() -> None:
    """A NodePort Service that becomes a plain one gives its node ports back."""
    kind = services()
    old = kind.created(service(type="NodePort"))

    actual = kind.changed(old, {"spec": {"type": "ClusterIP"}})["spec"]["ports"]

    assert 30000 <= old["spec"]["ports"][0]["nodePort"] <= 32767
    assert [{"protocol": "TCP", "port": 80, "targetPort": 80}] == actual


@pytest.mark.parametrize(
    ("spec", "refusals"),
    [
        ({"ports": []}, ["spec.ports: Required value"]),
        (
            {"ports": [{"port": 0}]},
            [
                "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
            ],
        ),
        (
            {"ports": [{"port": 80}, {"port": 81}]},
            ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
        ),
        (
            {"sessionAffinity": "Sometimes"},
            ['spec.sessionAffinity: Unsupported value: "Sometimes": supported values: "ClientIP", "None"'],
        ),
    ],
)
def test_bad_services_are_refused(spec: Object, refusals: list[str]) -> None:
    """Each mistake is named with its path, in the real server's words."""
    body = service(**spec)

    actual = services().create_errors(body)

    assert refusals == actual


def test_the_address_of_a_service_may_not_change() -> None:
    """Another address for the same Service is refused."""
    kind = services()
    old = kind.created(service())

    actual = kind.change_errors(old, {"spec": {"clusterIP": "10.96.1.2", "clusterIPs": ["10.96.1.2"]}})

    assert ['spec.clusterIPs[0]: Invalid value: ["10.96.1.2"]: may not change once set'] == actual


@pytest.mark.parametrize(
    ("ip", "reasons"),
    [
        ("01.2.3.4", ["must not have leading 0s"]),
        ("ff12::1", ["may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"]),
        (
            "::ffff:127.0.0.1",
            [
                "must not be an IPv4-mapped IPv6 address",
                "may not be in the loopback range (127.0.0.0/8, ::1/128)",
            ],
        ),
    ],
)
def test_an_endpoint_is_an_address_others_can_reach(ip: str, reasons: list[str]) -> None:
    """However oddly an address is spelled, what it means is looked at too."""
    actual = ENDPOINTS.create_errors({"subsets": [{"addresses": [{"ip": ip}]}]})

    assert [f'subsets[0].addresses[0].ip: Invalid value: "{ip}": {reason}' for reason in reasons] == actual
