"""LimitRanger: defaults filled in and noted, limits enforced in the real server's words."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from apiserver.admission.chain import CREATE, UPDATE, Attributes
from apiserver.admission.plugins.limit_ranger import LimitRanger
from kubeloop.apimachinery.errors import Forbidden
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import PODS, Resource
from tests.testkit.reader import DictReader

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")


def ranger(*limits: Object) -> LimitRanger:
    obj = {"metadata": {"name": "a", "namespace": "ns"}, "spec": {"limits": list(limits)}}
    return LimitRanger(DictReader().put("limitranges", obj))


def pod(*resources: Object, **spec: Any) -> Object:
    containers = [{"name": f"c{i}", "resources": one} for i, one in enumerate(resources)]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


DEFAULTS = {
    "type": "Container",
    "default": {"cpu": "500m", "memory": "1Gi"},
    "defaultRequest": {"cpu": "100m", "memory": "1Gi"},
}


@pytest.mark.parametrize(
    ("own", "note"),
    [
        ({}, "cpu, memory request for container c0; cpu, memory limit for container c0"),
        (
            {"requests": {"cpu": "200m"}},
            "memory request for container c0; cpu, memory limit for container c0",
        ),
        ({"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "1", "memory": "1"}}, None),
    ],
)
def test_what_is_left_out_is_filled_in_and_noted(own: Object, note: str | None) -> None:
    """An annotation says which values came from the LimitRange."""
    attributes = Attributes(CREATE, PODS, "ns", "p", pod(copy.deepcopy(own)))

    asyncio.run(ranger(DEFAULTS).admit(attributes))

    made = attributes.object or {}
    resources = made["spec"]["containers"][0]["resources"]
    expected_annotation = None if note is None else {"kubernetes.io/limit-ranger": f"LimitRanger plugin set: {note}"}
    assert {"cpu": "500m", "memory": "1Gi", **own.get("limits", {})} == resources["limits"]
    assert {"cpu": "100m", "memory": "1Gi", **own.get("requests", {})} == resources["requests"]
    assert expected_annotation == made["metadata"].get("annotations")


BOUNDS = {
    "type": "Container",
    "min": {"cpu": "100m"},
    "max": {"cpu": "1", "memory": "1Gi"},
    "maxLimitRequestRatio": {"memory": "2"},
}
POD_BOUND = {"type": "Pod", "max": {"cpu": "1500m"}}


def resources(cpu: str, memory: str, limit_cpu: str, limit_memory: str) -> Object:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": limit_cpu, "memory": limit_memory}}


@pytest.mark.parametrize(
    ("of_pod", "expected"),
    [
        (
            pod(resources("2", "1Gi", "2", "1Gi")),
            "[maximum cpu usage per Container is 1, but limit is 2, "
            "maximum cpu usage per Pod is 1500m, but limit is 2]",
        ),
        (
            pod(resources("50m", "1Gi", "1", "1Gi")),
            "minimum cpu usage per Container is 100m, but request is 50m",
        ),
        (
            pod(resources("1", "256Mi", "1", "1Gi")),
            "memory max limit to request ratio per Container is 2, but provided ratio is 4.000000",
        ),
        (
            pod(resources("1", "1Gi", "1", "1Gi"), resources("1", "1Gi", "1", "1Gi")),
            "maximum cpu usage per Pod is 1500m, but limit is 2",
        ),
        (
            pod({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1"}}),
            "[maximum memory usage per Container is 1Gi.  No limit is specified, memory max limit to request ratio "
            "per Container is 2, but no limit is specified or limit is 0]",
        ),
    ],
)
def test_what_is_out_of_bounds_is_refused(of_pod: Object, expected: str) -> None:
    """Every violation is named; several stand in brackets."""
    with pytest.raises(Forbidden) as refused:
        asyncio.run(ranger(BOUNDS, POD_BOUND).validate(Attributes(CREATE, PODS, "ns", "p", of_pod)))

    assert f'pods "p" is forbidden: {expected}' == refused.value.message


def test_updates_of_pods_are_not_limited() -> None:
    """Their resources cannot change, except through the resize subresource, which is."""
    too_much = pod(resources("2", "1Gi", "2", "1Gi"))
    plugin = ranger(BOUNDS)

    asyncio.run(plugin.validate(Attributes(UPDATE, PODS, "ns", "p", too_much, too_much)))
    with pytest.raises(Forbidden):
        asyncio.run(plugin.validate(Attributes(UPDATE, PODS, "ns", "p", too_much, too_much, subresource="resize")))


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("1Gi", "minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi"),
        ("9Gi", "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 9Gi"),
    ],
)
def test_claims_are_limited_by_what_they_request(size: str, expected: str) -> None:
    """Limits of claims are no user's input."""
    plugin = ranger({"type": "PersistentVolumeClaim", "min": {"storage": "2Gi"}, "max": {"storage": "5Gi"}})
    claim = {"metadata": {"name": "a"}, "spec": {"resources": {"requests": {"storage": size}}}}

    with pytest.raises(Forbidden) as refused:
        asyncio.run(plugin.validate(Attributes(CREATE, CLAIMS, "ns", "a", claim)))

    assert f'persistentvolumeclaims "a" is forbidden: {expected}' == refused.value.message
