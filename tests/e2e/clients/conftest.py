"""One stack for all clients: as in a cluster, they come over TLS and have to say who they are."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubeloop.cli.options import UpOptions
from tests.e2e.clients.workloads import WIDGETS
from tests.testkit.eventually import eventually
from tests.testkit.forgetful import ForgetfulServer
from tests.testkit.helm import Helm
from tests.testkit.stack import Kubectl, Stack, await_furniture

WEB = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec: {containers: [{name: main, image: nginx, ports: [{containerPort: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""


@dataclass(frozen=True, slots=True)
class RunningPod:
    """A web server on port 80 of a pod."""

    namespace: str
    name: str


@pytest.fixture(scope="package")
def stack() -> Iterator[Stack]:
    """Ends with this folder, which is a package for just that."""
    with Stack(UpOptions(nodes=2, secure=True)) as running:
        yield running


@pytest.fixture
def helm(kubectl: Kubectl, tmp_path: Path) -> Helm:
    """Finds the charts of this folder by their names."""
    return Helm(kubectl, cwd=Path(__file__).parent / "charts", home=tmp_path / "helm")


@pytest.fixture(scope="package")
def web(stack: Stack) -> RunningPod:
    """The pod and the Service `web`, to look into and to leave as they are."""
    kubectl = Kubectl(stack.kubectl.kubeconfig, "web")
    kubectl("create namespace web")
    await_furniture(kubectl)
    kubectl("apply -f -", WEB)
    kubectl("wait --for=condition=Ready --timeout=180s pod/web")
    addresses = "get endpoints web -o jsonpath={.subsets[*].addresses[*].ip}"
    eventually(lambda: kubectl.answer(addresses), "the Service leads to the pod")
    return RunningPod("web", "web")


@pytest.fixture(scope="module")
def widgets(stack: Stack) -> Iterator[None]:
    """A custom kind with status and scale."""
    stack.kubectl("apply -f -", WIDGETS)
    stack.kubectl("wait --for=condition=Established --timeout=180s crd/widgets.example.com")
    yield
    stack.kubectl("delete crd widgets.example.com")


@pytest.fixture(scope="package")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgetfulServer]:
    """An API server for watches that have expired."""
    with ForgetfulServer(tmp_path_factory.mktemp("forgetful")) as server:
        yield server


@pytest.fixture(autouse=True)
def _sockets_left_to_the_collector() -> Iterator[None]:
    """Some clients close nothing: what they have left is collected here, where no other test is warned of it."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
