"""kubectl's commands over plain HTTP and over TLS, and what a user without rights is told."""

from __future__ import annotations

import base64
import json
import re
import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest

from kubeloop.cli.certificates import Authority
from kubeloop.cli.kubeconfig_file import Login
from tests.testkit.certificate_requests import a_request, a_signing_request, key_text
from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl, KubectlError, Stack, kubectl_of

pytestmark = pytest.mark.e2e

POD = """
apiVersion: v1
kind: Pod
metadata: {name: one, labels: {app: one}, annotations: {kubeloop.io/log: it runs}}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: nginx, ports: [{containerPort: 80}]}]
"""

# In their order: what kubectl is told, and what its answer begins with or has in it. What asks for all pods, or shows
# that nothing has changed, stands where no loop is at work on them.
COMMANDS = (
    ("apply -f -", "pod/one created"),
    ("wait --for=condition=Ready pod/one --timeout=180s", "pod/one condition met"),
    ("apply -f - --server-side --force-conflicts", "pod/one serverside-applied"),
    ("diff -f -", ""),
    ("get pod one -o wide --no-headers", "one 1/1 Running 0"),
    ("get pod one -o name --subresource=status", "pod/one"),
    ("describe pod one", "Successfully assigned"),
    ("logs one", "it runs"),
    ("exec one -- hostname", "one"),
    ("events --for pod/one --types=Normal --no-headers", "Scheduled"),
    ("expose pod one --port=80", "service/one exposed"),
    ("get --raw /api/v1/namespaces/NAMESPACE/pods/one/proxy/", "pod: one"),
    ("get --raw /api/v1/nodes/node-0/proxy/healthz", "ok"),
    ("create deployment web --image=nginx --replicas=2", "deployment.apps/web created"),
    ("rollout status deployment/web --timeout=180s", "successfully rolled out"),
    ("label pods --all tier=front", "pod/one labeled"),
    ("set image deployment/web nginx=nginx:1.28 --dry-run=server", "image updated (server dry run)"),
    ("scale deployment web --current-replicas=2 --replicas=1", "deployment.apps/web scaled"),
    ("wait --for=jsonpath={.status.replicas}=1 deployment/web --timeout=180s", "deployment.apps/web condition met"),
    ("wait --for=jsonpath={.status.terminatingReplicas}=0 deployment/web --timeout=180s", "condition met"),
    ("autoscale deployment web --min=1 --max=3", "horizontalpodautoscaler.autoscaling/web autoscaled"),
    ("patch deployment web --subresource=scale --type=merge -p {}", "scale.autoscaling/web patched (no change)"),
    ("delete deployment web --cascade=foreground", 'deployment.apps "web" deleted'),
    ("create serviceaccount robot", "serviceaccount/robot created"),
    ("create token robot", "eyJ"),
    ("cordon node-0", "node/node-0 cordoned"),
    ("uncordon node-0", "node/node-0 uncordoned"),
    ("auth can-i create deployments", "yes"),
    ("auth whoami -o jsonpath={.status.userInfo.username}", "kubernetes-admin"),
    ("api-resources --api-group=apps -o name", "deployments.apps"),
    ("explain pod.spec.nodeName", "FIELD: nodeName <string>"),
    ("get --raw /readyz", "ok"),
    ("cluster-info", "Kubernetes control plane is running at http"),
    ("version", "Server Version: v1.36"),
    ("replace --force -f -", "pod/one replaced"),
    ("delete pod one", 'pod "one" deleted'),
    ("wait --for=delete pod/one --timeout=180s", ""),
)
# These show events, which come after what they tell of.
SHOW_EVENTS = ("describe", "events")


@pytest.mark.parametrize("who", ["kubectl", "secure_kubectl"])
def test_everyday_commands_work(who: str, request: pytest.FixtureRequest) -> None:
    """Each does what it says, over plain HTTP as over TLS with the kubeconfig that was written."""
    kubectl: Kubectl = request.getfixturevalue(who)

    def says(command: str, expected: str) -> bool:
        said = kubectl(command.replace("NAMESPACE", kubectl.namespace), POD if "-f -" in command else "")
        assert expected in re.sub(" +", " ", said), f"{command}: {said}"
        return True

    for command, expected in COMMANDS:
        if command.startswith(SHOW_EVENTS):
            eventually(partial(says, command, expected), "its events are told")
        else:
            says(command, expected)


@pytest.mark.parametrize("who", ["kubectl", "secure_kubectl"])
def test_what_stays_open_works(who: str, request: pytest.FixtureRequest) -> None:
    """A watch, a log that is followed, a forwarded port and a proxy, each to its own end."""
    kubectl: Kubectl = request.getfixturevalue(who)
    kubectl("apply -f -", POD)
    kubectl("create configmap first")
    kubectl("wait --timeout=180s --for=condition=Ready pod/one")
    watching = kubectl.in_background("get configmap first --watch --output-watch-events --no-headers")
    following = kubectl.in_background("logs --follow one")
    forwarding = kubectl.in_background("port-forward pod/one :80 --address=127.0.0.1")
    proxying = kubectl.in_background("proxy --port=0")
    everything = (watching, following, forwarding, proxying)
    try:
        assert watching.stdout and following.stdout and forwarding.stdout and proxying.stdout
        forwarded = re.search(r":(\d+) ->", forwarding.stdout.readline())
        proxied = re.search(r"127\.0\.0\.1:(\d+)", proxying.stdout.readline())
        assert forwarded and proxied

        assert "it runs\n" == following.stdout.readline()
        assert "pod: one" in httpx.get(f"http://127.0.0.1:{forwarded[1]}/", trust_env=False, timeout=60).text
        assert ["ADDED", "first"] == watching.stdout.readline().split()[:2]

        path = f"/api/v1/namespaces/{kubectl.namespace}/configmaps?watch=true&fieldSelector=metadata.name%3Dfirst"
        with httpx.stream("GET", f"http://127.0.0.1:{proxied[1]}{path}", trust_env=False, timeout=60) as through_proxy:
            lines = through_proxy.iter_lines()
            assert "ADDED" == json.loads(next(lines))["type"]
            kubectl("delete configmap first")
            assert "DELETED" == json.loads(next(lines))["type"]

        assert ["DELETED", "first"] == watching.stdout.readline().split()[:2]
    finally:
        for process in everything:
            process.terminate()
            process.communicate()


