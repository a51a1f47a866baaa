"""Builders of autoscalers and of what metrics say."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from controllers.horizontal_pod_autoscaler.model import AutoscalerSpec
from controllers.horizontal_pod_autoscaler.replicas import Sample
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.workloads import NOW

CPU_AT_HALF = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}


def an_autoscaler(name: str = "hpa", **spec: Any) -> Object:
    """Of Deployment `web`, between 1 and 10 pods, at half of their CPU requests."""
    usual = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": 1,
        "maxReplicas": 10,
        "metrics": [{"type": "Resource", "resource": CPU_AT_HALF}],
    }
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**usual, **spec},
    }


def a_spec(**spec: Any) -> AutoscalerSpec:
    return AutoscalerSpec.of(an_autoscaler(**spec))


def rules(*policies: tuple[str, int, int], window: int | None = 0, select: str = "Max") -> Object:
    """Each policy: type, value, period in seconds."""
    listed = [{"type": kind, "value": value, "periodSeconds": period} for kind, value, period in policies]
    return {"stabilizationWindowSeconds": window, "selectPolicy": select, "policies": listed}


def samples(**values: int) -> dict[str, Sample]:
    """Thousandths by pod, each the average of the last 30 seconds."""
    return {pod: Sample(value, NOW - timedelta(seconds=1), 30) for pod, value in values.items()}
