"""`/proxy` of pods, Services and nodes, and what is said of a node that nobody reaches."""

from __future__ import annotations

import json
import re

import pytest

from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl, KubectlError, Stack

pytestmark = pytest.mark.e2e

WEB = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}, annotations: {kubeloop.io/log: "every 1s: tick", kubeloop.io/cpu-usage: 100m}}
spec:
  nodeName: node-0
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: nginx, ports: [{containerPort: 8080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: nobody}
spec: {selector: {app: nobody}, ports: [{port: 80}]}
"""


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    kubectl("apply -f -", WEB)
    kubectl("wait --timeout=180s --for=condition=Ready pod/web")
    kubectl("wait --for=jsonpath={.subsets[0].addresses[0].ip} endpoints/web --timeout=180s")
    kubectl("wait --for=create endpoints/nobody --timeout=180s")
    return kubectl


def raw(kubectl: Kubectl, path: str) -> str:
    return kubectl(f"get --raw /api/v1/namespaces/{kubectl.namespace}/{path}")


def test_a_pod_answers_through_the_api_server(web: Kubectl) -> None:
    """On the port that it declares first, or on one that is named; other ports refuse."""
    for path in ("pods/web/proxy/", "pods/web/proxy", "pods/web:8080/proxy/any/page?q=1", "pods/http:web:8080/proxy/"):
        assert raw(web, path).startswith(f"pod: web\nnamespace: {web.namespace}\nnode: node-0\nport: 8080\n")
    for path in ("services/web:http/proxy/", "services/web:80/proxy/", "services/http:web:http/proxy/x/"):
        assert raw(web, path).startswith("pod: web\n")


REFUSED = (
    ("pods/web:81/proxy/", 503, r"error trying to reach service: dial tcp 10\..*:81: connect: connection refused"),
    ("pods/https:web:8080/proxy/", 503, "server gave HTTP response to HTTPS client"),
    ("pods/gone/proxy/", 404, 'pods "gone" not found'),
    ("pods/ftp:web:1/proxy/", 400, 'invalid pod request "ftp:web:1"'),
    ("services/web:81/proxy/", 503, 'no service port 81 found for service "web"'),
    ("services/web/proxy/", 503, 'no endpoints available for service "web"'),
    ("services/nobody/proxy/", 503, 'no endpoints available for service "nobody"'),
)


def test_who_cannot_be_reached_is_told(web: Kubectl, stack: Stack) -> None:
    """With the real server's codes and words."""
    with stack.client() as client:
        for path, code, said in REFUSED:
            answer = client.get(f"/api/v1/namespaces/{web.namespace}/{path}")
            assert code == answer.status_code, path
            assert re.search(said, answer.json()["message"]), path


def test_every_method_is_passed_on(web: Kubectl, stack: Stack) -> None:
    """A proxy without a path leads to the root; bodies of any size go along, and HEAD has an answer
    without one.
    """
    path = f"/api/v1/namespaces/{web.namespace}/pods/web/proxy"
    with stack.client() as client:
        assert (301, f"{path}/?a=1") == (
            (moved := client.get(f"{path}?a=1")).status_code,
            moved.headers["location"],
        )
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            answer = client.request(method, f"{path}/", content=b"x" * 100_000)
            assert (200, "pod: web") == (answer.status_code, answer.text.splitlines()[0])
        for content in (bytes(4 << 20), (bytes(1 << 20) for _ in range(4))):  # with a length, and in chunks
            assert 200 == client.post(f"{path}/upload", content=content).status_code
        head = client.head(f"{path}/", headers={"Accept": "text/plain"})
    assert (200, "") == (head.status_code, head.text) and int(head.headers["content-length"])


def test_a_kubelet_tells_of_its_node(web: Kubectl, stack: Stack) -> None:
    """Health, pods, metrics, what is used, and logs of its own pods; nothing of other nodes' pods."""

    def ask(path: str, node: str = "node-0") -> str:
        return stack.kubectl(f"get --raw /api/v1/nodes/{node}/proxy/{path}")

    assert "ok" == ask("healthz") == ask("healthz/ping") == ask("healthz", "node-0:10250")
    own = [pod["metadata"]["name"] for pod in json.loads(ask("pods"))["items"]]
    assert "web" in own and "web" not in [pod["metadata"]["name"] for pod in json.loads(ask("pods", "node-1"))["items"]]
    summary = json.loads(ask("stats/summary"))
    [pod] = [pod for pod in summary["pods"] if pod["podRef"]["namespace"] == web.namespace]
    assert ("node-0", "web", 100_000_000) == (
        summary["node"]["nodeName"],
        pod["podRef"]["name"],
        pod["containers"][0]["cpu"]["usageNanoCores"],
    )
    assert "kube-api-access" in pod["volume"][0]["name"] and summary["node"]["runtime"]["imageFs"]["usedBytes"]
    assert 'kubelet_node_name{node="node-0"} 1' in ask("metrics")
    assert f'namespace="{web.namespace}",pod="web"' in ask("metrics/resource")
    assert "tick" in eventually(lambda: ask(f"containerLogs/{web.namespace}/web/main"), "it logs something")
    with pytest.raises(KubectlError, match="could not find the requested resource"):
        ask(f"containerLogs/{web.namespace}/web/main", "node-1")


def a_fault(kind: str) -> str:
    meta = "{apiVersion: kubeloop.io/v1alpha1, kind: Fault, metadata: {name: fault}"
    return f"{meta}, spec: {{type: {kind}, nodes: {{names: [node-0]}}}}}}"


@pytest.mark.parametrize(
    ("kind", "why"), [("NodePartitioned", "i/o timeout"), ("NodeDown", "connect: no route to host")]
)
def test_the_kubelet_of_a_node_that_is_cut_off_is_not_reached(faulty_stack: Stack, kind: str, why: str) -> None:
    """Not for logs, commands, ports or proxies, until the fault is healed; who followed a log hears no more of it."""
    kubectl = faulty_stack.kubectl
    kubectl("apply -f -", WEB)
    kubectl("wait --timeout=180s --for=condition=Ready pod/web")
    following = kubectl.in_background("logs -f web")
    assert following.stdout is not None and "tick" in following.stdout.readline()

    kubectl("apply -f -", a_fault(kind))
    kubectl("wait --for=jsonpath={.status.phase}=Active fault/fault --timeout=180s")

    assert following.stdout.read() is not None
    following.communicate(timeout=60)
    pod = "/api/v1/namespaces/default/pods/web"
    for command in ("logs web", "exec web -- true", "attach web", "port-forward web :8080", f"get --raw {pod}/proxy/"):
        with pytest.raises(KubectlError, match=rf"dial tcp 1[\d.]+:\d+: {why}"):
            kubectl(command)
    with faulty_stack.client() as client:
        codes = [client.get(path).status_code for path in ("/api/v1/nodes/node-0/proxy/healthz", f"{pod}/log")]
    assert [503, 500] == codes

    kubectl("delete fault fault")
    eventually(lambda: "tick" in kubectl("logs web --tail=1"), "the node is there again")
    kubectl("delete -f -", WEB)
