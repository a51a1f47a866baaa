"""`kubectl exec`, `attach` and `cp` into simulated pods, over WebSockets from end to end."""

from __future__ import annotations

import json
import select

import pytest

from kubeloop.cli.kubectl import environment_for
from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl, KubectlError
from tests.testkit.terminal import Terminal

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

SHELL = """
apiVersion: v1
kind: Pod
metadata: {name: box, annotations: {kubeloop.io/log.other: "every 1s: tick"}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {name: box, image: busybox, stdin: true, tty: true}
  - {name: other, image: nginx}
"""

PATIENT = "--pod-running-timeout=3m"  # kubectl gives up after a minute


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    kubectl("apply -f -", MANIFEST)
    kubectl("wait --timeout=180s --for=condition=Ready pod/web")
    return kubectl


def test_a_command_sees_its_container(web: Kubectl) -> None:
    """Its name, its environment, what is mounted into it, and others by their names."""
    assert "web\n" == web("exec web -- hostname")
    assert "blue\n80\n" == web("exec web -- printenv COLOUR WEB_SERVICE_PORT")
    assert "blue" == web("exec web -- cat /settings/colour")
    assert "pod: web\n" in eventually(lambda: web("exec web -- wget -qO- http://web"), "nobody answers")


NAMED = """
apiVersion: v1
kind: Pod
metadata: {name: named}
spec:
  hostname: web
  subdomain: shop
  hostAliases: [{ip: 1.2.3.4, hostnames: [foo]}]
  dnsPolicy: None
  dnsConfig: {nameservers: [9.9.9.9]}
  containers:
  - name: main
    image: busybox
    command: [sh, -c, "echo $MEMORY Gi; sleep 1000"]
    resources: {limits: {cpu: 1500m}}
    env: [{name: MEMORY, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Gi}}}]
    volumeMounts: [{name: about, mountPath: /about}]
  volumes:
  - name: about
    downwardAPI: {items: [{path: cpu, resourceFieldRef: {containerName: main, resource: limits.cpu, divisor: 1m}}]}
"""


def test_a_command_sees_how_its_pod_is_named_and_limited(kubectl: Kubectl) -> None:
    """Its files for names, and the downward API with what its node can give where it has no limit."""
    kubectl("apply -f -", NAMED)
    kubectl("wait --timeout=180s --for=condition=Ready pod/named")

    assert "1500" == kubectl("exec named -- cat /about/cpu")
    assert "8" == kubectl("exec named -- printenv MEMORY").strip()
    assert "8 Gi" == kubectl("logs named").strip()
    hosts = kubectl("exec named -- cat /etc/hosts")
    assert f"\tweb.shop.{kubectl.namespace}.svc.cluster.local\tweb\n" in hosts and "1.2.3.4\tfoo" in hosts
    assert "nameserver 9.9.9.9" == kubectl("exec named -- cat /etc/resolv.conf").strip()


def test_a_shell_reads_what_is_sent_and_its_exit_code_comes_back(web: Kubectl) -> None:
    """`exec -i`: a script over standard input."""
    assert "1\n2\n" == web("exec -i web -- sh", "for i in 1 2; do echo $i; done")
    with pytest.raises(KubectlError, match="command terminated with exit code 7"):
        web("exec -i web -- sh", "exit 7")


def test_a_program_that_is_not_there_is_told(web: Kubectl) -> None:
    """In the words of a container runtime; so there is no `kubectl cp`, which needs tar."""
    with pytest.raises(KubectlError, match=r'exec: "vi": executable file not found in \$PATH'):
        web("exec web -- vi")
    with pytest.raises(KubectlError, match=r'exec: "tar": executable file not found in \$PATH.*have no tar'):
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


def at_a_terminal(kubectl: Kubectl, arguments: str) -> Terminal:
    return Terminal(kubectl.command(arguments), environment_for(kubectl.kubeconfig))


def test_a_shell_at_a_terminal_shows_what_is_typed(web: Kubectl) -> None:
    """`exec -it`: keys are echoed, Ctrl-C ends a command, Ctrl-D the shell; its exit code is kubectl's."""
    with at_a_terminal(web, "exec -it web -- sh") as terminal:
        terminal.wait_for("/ # ")
        terminal.type("sleep 1000\r")
        terminal.wait_for("sleep 1000\r\n")
        terminal.type("\x03")
        terminal.wait_for("/ # ")
        terminal.type("echo said $?\r")
        terminal.wait_for("said 130\r\n")
        terminal.type("exit 4\r")
        assert 4 == terminal.end()[1]


