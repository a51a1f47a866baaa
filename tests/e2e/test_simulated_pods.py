"""What annotations say of a pod's containers, as people see it: real processes, the real kubectl."""

from __future__ import annotations

import json

import pytest

from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl

pytestmark = pytest.mark.e2e


def a_pod(name: str, annotations: dict[str, str], **container: object) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"containers": [{"name": "app", "image": "nginx", **container}]},
        }
    )


def a_probe(path: str) -> dict[str, object]:
    return {"httpGet": {"path": path, "port": 80}, "periodSeconds": 1, "failureThreshold": 2}


def test_a_pod_becomes_unready_and_is_ready_again(kubectl: Kubectl) -> None:
    """kubectl wait sees both, and describe shows why."""
    pod = a_pod("web", {"kubeloop.io/readiness": "fail@2s,pass@6s"}, readinessProbe=a_probe("/ready"))
    kubectl("apply -f -", stdin=pod)
    kubectl("wait pod/web --for=condition=Ready --timeout=30s")
    kubectl("wait pod/web --for=condition=Ready=false --timeout=30s")
    kubectl("wait pod/web --for=condition=Ready --timeout=30s")
    assert "Readiness probe failed: HTTP probe failed with statuscode: 500" in kubectl("describe pod web")


def test_a_dead_container_is_restarted(kubectl: Kubectl) -> None:
    """Its restarts are counted, and the events tell what happened."""
    kubectl("apply -f -", stdin=a_pod("dead", {"kubeloop.io/liveness": "fail@2s"}, livenessProbe=a_probe("/alive")))
    eventually(lambda: "0" != restarts(kubectl, "dead"), "it is restarted")
    described = kubectl("describe pod dead")
    assert "Liveness probe failed: HTTP probe failed with statuscode: 500" in described
    assert "Container app failed liveness probe, will be restarted" in described


def restarts(kubectl: Kubectl, name: str) -> str:
    return kubectl(f"get pod {name} -o jsonpath={{.status.containerStatuses[0].restartCount}}") or "0"
