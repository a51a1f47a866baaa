"""`kubeloop up --secure` with the real kubectl: TLS, client certificates, tokens and RBAC."""

from __future__ import annotations

import base64
import json
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from kubeloop.cli.certificates import Authority
from kubeloop.cli.kubeconfig_file import Login
from tests.testkit.certificate_requests import a_request, a_signing_request, key_text
from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl, KubectlError, Stack, kubectl_of

pytestmark = pytest.mark.e2e

CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {key: value}
"""

TOKEN_SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: keeper, annotations: {kubernetes.io/service-account.name: keeper}}
type: kubernetes.io/service-account-token
"""


def with_token(stack: Stack, authority: Authority, folder: Path, token: str) -> Kubectl:
    return kubectl_of(folder, Login(stack.server, token=token, ca=authority.certificate))


def with_certificate(stack: Stack, authority: Authority, folder: Path, user: str, *groups: str) -> Kubectl:
    issued = authority.for_client(user, groups)
    ca = authority.certificate
    return kubectl_of(folder, Login(stack.server, ca=ca, certificate=issued.certificate, key=issued.key))


def test_the_kubeconfigs_user_is_an_administrator(secure_stack: Stack) -> None:
    """By a client certificate, over TLS."""
    kubectl = secure_stack.kubectl

    assert secure_stack.server.startswith("https://")
    assert "kubernetes-admin" in kubectl("auth whoami")
    assert "node-0" in kubectl("get nodes")
    assert "configmap/settings created" in kubectl("apply -f -", CONFIG_MAP)
    assert "*.*" in kubectl("auth can-i --list")


def test_the_stack_works_over_tls(secure_stack: Stack) -> None:
    """Loops, scheduler and nodes have the rights they need: a deployment becomes available."""
    kubectl = secure_stack.kubectl
    kubectl("create deployment web --image=nginx --replicas=2")

    kubectl("rollout status deployment web --timeout=180s")

    assert "2/2" in kubectl("get deployment web")


def test_pods_are_given_the_real_authority(secure_stack: Stack, authority: Authority) -> None:
    """kube-root-ca.crt verifies this server."""

    def published() -> str:
        found = secure_stack.kubectl.json("get configmaps --field-selector=metadata.name=kube-root-ca.crt")
        return found["items"][0]["data"]["ca.crt"] if found["items"] else ""

    eventually(lambda: authority.certificate.strip() == published().strip(), "the authority is published")


def test_a_certificate_names_user_and_groups(secure_stack: Stack, authority: Authority, tmp_path: Path) -> None:
    """Somebody without rights is refused in the real server's words."""
    alice = with_certificate(secure_stack, authority, tmp_path, "alice", "devs")

    assert "devs" in alice("auth whoami")
    with pytest.raises(KubectlError) as refused:
        alice("get pods")
    assert (
        'Error from server (Forbidden): pods is forbidden: User "alice" cannot list resource "pods" '
        'in API group "" in the namespace "default"'
    ) in str(refused.value)


def test_an_approved_request_makes_a_user(secure_stack: Stack, authority: Authority, tmp_path: Path) -> None:
    """`kubectl certificate approve` is all it takes: the loops sign, and the server knows who it is."""
    admin = secure_stack.kubectl
    request = a_signing_request(a_request("carol", "devs"), name="carol", expirationSeconds=3600)
    admin("create -f -", json.dumps(request))
    assert "Pending" in admin("get csr carol")

    admin("certificate approve carol")

    admin("wait --for=jsonpath={.status.certificate} csr/carol --timeout=180s")
    assert "Approved,Issued" in admin("get csr carol")
    certificate = base64.b64decode(admin("get csr carol -o jsonpath={.status.certificate}")).decode()
    login = Login(secure_stack.server, ca=authority.certificate, certificate=certificate, key=key_text())
    carol = kubectl_of(tmp_path, login)
    assert {"username": "carol", "groups": ["devs", "system:authenticated"]}.items() <= whoami(carol).items()


def whoami(kubectl: Kubectl) -> dict[str, Any]:
    user: dict[str, Any] = kubectl.json("auth whoami")["status"]["userInfo"]
    return user


