"""`kubeloop up --runtime=process`: real programs in pods, seen with the real kubectl; and nothing of them is left."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from kubeloop.cli.kubectl import environment_for
from kubeloop.cli.options import UpOptions
from kubeloop.cli.throwaway import free_port
from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl, KubectlError, Stack

pytestmark = pytest.mark.e2e

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: python
        command: [python3, -c, "print(sum(range(int('$(LAST)') + 1)))"]
        env: [{name: LAST, value: "100"}]
"""

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 2
      containers:
      - name: web
        image: python
        command: [python3, -m, http.server, "PORT", --bind, 127.0.0.1, --directory, $(KUBELOOP_ROOT)/pages]
        ports: [{name: http, containerPort: PORT}]
        readinessProbe: {httpGet: {port: http, path: /hello}, periodSeconds: 1}
        volumeMounts: [{name: pages, mountPath: /pages}]
      volumes: [{name: pages, configMap: {name: pages}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: pages}
data: {hello: "hello from a file"}
"""

TALKS = """
apiVersion: v1
kind: Pod
metadata: {name: talks}
spec:
  containers:
  - name: main
    image: busybox
    stdin: true
    command: [sh, -c, 'sleep 1000 & while read line; do echo "heard $line"; done; sleep 1000']
"""

HIDES = TALKS.replace("sleep 1000 &", "setsid sleep 1000 &").replace("talks", "hides")

CRASHES = """
apiVersion: v1
kind: Pod
metadata: {name: crashes}
spec: {containers: [{name: main, image: busybox, command: [sh, -c, 'echo run of $$; exit 3']}]}
"""


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """A stack of this module's own: its containers are processes of this machine."""
    with Stack(UpOptions(nodes=1, runtime="process")) as running:
        yield running


def processes_of(stack: Stack) -> set[int]:
    """The pids of everything that containers have started, and that is alive."""
    mark = f"KUBELOOP_ROOT={stack.data_dir.resolve()}/".encode()
    return {int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal() and _has(path, mark)}


def _has(process: Path, mark: bytes) -> bool:
    try:
        return mark in (process / "environ").read_bytes()
    except OSError:
        return False


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _bytes_read(pid: int) -> int:
    return int(Path(f"/proc/{pid}/io").read_text().split()[1])


def test_a_job_computes(kubectl: Kubectl) -> None:
    """Its log is what it has written, and it completes by its exit code."""
    kubectl("apply -f -", JOB)
    kubectl("wait --for=condition=Complete job/sum --timeout=180s")

    assert "5050\n" == kubectl("logs job/sum")


def test_a_server_becomes_ready_and_is_reached(kubectl: Kubectl) -> None:
    """By its probe, by port-forward, through the API server, and as long as its Deployment is there."""
    port = free_port()
    kubectl("apply -f -", WEB.replace("PORT", str(port)))
    kubectl("rollout status deployment/web --timeout=180s")
    forwarding = kubectl.in_background("port-forward deployment/web :http --address=127.0.0.1")
    try:
        assert forwarding.stdout is not None
        local = re.search(r":(\d+) ->", forwarding.stdout.readline())
        assert local is not None
        for _ in range(2):
            page = httpx.get(f"http://127.0.0.1:{local[1]}/hello", trust_env=False, timeout=60)
            assert "hello from a file" == page.text
    finally:
        forwarding.terminate()
        forwarding.communicate()
    pod = kubectl("get pods -l app=web -o name").strip().replace("pod/", "pods/")
    through = f"get --raw /api/v1/namespaces/{kubectl.namespace}/{pod}/proxy"
    assert "hello from a file" == kubectl(f"{through}/hello")
    with pytest.raises(KubectlError, match="NotFound"):
        kubectl(f"{through}/absent")

    kubectl("delete deployment web")

    def is_closed() -> bool:
        try:
            httpx.get(f"http://127.0.0.1:{port}/", trust_env=False, timeout=5)
        except httpx.TransportError:
            return True
        return False

    eventually(is_closed, "the server has ended with its pod")


def test_commands_run_beside_it_and_talk_to_it(kubectl: Kubectl) -> None:
    """exec with input and exit code, attach, logs that are followed, cp."""
    kubectl("apply -f -", TALKS)
    kubectl("wait --for=condition=Ready pod/talks --timeout=180s")
    following = kubectl.in_background("logs -f talks --timestamps")
    try:
        assert "5" == kubectl("exec -i talks -- wc -c", "12345").strip()
        with pytest.raises(KubectlError, match="command terminated with exit code 7"):
            kubectl("exec -i talks -- sh", "exit 7")
        with pytest.raises(KubectlError, match=r'exec: "no-such": executable file not found in \$PATH'):
            kubectl("exec talks -- no-such")
        with subprocess.Popen(
            [str(kubectl.path), f"--namespace={kubectl.namespace}", "attach", "-i", "talks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment_for(kubectl.kubeconfig),
            text=True,
        ) as attached:
            assert attached.stdin is not None and attached.stdout is not None
            attached.stdin.write("you\n")
            attached.stdin.flush()
            assert "heard you\n" == attached.stdout.readline()
            attached.terminate()
        assert following.stdout is not None
        assert following.stdout.readline().endswith("Z heard you\n")
    finally:
        following.terminate()
        following.communicate()


def test_a_command_ends_with_who_asked_for_it(stack: Stack, kubectl: Kubectl) -> None:
    """Also one that reads nothing of an input without an end."""
    kubectl("apply -f -", TALKS)
    kubectl("wait --for=condition=Ready pod/talks --timeout=180s")

    def sleepers() -> list[int]:
        return [pid for pid in processes_of(stack) if _command(pid) == b"sleep\x004321\0"]

    command = kubectl.command("exec -i talks -- sleep 4321")
    with (
        Path("/dev/zero").open("rb") as endless,
        subprocess.Popen(command, stdin=endless, env=environment_for(kubectl.kubeconfig)) as client,
    ):
        eventually(sleepers, "the command runs")
        read = [-1]

        def is_full() -> bool:
            read.append(_bytes_read(client.pid))
            return read[-1] == read[-2]

        eventually(is_full, "nothing more of the input fits anywhere")
        client.kill()

    eventually(lambda: not sleepers(), "it has ended")


def test_what_crashes_is_run_again(kubectl: Kubectl) -> None:
    """Each run is another process, whose log can be read afterwards."""
    kubectl("apply -f -", CRASHES)

    def status() -> object:
        [found] = kubectl.json("get pod crashes")["status"].get("containerStatuses") or [{}]
        is_backing_off = "waiting" in found.get("state", {}) and found["restartCount"] >= 1
        return is_backing_off and found["state"]["waiting"]["reason"] == "CrashLoopBackOff" and found

    found = eventually(status, "it backs off")

    assert 3 == found["lastState"]["terminated"]["exitCode"]  # type: ignore[index]
    assert kubectl("logs crashes --previous").startswith("run of ")


def test_nothing_is_left_when_the_kubelet_is_killed(stack: Stack, kubectl: Kubectl) -> None:
    """kill -9: its processes end, those that hid in a session of their own too, and new ones take their place."""
    kubectl("apply -f -", HIDES)
    kubectl("wait --for=condition=Ready pod/hides --timeout=180s")
    before = eventually(lambda: len(found := processes_of(stack)) >= 2 and found, "they run")

    killed = stack.kill("kubelet-sim")

    eventually(lambda: stack.pid("kubelet-sim") not in (0, killed), "it is started again")
    eventually(lambda: not processes_of(stack) & before, "nothing of before is left")
    restarted = "get pod hides -o jsonpath={.status.containerStatuses[0]}"

    def runs_again() -> bool:
        found = json.loads(kubectl(restarted))
        return found["restartCount"] == 1 and found["ready"]

    eventually(runs_again, "the container is started again")


def test_nothing_is_left_when_the_stack_is_stopped(stack: Stack) -> None:
    """Not even when everything was killed before. (The last test: the stack is gone then.)"""
    stack.kubectl("apply -f -", HIDES)
    stack.kubectl("wait --for=condition=Ready pod/hides --timeout=180s")
    assert eventually(lambda: processes_of(stack), "they run")
    stack.kill_everything()

    stack.stop()

    eventually(lambda: not processes_of(stack), "nothing is left")
