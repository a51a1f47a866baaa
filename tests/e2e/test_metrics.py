"""A metrics server, kubectl top and an autoscaler as people run them: real processes, the real kubectl."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from kubeloop.cli.options import UpOptions
from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl, Stack

pytestmark = pytest.mark.e2e

FLAG = "--horizontal-pod-autoscaler-"
OPTIONS = UpOptions(
    nodes=2,
    metrics_server=True,
    metric_resolution="1s",
    controllers_args=(f"{FLAG}sync-period=1s", f"{FLAG}downscale-stabilization=3s"),
)


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "secure"])
def stack(request: pytest.FixtureRequest) -> Iterator[Stack]:
    with Stack(replace(OPTIONS, secure=request.param)) as running:
        yield running


def test_kubectl_top_shows_what_nodes_and_pods_use(stack: Stack) -> None:
    """So do get, with its columns, and explain; the APIService is available."""
    kubectl = stack.kubectl
    kubectl(
        "run idle --image=nginx --annotations=kubeloop.io/cpu-usage=120m --annotations=kubeloop.io/memory-usage=64Mi"
    )
    eventually(lambda: "120m" in kubectl("top pod idle --no-headers"), "its usage is known")
    assert kubectl("top pod idle --no-headers").split() == ["idle", "120m", "64Mi"]
    nodes = kubectl("top nodes --no-headers").splitlines()
    assert sorted(line.split()[:2] for line in nodes)[0][0] == "node-0"
    assert kubectl("get podmetrics idle").splitlines()[1].split() == ["idle", "120m", "64Mi", "1s"]
    eventually(lambda: "ContainerMetrics" in kubectl("explain podmetrics.containers"), "its schema is published")
    assert "True" in kubectl("get apiservice v1beta1.metrics.k8s.io --no-headers")


def test_an_autoscaler_follows_the_load(stack: Stack) -> None:
    """Up as soon as the load is there, down a while after it went, and kubectl shows what it goes by."""
    kubectl = stack.kubectl
    kubectl("create deployment web --image=nginx")
    kubectl("set resources deployment web --requests=cpu=100m")
    kubectl("autoscale deployment web --cpu=50% --min=1 --max=5")
    kubectl("annotate deployment web kubeloop.io/cpu-load=200m")
    eventually(lambda: _replicas(kubectl) == "5", "five pods share the load")
    eventually(lambda: "cpu: 50%/50%" in kubectl("get hpa web"), "each has what it is to have")
    kubectl("annotate deployment web kubeloop.io/cpu-load=0 --overwrite")
    eventually(lambda: _replicas(kubectl) == "1", "there is nothing to do any more")
    eventually(
        lambda: "reason: All metrics below target" in kubectl("describe hpa web"), "the autoscaler tells what it did"
    )


def _replicas(kubectl: Kubectl) -> str:
    return kubectl("get deployment web -o jsonpath={.spec.replicas}")
