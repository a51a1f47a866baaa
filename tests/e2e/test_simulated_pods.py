"""What annotations say of a pod's containers, as people see it: real processes, the real kubectl."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path

import pytest

from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.cli.options import UpOptions
from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl, Stack

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


def test_a_pod_becomes_unready_and_is_ready_again(stack: Stack, kubectl: Kubectl) -> None:
    """A watch from before it was made sees all of it, however late it begins, and describe shows why."""
    pod = a_pod("web", {"kubeloop.io/readiness": "fail@2s,pass@8s"}, readinessProbe=a_probe("/ready"))
    pods = f"/api/v1/namespaces/{kubectl.namespace}/pods"
    before = stack.get(pods)["metadata"]["resourceVersion"]
    kubectl("apply -f -", stdin=pod)
    with stack.client() as client, client.stream("GET", f"{pods}?watch=1&resourceVersion={before}") as watching:
        assert [False, True, False, True] == list(islice(readiness(watching.iter_lines()), 4))
    described(kubectl, "pod web", "Readiness probe failed: HTTP probe failed with statuscode: 500")


def test_a_dead_container_is_restarted(kubectl: Kubectl) -> None:
    """Its restarts are counted, and the events tell what happened."""
    kubectl("apply -f -", stdin=a_pod("dead", {"kubeloop.io/liveness": "fail@2s"}, livenessProbe=a_probe("/alive")))
    eventually(lambda: "0" != restarts(kubectl, "dead"), "it is restarted")
    described(kubectl, "pod dead", "Liveness probe failed: HTTP probe failed with statuscode: 500")
    described(kubectl, "pod dead", "Container app failed liveness probe, will be restarted")


def test_a_leaking_container_is_killed(kubectl: Kubectl) -> None:
    """kubectl get pods says OOMKilled or CrashLoopBackOff, and describe how it ended."""
    limits = {"resources": {"limits": {"memory": "100Mi"}}}
    kubectl("apply -f -", stdin=a_pod("leak", {"kubeloop.io/memory-usage": "50Mi@0s,150Mi@4s"}, **limits))
    eventually(lambda: "0" != restarts(kubectl, "leak"), "it is killed and restarted")
    described(kubectl, "pod leak", "Reason:       OOMKilled")
    described(kubectl, "pod leak", "Exit Code:    137")


def test_a_running_pod_is_resized(kubectl: Kubectl) -> None:
    """kubectl patch --subresource resize; it is not restarted and has what was asked for."""
    kubectl("apply -f -", stdin=a_pod("grow", {}, resources={"requests": {"cpu": "100m"}}))
    kubectl("wait pod/grow --for=condition=Ready --timeout=180s")
    patch = '{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"200m"}}}]}}'
    kubectl(f"patch pod grow --subresource=resize --patch={patch}")
    requested = "{.status.containerStatuses[0].resources.requests.cpu}"
    eventually(lambda: kubectl(f"get pod grow -o jsonpath={requested}") == "200m", "it is resized")
    described(kubectl, "pod grow", "ResizeCompleted")
    assert restarts(kubectl, "grow") == "0"


def test_kubectl_debug_joins_a_pod(kubectl: Kubectl) -> None:
    """Its container runs beside the others."""
    kubectl("apply -f -", stdin=a_pod("sick", {}))
    kubectl("wait pod/sick --for=condition=Ready --timeout=180s")
    kubectl("debug sick --image=busybox --container=doctor --attach=false -- sleep 1000")
    running = "{.status.ephemeralContainerStatuses[0].state.running.startedAt}"
    eventually(lambda: kubectl(f"get pod sick -o jsonpath={running}"), "the debugger runs")


def test_a_node_that_runs_out_of_memory_evicts() -> None:
    """The pod is Evicted, and the node says so and is tainted until it is well again: a stack of its own."""
    with Stack(UpOptions(nodes=1)) as stack:
        _evict(stack.kubectl)


def _evict(kubectl: Kubectl) -> None:
    requests = {"resources": {"requests": {"memory": "10Mi"}}}
    kubectl("apply -f -", stdin=a_pod("greedy", {"kubeloop.io/memory-usage": "10Mi@5s,64Gi@5s"}, **requests))
    eventually(lambda: kubectl("get pod greedy -o jsonpath={.status.reason}") == "Evicted", "it is evicted")
    node = kubectl("get pod greedy -o jsonpath={.spec.nodeName}")
    assert "The node was low on resource: memory." in kubectl("get pod greedy -o jsonpath={.status.message}")
    described(kubectl, f"node {node}", "KubeletHasInsufficientMemory")
    eventually(lambda: "memory-pressure" in kubectl(f"get node {node} -o jsonpath={{.spec.taints}}"), "it is tainted")


def test_a_node_fails_and_comes_back(faulty_stack: Stack) -> None:
    """kubectl apply of a Fault, and the control plane finds out; kubectl delete heals it."""
    kubectl = faulty_stack.kubectl
    spec = {"type": "NodeDown", "nodes": {"names": ["node-1"]}}
    fault = {"apiVersion": "kubeloop.io/v1alpha1", "kind": "Fault", "metadata": {"name": "off"}, "spec": spec}
    kubectl("apply -f -", stdin=json.dumps(fault))
    eventually(lambda: "Active" in kubectl("get fault off"), "it is in force")
    eventually(lambda: " NotReady " in kubectl("get node node-1"), "the node is missed", within_seconds=180)
    eventually(lambda: " Ready " in kubectl("get node node-0"), "the other one is there, or back from other faults")
    kubectl("delete fault off")
    eventually(lambda: " Ready " in kubectl("get node node-1"), "it is back")


STAGE = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: soon}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchLabels: {life: short}
    matchExpressions:
    - {key: .status.phase, operator: In, values: [Pending]}
  delay: {durationMilliseconds: 500}
  next:
    statusTemplate: |
      phase: {{ index .metadata.annotations "phase" | Quote }}
"""


