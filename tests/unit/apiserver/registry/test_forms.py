"""The forms of objects that admission plugins show and take back."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.registry.catalog import Catalog
from apiserver.registry.forms import CatalogForms
from apiserver.resources.catalog import KINDS
from apiserver.schema.codec import DecodeError
from apiserver.schema.definitions import Schema
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, PODS, Resource

FORMS = CatalogForms(Catalog.of(KINDS), Schema.load())
AUTOSCALERS_V1 = Resource("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
STORED: Object = {
    "metadata": {"name": "h"},
    "spec": {
        "maxReplicas": 3,
        "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
        "metrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
            }
        ],
    },
}


def test_an_object_is_shown_in_a_version_and_read_back() -> None:
    """autoscaling/v1 shows a v2 object in its own way; what is read of that is the v2 object again."""
    shown = asyncio.run(FORMS.shown(STORED, AUTOSCALERS_V1, AUTOSCALERS_V1))
    read = asyncio.run(FORMS.read(shown, AUTOSCALERS_V1, AUTOSCALERS_V1))

    assert ("autoscaling/v1", 70) == (shown["apiVersion"], shown["spec"]["targetCPUUtilizationPercentage"])
    assert STORED["spec"]["metrics"] == read["spec"]["metrics"]
    assert "kind" not in read


def test_what_a_kind_does_not_know_is_refused() -> None:
    """A changed object is decoded strictly."""
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {}, "spec": {"containers": [], "nope": 1}}

    with pytest.raises(DecodeError, match=r"strict decoding error: unknown field .spec\.nope."):
        asyncio.run(FORMS.read(pod, PODS, PODS))


def test_equivalent_resources_show_the_same_objects() -> None:
    """Both versions of an autoscaler are one another's equivalents; a Scale is what deployments/scale takes."""
    both = {AUTOSCALERS_V1, HORIZONTAL_POD_AUTOSCALERS}

    assert both == set(FORMS.equivalents(AUTOSCALERS_V1, "")) == set(FORMS.equivalents(AUTOSCALERS_V1, "status"))
    assert [DEPLOYMENTS] == FORMS.equivalents(DEPLOYMENTS, "scale")
    scale = FORMS.taken_by(DEPLOYMENTS, "scale")
    assert ("autoscaling", "v1", "Scale") == (scale.group, scale.version, scale.kind)
    assert DEPLOYMENTS == FORMS.taken_by(DEPLOYMENTS, "status")
