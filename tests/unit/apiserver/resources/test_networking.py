"""Ingresses, network policies, endpoint slices and address ranges."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import KindOnTrial

INGRESSES = KindOnTrial("networking.k8s.io/v1", "Ingress")
INGRESS_CLASSES = KindOnTrial("networking.k8s.io/v1", "IngressClass")
POLICIES = KindOnTrial("networking.k8s.io/v1", "NetworkPolicy")
RANGES = KindOnTrial("networking.k8s.io/v1", "ServiceCIDR")
SLICES = KindOnTrial("discovery.k8s.io/v1", "EndpointSlice")

BACKEND: Object = {"service": {"name": "s", "port": {"number": 80}}}


def ingress(**path: object) -> Object:
    entry = {"path": "/", "pathType": "Prefix", "backend": BACKEND, **path}
    return {"spec": {"rules": [{"http": {"paths": [entry]}}]}}


def policy(**spec: object) -> Object:
    return {"spec": {"podSelector": {}, **spec}}


def peer(**block: object) -> Object:
    return policy(ingress=[{"from": [{"ipBlock": {"cidr": "203.0.113.0/24", **block}}]}])


PATH = "spec.rules[0].http.paths[0]"


@pytest.mark.parametrize(
    ("path", "refusals"),
    [
        ({}, []),
        ({"path": "a"}, [f'{PATH}.path: Invalid value: "a": must be an absolute path']),
        ({"path": "/a//b"}, [f"{PATH}.path: Invalid value: \"/a//b\": must not contain '//'"]),
        ({"path": "/a/.."}, [f"{PATH}.path: Invalid value: \"/a/..\": cannot end with '/..'"]),
        ({"path": "", "pathType": "ImplementationSpecific"}, []),
        ({"pathType": None}, [f"{PATH}.pathType: Required value: pathType must be specified"]),
        ({"backend": {}}, [f'{PATH}.backend: Invalid value: "": resource or service backend is required']),
        (
            {"backend": {"service": {"name": "s", "port": {"number": 80, "name": "http"}}}},
            [f'{PATH}.backend: Invalid value: "": cannot set both port name & port number'],
        ),
    ],
)
def test_paths_of_an_ingress(path: Object, refusals: list[str]) -> None:
    """A path is absolute and without detours, says how it matches, and leads somewhere."""
    actual = INGRESSES.create_errors(ingress(**path))

    assert refusals == actual


def test_an_ingress_leads_somewhere() -> None:
    """Neither rules nor a default backend is too little."""
    actual = INGRESSES.create_errors({"spec": {}})

    assert ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"] == actual


def test_the_controller_of_an_ingress_class_stays() -> None:
    """An IngressClass cannot be given to another controller."""
    old = INGRESS_CLASSES.created({"spec": {"controller": "example.com/a"}})

    actual = INGRESS_CLASSES.change_errors(old, {"spec": {"controller": "example.com/b"}})

    assert ['spec.controller: Invalid value: "example.com/b": field is immutable'] == actual


@pytest.mark.parametrize(
    ("spec", "types"),
    [({}, ["Ingress"]), ({"egress": [{}]}, ["Ingress", "Egress"]), ({"policyTypes": ["Egress"]}, ["Egress"])],
)
def test_the_types_of_a_policy_follow_its_rules(spec: Object, types: list[str]) -> None:
    """A policy is about incoming traffic, and about outgoing where it has such rules, unless it says otherwise."""
    actual = POLICIES.created(policy(**spec))["spec"]["policyTypes"]

    assert types == actual


BLOCK = "spec.ingress[0].from[0].ipBlock"


@pytest.mark.parametrize(
    ("block", "refusals"),
    [
        ({"except": ["203.0.113.128/25"]}, []),
        (
            {"except": ["203.0.113.0/24"]},
            [f'{BLOCK}.except[0]: Invalid value: "203.0.113.0/24": must be a strict subset of `cidr`'],
        ),
        (
            {"except": ["2001:db8::/64"]},
            [f'{BLOCK}.except[0]: Invalid value: "2001:db8::/64": must be a strict subset of `cidr`'],
        ),
        ({"cidr": ""}, [f"{BLOCK}.cidr: Required value"]),
    ],
)
def test_blocks_of_addresses(block: Object, refusals: list[str]) -> None:
    """What a block leaves out lies within it."""
    actual = POLICIES.create_errors(peer(**block))

    assert refusals == actual


def test_a_second_range_may_join_a_first() -> None:
    """A ServiceCIDR grows from one range to two of different families; its first stays."""
    old = RANGES.created({"spec": {"cidrs": ["203.0.113.0/24"]}})

    grown = RANGES.change_errors(old, {"spec": {"cidrs": ["203.0.113.0/24", "2001:db8::/64"]}})
    moved = RANGES.change_errors(old, {"spec": {"cidrs": ["198.51.100.0/24"]}})

    assert [] == grown
    assert ['spec.cidrs[0]: Invalid value: "198.51.100.0/24": field is immutable'] == moved


def test_labels_of_a_slice_count_as_a_change() -> None:
    """An EndpointSlice's generation rises with its labels too, for they say whose it is."""
    old = SLICES.created({"addressType": "IPv4", "endpoints": [{"addresses": ["203.0.113.1"]}]})

    actual = SLICES.changed(old, {"metadata": {"labels": {"a": "b"}}})["metadata"]["generation"]

    assert actual == 2


def test_the_address_type_of_a_slice_stays() -> None:
    """Unchanged addresses are not checked against another type; that the type changes is the mistake."""
    old = SLICES.created({"addressType": "IPv4", "endpoints": [{"addresses": ["203.0.113.1"]}]})

    actual = SLICES.change_errors(old, {"addressType": "IPv6"})

    assert ['addressType: Invalid value: "IPv6": field is immutable'] == actual


def test_an_empty_protocol_of_a_slice_is_none_of_them() -> None:
    """Only an absent protocol is TCP."""
    actual = SLICES.create_errors({"addressType": "IPv4", "ports": [{"port": 80}, {"name": "b", "protocol": ""}]})

    assert ['ports[1].protocol: Unsupported value: "": supported values: "SCTP", "TCP", "UDP"'] == actual


def test_an_address_in_the_status_of_an_ingress_may_stay() -> None:
    """Only an address that was not there is looked at."""
    old = {**INGRESSES.created({"spec": {"defaultBackend": {"resource": {"kind": "K", "name": "n"}}}})}
    old["status"] = {"loadBalancer": {"ingress": [{"ip": "01.2.3.4"}]}}
    new = {**old, "status": {"loadBalancer": {"ingress": [{"ip": "01.2.3.4"}, {"ip": "x"}]}}}
    errors: list[FieldError] = []

    INGRESSES.strategy.check_status_update(new, old, errors)

    assert ["status.loadBalancer.ingress[1].ip"] == [error.field for error in errors]