# Ways to be somebody without rights: a kubectl like that of an administrator, but for who it is, and his name.
Somebody = tuple[Kubectl, str]


def by_certificate(admin: Kubectl, stack: Stack, authority: Authority, folder: Path) -> Somebody:
    request = a_signing_request(a_request("dave", "devs"), name=admin.namespace, expirationSeconds=3600)
    admin("create -f -", json.dumps(request))
    admin(f"certificate approve {admin.namespace}")
    admin(f"wait --for=jsonpath={{.status.certificate}} csr/{admin.namespace} --timeout=180s")
    signed = admin(f"get csr {admin.namespace} -o jsonpath={{.status.certificate}}")
    certificate = base64.b64decode(signed).decode()
    login = Login(stack.server, ca=authority.certificate, certificate=certificate, key=key_text())
    return kubectl_of(folder, login, admin.namespace), "dave"


def by_token(admin: Kubectl, stack: Stack, authority: Authority, folder: Path) -> Somebody:
    admin("create serviceaccount robot")
    token = admin("create token robot").strip()
    name = f"system:serviceaccount:{admin.namespace}:robot"
    return kubectl_of(folder, Login(stack.server, token=token, ca=authority.certificate), admin.namespace), name


def by_impersonation(admin: Kubectl, stack: Stack, authority: Authority, folder: Path) -> Somebody:
    return admin.acting_as("erin", "devs"), "erin"


WAYS = (by_certificate, by_token, by_impersonation)


@pytest.mark.parametrize("way", WAYS)
def test_who_has_no_rights_is_told_which(
    way: Callable[[Kubectl, Stack, Authority, Path], Somebody],
    secure_kubectl: Kubectl,
    secure_stack: Stack,
    authority: Authority,
    tmp_path: Path,
) -> None:
    """In the real server's words, for objects, lists, the cluster, subresources and paths; `view` lets him look."""
    admin = secure_kubectl
    kubectl, name = way(admin, secure_stack, authority, tmp_path)

    def refused(command: str) -> str:
        with pytest.raises(KubectlError) as error:
            kubectl(command)
        return str(error.value)

    who, here = f'User "{name}" cannot', f'in the namespace "{kubectl.namespace}"'
    assert name == kubectl("auth whoami -o jsonpath={.status.userInfo.username}")
    assert f'(Forbidden): pods is forbidden: {who} list resource "pods" in API group "" {here}' in refused("get pods")
    assert (
        f'(Forbidden): deployments.apps "web" is forbidden: {who} get resource "deployments" in API group "apps" {here}'
    ) in refused("get deployment web")
    assert (
        f'(Forbidden): nodes is forbidden: {who} list resource "nodes" in API group "" at the cluster scope'
    ) in refused("get nodes")
    assert f'(Forbidden): forbidden: {who} get path "/metrics"' in refused("get --raw /metrics")
    assert "ok" == kubectl("get --raw /healthz")

    kind, named = ("user", name) if ":" not in name else ("serviceaccount", f"{kubectl.namespace}:robot")
    admin(f"create rolebinding looks --clusterrole=view --{kind}={named}")
    admin("apply -f -", POD)
    admin("wait --timeout=180s --for=condition=Ready pod/one")

    assert "it runs\n" == eventually(lambda: kubectl("logs one"), "rights are known at once")
    assert f'pods "one" is forbidden: {who} delete resource "pods" in API group "" {here}' in refused("delete pod one")
    assert f'pods "one" is forbidden: {who} create resource "pods/exec" in API group "" {here}' in refused(
        "exec one -- true"
    )
    assert f'pods "one" is forbidden: {who} get resource "pods/proxy" in API group "" {here}' in refused(
        f"get --raw /api/v1/namespaces/{kubectl.namespace}/pods/one/proxy/"
    )
    assert f'serviceaccounts "default" is forbidden: {who} create resource "serviceaccounts/token"' in refused(
        "create token default"
    )
    assert "no\n" == kubectl.answer("auth can-i create pods")


def test_nobody_is_told_so_too(secure_stack: Stack, authority: Authority) -> None:
    """Anonymous requests are those of a user with a name."""
    context = ssl.create_default_context(cadata=authority.certificate)
    with httpx.Client(base_url=secure_stack.server, verify=context, timeout=60) as client:
        answer = client.get("/api/v1/namespaces/default/pods/one")

    message = (
        'pods "one" is forbidden: User "system:anonymous" cannot get resource "pods" in API group "" '
        'in the namespace "default"'
    )
    assert (403, message, "Forbidden") == (answer.status_code, answer.json()["message"], answer.json()["reason"])
