"""`kubectl exec`, `attach` and `cp` into simulated pods, over WebSockets from end to end."""

from __future__ import annotations

import pytest

from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl, KubectlError

pytestmark = pytest.mark.e2e

MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers:
  - name: main
    image: nginx
    ports: [{containerPort: 80}]
    env: [{name: COLOUR, valueFrom: {configMapKeyRef: {name: settings, key: colour}}}]
    volumeMounts: [{name: settings, mountPath: /settings}]
  volumes: [{name: settings, configMap: {name: settings}}]
"""


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    kubectl("apply -f -", MANIFEST)
    kubectl("wait --for=condition=Ready pod/web")
    return kubectl


def test_a_command_sees_its_container(web: Kubectl) -> None:
    """Its name, its environment, what is mounted into it, and others by their names."""
    assert "web\n" == web("exec web -- hostname")
    assert "blue\n" == web("exec web -- printenv COLOUR")
    assert "blue" == web("exec web -- cat /settings/colour")
    assert "pod: web\n" in eventually(lambda: web("exec web -- wget -qO- http://web"), "nobody answers")


def test_a_shell_reads_what_is_sent_and_its_exit_code_comes_back(web: Kubectl) -> None:
    """`exec -i`: a script over standard input."""
    assert "1\n2\n" == web("exec -i web -- sh", "for i in 1 2; do echo $i; done")
    with pytest.raises(KubectlError, match="command terminated with exit code 7"):
        web("exec -i web -- sh", "exit 7")


def test_a_program_that_is_not_there_is_told(web: Kubectl) -> None:
    """In the words of a container runtime; so there is no `kubectl cp`, which needs tar."""
    with pytest.raises(KubectlError, match=r'exec: "vi": executable file not found in \$PATH'):
        web("exec web -- vi")
    with pytest.raises(KubectlError, match=r'exec: "tar": executable file not found in \$PATH'):
        web("cp web:/etc/hostname /dev/null")


def test_who_kills_the_first_process_restarts_the_container(web: Kubectl) -> None:
    """With the exit code of the signal."""
    web("exec web -- kill 1")

    def ended() -> object:
        [status] = web.json("get pod web")["status"]["containerStatuses"]
        return status["restartCount"] and status["lastState"]

    assert 143 == eventually(ended, "it is not started again")["terminated"]["exitCode"]  # type: ignore[index]


def test_to_read_pods_is_not_to_run_something_in_them(web: Kubectl) -> None:
    """WebSockets are opened by GET, and yet `create` is asked for."""
    name = f"system:serviceaccount:{web.namespace}:bob"
    web("create serviceaccount bob")
    web("create role reads --verb=get --resource=pods,pods/exec")
    web(f"create rolebinding bob --role=reads --serviceaccount={web.namespace}:bob")

    with pytest.raises(KubectlError, match='cannot create resource "pods/exec"'):
        web(f"exec web --as={name} -- true")


def test_the_official_python_client_gets_streams_and_exit_code(web: Kubectl) -> None:
    """`stream()` speaks the protocol v4 and sends no terminal."""
    from kubernetes import client, config
    from kubernetes.stream import stream

    command = ["sh", "-c", "echo out; echo err >&2; exit 3"]

    with config.new_client_from_config(str(web.kubeconfig)) as connection:
        call = client.CoreV1Api(connection).connect_get_namespaced_pod_exec
        options = {"command": command, "stdout": True, "stderr": True, "_preload_content": False}
        answer = stream(call, "web", web.namespace, **options)
        answer.run_forever(timeout=30)
        answer.sock.shutdown()  # its close() leaves the socket to the garbage collector

    assert ("out\n", "err\n", 3) == (answer.read_stdout(), answer.read_stderr(), answer.returncode)