def test_a_pod_is_run_to_work_in(kubectl: Kubectl) -> None:
    """`run -it --rm`: the container's own shell; its end is that of the container, and the pod goes."""
    with at_a_terminal(kubectl, f"run -it --rm box --image=busybox --restart=Never {PATIENT} -- sh") as terminal:
        terminal.wait_for("/ # ")
        terminal.type("hostname; exit 5\r")
        assert "\r\nbox\r\n" in terminal.wait_for("terminated (Error)")
        assert 5 == terminal.end()[1]
    with pytest.raises(KubectlError, match="not found"):
        kubectl("get pod box")

    said = kubectl(f"run -i --rm box --image=busybox --restart=Never --quiet {PATIENT}", "echo 'it is\nread'; exit 0\n")
    assert said.startswith("it is\nread\n")


def test_who_attaches_goes_on_where_it_was(kubectl: Kubectl) -> None:
    """`attach -it` to a shell that keeps its standard input open; others look on."""
    kubectl("apply -f -", SHELL)
    kubectl("wait --timeout=180s --for=condition=Ready pod/box")
    with at_a_terminal(kubectl, "attach -it box -c box") as terminal:
        terminal.wait_for("/ # ")
        terminal.type("X=7\r")
        terminal.wait_for("/ # ")
    looking = kubectl.in_background("attach box -c box")

    with at_a_terminal(kubectl, "attach -it box -c box") as terminal:

        def is_seen() -> bool:
            terminal.type("echo X is $X\r")
            terminal.wait_for("X is 7\r\n")
            return bool(select.select([looking.stdout], [], [], 0.2)[0])

        eventually(is_seen, "whoever looks on sees it too")
        terminal.type("exit\r")
        terminal.end()
    assert "X is 7" in looking.communicate(timeout=60)[0]
    eventually(lambda: "1" in kubectl("get pod box -o jsonpath={..restartCount}"), "the shell's end is the container's")


def test_what_reads_nothing_is_only_read(kubectl: Kubectl) -> None:
    """`attach -i` to a container that runs no shell: what is typed is dropped, and its log is shown."""
    kubectl("apply -f -", SHELL)
    kubectl("wait --timeout=180s --for=condition=Ready pod/box")
    with at_a_terminal(kubectl, "attach -i box -c other") as terminal:
        terminal.wait_for("tick")
        terminal.type("exit\r" * 200)
        terminal.wait_for("tick")
        terminal.wait_for("tick")


def test_a_pod_is_run_to_ask_another(web: Kubectl) -> None:
    """`kubectl run --rm -i -- wget`: what everybody does first to see whether a Service answers."""
    eventually(lambda: web("exec web -- wget -qO- http://web"), "the Service has no endpoints")

    said = web(f"run asks -i --rm --restart=Never --quiet {PATIENT} --image=busybox -- wget -qO- http://web")

    assert f"pod: web\nnamespace: {web.namespace}\n" in said


def test_what_a_debug_container_prints_at_once_is_seen(web: Kubectl) -> None:
    """`kubectl debug -i -- COMMAND`: by the time that kubectl attaches the command may have said and done it all."""
    said = web("debug web -i --quiet --image=busybox --target=main -- echo all is well")

    assert "all is well\n" in said


def test_a_command_reads_the_token_of_its_service_account(web: Kubectl) -> None:
    """Where a container has it mounted, with authority and namespace; it is bound to the pod, and good for a login."""
    folder = "/var/run/secrets/kubernetes.io/serviceaccount"
    assert web.namespace == web(f"exec web -- cat {folder}/namespace")
    assert "BEGIN CERTIFICATE" in web(f"exec web -- cat {folder}/ca.crt")

    token = web(f"exec web -- cat {folder}/token")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    status = json.loads(web("create -f - -o json", json.dumps(review)))["status"]

    assert f"system:serviceaccount:{web.namespace}:default" == status["user"]["username"]
    assert ["web"] == status["user"]["extra"]["authentication.kubernetes.io/pod-name"]
    assert token == web(f"exec web -- cat {folder}/token")
