"""`kubectl logs` of simulated pods, over real sockets from end to end."""

from __future__ import annotations

import pytest

from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl, KubectlError

pytestmark = pytest.mark.e2e


def a_pod(name: str, script: str, restarts: str = "Always", more: str = "") -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, labels: {{app: {name}}}{more}}}
spec:
  restartPolicy: {restarts}
  containers: [{{name: main, image: busybox, command: [sh, -c, {script!r}]}}]
"""


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {kubeloop.io/log: ready}}
    spec: {containers: [{name: nginx, image: nginx}]}
"""


def log_of(kubectl: Kubectl, arguments: str) -> str:
    """Once there is one."""

    def found() -> str:
        try:
            return kubectl(f"logs {arguments}")
        except KubectlError as error:
            if "waiting to start" in str(error) or "not available" in str(error) or "not found" in str(error):
                return ""
            raise

    return eventually(found, f"there is no log of {arguments}")


def test_a_log_is_followed_until_the_container_ends(kubectl: Kubectl) -> None:
    """`logs -f` prints every line and comes back by itself."""
    kubectl("apply -f -", a_pod("counts", "for i in 1 2 3; do echo line $i; sleep 1; done", "Never"))
    log_of(kubectl, "counts")

    assert "line 1\nline 2\nline 3\n" == kubectl("logs -f counts")
    assert "line 3\n" == kubectl("logs counts --tail=1")


def test_a_crash_leaves_its_log_behind(kubectl: Kubectl) -> None:
    """--previous is the run before; --timestamps are those of its lines, and stay."""
    kubectl("apply -f -", a_pod("crashes", "echo starting; sleep 1; echo failing >&2; exit 3"))

    assert "starting\nfailing\n" == log_of(kubectl, "crashes --previous")
    first = kubectl("logs crashes --previous --timestamps")
    assert first.splitlines()[0].endswith("Z starting")


def test_pods_are_found_by_their_workload(kubectl: Kubectl) -> None:
    """Of a deployment and by label; what an annotation says comes in every pod's log."""
    kubectl("apply -f -", DEPLOYMENT)
    kubectl("rollout status deployment/web")

    assert "ready" in kubectl("logs deployment/web")
    assert 2 == kubectl("logs -l app=web --prefix").count("/nginx] ready")


def test_what_has_no_log_says_so(kubectl: Kubectl) -> None:
    """In the words of the real server and kubelet."""
    kubectl("run stuck --image=invalid/image")
    eventually(
        lambda: "ErrImagePull" in kubectl("get pod stuck") or "BackOff" in kubectl("get pod stuck"), "it is pulled"
    )

    with pytest.raises(KubectlError, match=r"can't be pulled|trying and failing to pull image"):
        kubectl("logs stuck")


def test_over_tls_only_who_may_read_logs_reads_them(secure_kubectl: Kubectl) -> None:
    """The API server asks the kubelet over TLS, and nobody that it has refused."""
    kubectl = secure_kubectl
    kubectl("apply -f -", a_pod("says", "echo hello; sleep 1000"))
    assert "hello\n" == log_of(kubectl, "says")
    kubectl("create serviceaccount bob")
    kubectl("create role looks --verb=get --resource=pods")
    kubectl(f"create rolebinding bob-looks --role=looks --serviceaccount={kubectl.namespace}:bob")
    with pytest.raises(KubectlError, match='cannot get resource "pods/log"'):
        kubectl(f"logs says --as=system:serviceaccount:{kubectl.namespace}:bob")
