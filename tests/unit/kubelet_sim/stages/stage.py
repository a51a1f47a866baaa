"""Stages for tests, in words."""

from __future__ import annotations

from typing import Any

from kubelet_sim.stages.model import Stage
from kubelet_sim.stages.reading import read
from kubeloop.apimachinery.meta import Object


def a_document(name: str = "s", following: Object | None = None, **spec: Any) -> Object:
    """Of pods, and for all of them, where nothing else is said."""
    said = {"resourceRef": {"apiGroup": "v1", "kind": "Pod"}, "selector": {}, "next": following or {}, **spec}
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": said}


def a_stage(name: str = "s", following: Object | None = None, **spec: Any) -> Stage:
    stage = read(a_document(name, following, **spec))
    assert stage is not None
    return stage


def where(key: str, operator: str, *values: str) -> Object:
    """A selector of one requirement."""
    requirement: Object = {"key": key, "operator": operator}
    return {"matchExpressions": [{**requirement, "values": list(values)} if values else requirement]}