def test_rights_of_a_group_reach_its_members(secure_stack: Stack, authority: Authority, tmp_path: Path) -> None:
    """RBAC knows the organizations of a certificate; impersonation shows the same."""
    secure_stack.kubectl("create rolebinding ops-view --clusterrole=view --group=ops")
    bob = with_certificate(secure_stack, authority, tmp_path, "bob", "ops")

    assert "kubernetes" in bob("get services")
    assert "yes" in secure_stack.kubectl("auth can-i list pods --as=carol --as-group=ops")
    with pytest.raises(KubectlError, match='User "carol" cannot list resource "pods"'):
        secure_stack.kubectl("get pods --as=carol")
    with pytest.raises(KubectlError, match='forbidden: User "bob" cannot impersonate'):
        bob("get pods --as=carol")


def test_a_service_account_acts_with_its_token(secure_stack: Stack, authority: Authority, tmp_path: Path) -> None:
    """Until it is deleted."""
    admin = secure_stack.kubectl
    admin("create serviceaccount robot")
    admin("create rolebinding robot --clusterrole=view --serviceaccount=default:robot")
    robot = with_token(secure_stack, authority, tmp_path, admin("create token robot --duration=20m").strip())

    assert "system:serviceaccount:default:robot" in robot("auth whoami")
    assert "kubernetes" in robot("get services")

    admin("delete serviceaccount robot")
    with pytest.raises(KubectlError, match="You must be logged in to the server"):
        robot("get services")


def test_a_token_in_a_secret_is_a_login(secure_stack: Stack, authority: Authority, tmp_path: Path) -> None:
    """It is filled in with the authority beside it, and worth nothing without the Secret."""
    admin = secure_stack.kubectl
    admin("create serviceaccount keeper")
    admin("create -f -", TOKEN_SECRET)
    admin("wait --for=jsonpath={.data.token} secret/keeper --timeout=180s")
    data = {name: base64.b64decode(text).decode() for name, text in admin.json("get secret keeper")["data"].items()}
    keeper = with_token(secure_stack, authority, tmp_path, data["token"])

    assert (authority.certificate.strip(), "default") == (data["ca.crt"].strip(), data["namespace"])
    assert "system:serviceaccount:default:keeper" == whoami(keeper)["username"]

    eventually(lambda: "legacy-token-last-used" in admin("get secret keeper -o yaml"), "the use is noted")

    admin("delete secret keeper")
    with pytest.raises(KubectlError, match="You must be logged in to the server"):
        keeper("auth whoami")


def test_who_names_nobody_sees_little(secure_stack: Stack, authority: Authority) -> None:
    """Anonymous requests read the version and health, as upstream, and no objects. Plain HTTP gets no answer."""
    context = ssl.create_default_context(cadata=authority.certificate)
    with httpx.Client(base_url=secure_stack.server, verify=context, timeout=60) as client:
        assert [200, 200, 403, 401] == [
            client.get("/version").status_code,
            client.get("/healthz").status_code,
            client.get("/api/v1/pods").status_code,
            client.get("/api/v1/pods", headers={"Authorization": "Bearer wrong"}).status_code,
        ]
    with pytest.raises(httpx.TransportError):
        httpx.get(secure_stack.server.replace("https", "http"))


def test_another_authoritys_certificate_is_worth_nothing(secure_stack: Stack, tmp_path: Path) -> None:
    """Nor does kubectl trust a server that another one vouches for."""
    folder = tmp_path / "other"
    folder.mkdir()
    other = Authority.kept_in(folder, datetime.now(UTC))
    own = (secure_stack.data_dir / "pki" / "ca.crt").read_text()
    mallory = other.for_client("mallory", ["system:masters"])
    login = Login(secure_stack.server, ca=own, certificate=mallory.certificate, key=mallory.key)

    with pytest.raises(KubectlError):
        kubectl_of(tmp_path, login)("get pods")
    with pytest.raises(KubectlError, match="certificate signed by unknown authority"):
        kubectl_of(tmp_path, Login(secure_stack.server, "any", ca=other.certificate))("get pods")


def test_a_restarted_stack_honours_what_it_gave_out(secure_stack: Stack, authority: Authority, tmp_path: Path) -> None:
    """Certificates and tokens of before stay good: authority and signing key are kept."""
    alice = with_certificate(secure_stack, authority, tmp_path, "alice", "system:masters")
    secure_stack.kubectl("create serviceaccount lasting")
    token = secure_stack.kubectl("create token lasting").strip()

    secure_stack.stop()
    secure_stack.start()

    assert "node-0" in alice("get nodes")
    assert "lasting" in with_token(secure_stack, authority, tmp_path, token)("auth whoami")