STAGE_OBJECT = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: claimed}
spec:
  resourceRef: {kind: ConfigMap}
  selector:
    matchLabels: {staged: "yes"}
    matchExpressions:
    - {key: .data.by, operator: DoesNotExist}
  next:
    patches:
    - {root: data, template: "by: {{ .metadata.name | Quote }}"}
"""


def test_lives_are_stages(tmp_path: Path) -> None:
    """kubeloop up --stages: kubectl shows what templates say, of a file and of Stage objects as they come and go."""
    file = tmp_path / "stages.yaml"
    file.write_text(STAGE)
    with Stack(UpOptions(nodes=1, stages=(str(file), "cluster"))) as stack:
        kubectl = stack.kubectl
        kubectl("run short --image=nginx --labels=life=short --annotations=phase=Succeeded")
        kubectl("run long --image=nginx")
        eventually(lambda: "Succeeded" in kubectl("get pod short -o jsonpath={.status.phase}"), "the stage was entered")
        kubectl("wait pod/long --for=condition=Ready --timeout=180s")
        kubectl("delete pod short --timeout=180s")

        kubectl("wait --for=condition=Established crd/stages.kwok.x-k8s.io --timeout=180s")
        kubectl("create configmap one")
        kubectl("label configmap one staged=yes")
        kubectl("apply -f -", stdin=STAGE_OBJECT)
        eventually(lambda: "one" in kubectl("get configmap one -o jsonpath={.data.by}"), "the Stage is followed")
        kubectl("apply -f -", stdin=STAGE_OBJECT.replace(".metadata.name", "nope"))
        eventually(lambda: "there is no function nope" in kubectl("get stages"), "kubectl shows what is wrong")
        kubectl("delete stage claimed")
        kubectl("run later --image=nginx")
        kubectl("wait pod/later --for=condition=Ready --timeout=180s")


def readiness(events: Iterator[str]) -> Iterator[bool]:
    """Whether the one pod is Ready, change after change."""
    pods = (json.loads(event)["object"] for event in events)
    return (is_ready for is_ready, _ in groupby(is_true(conditions_of(pod), "Ready") for pod in pods))


def described(kubectl: Kubectl, obj: str, words: str) -> None:
    """Sooner or later `kubectl describe` has these words: events come after what they tell of."""
    eventually(lambda: words in kubectl(f"describe {obj}"), words)


def restarts(kubectl: Kubectl, name: str) -> str:
    return kubectl(f"get pod {name} -o jsonpath={{.status.containerStatuses[0].restartCount}}") or "0"
