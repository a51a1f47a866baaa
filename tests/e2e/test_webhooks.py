"""Admission webhooks as people run them: HTTPS servers of their own, the real kubectl, a whole stack."""

from __future__ import annotations

import base64
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.testkit.https import Answer, Authority, HttpsServer, Request, as_json, serving
from tests.testkit.stack import Kubectl, KubectlError, Stack

pytestmark = pytest.mark.e2e

Decide = Callable[[Any], Any]  # the request of a review -> its response
CONFIG_MAPS = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
PODS = {**CONFIG_MAPS, "resources": ["pods"]}


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.new()


def reviewing(decide: Decide) -> Callable[[Request], Answer]:
    """Answers reviews by `decide`, as controller-runtime's server does."""

    def respond(request: Request) -> Answer:
        review = request.body
        response = {"uid": review["request"]["uid"], **decide(review["request"])}
        return as_json({"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response})

    return respond


@contextmanager
def configured(kubectl: Kubectl, step: str, client: Any, rule: Any = CONFIG_MAPS, **fields: Any) -> Iterator[None]:
    """A configuration with one webhook, asked about the namespace of the test only."""
    kind, name = f"{step}WebhookConfiguration", f"{kubectl.namespace}-hook"
    selector = {"matchLabels": {"kubernetes.io/metadata.name": kubectl.namespace}}
    webhook = {
        "name": "hook.example.com",
        "clientConfig": client,
        "rules": [rule],
        "namespaceSelector": selector,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **fields,
    }
    body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}}
    kubectl("apply -f -", json.dumps({**body, "webhooks": [webhook]}))
    try:
        yield
    finally:
        kubectl(f"delete {kind.lower()} {name}")


def refused(kubectl: Kubectl, arguments: str) -> str:
    with pytest.raises(KubectlError) as caught:
        kubectl(arguments)
    return str(caught.value)


def test_kubectl_shows_a_denial_and_warnings(kubectl: Kubectl, authority: Authority, tmp_path: Path) -> None:
    """By url: the no in the webhook's own words, the yes with its warnings; nothing is stored in a dry run either."""

    def decide(request: Any) -> Any:
        if request["name"] == "bad":
            return {"allowed": False, "status": {"message": "bad names are not allowed", "code": 403}}
        return {"allowed": True, "warnings": [f"{request['name']} is an odd name"]}

    with serving(authority.context(tmp_path, ["127.0.0.1"]), reviewing(decide)) as server:
        client = {"url": f"{server.url}/validate", "caBundle": authority.bundle}
        with configured(kubectl, "Validating", client):
            no = refused(kubectl, "create configmap bad")
            yes = kubectl("create configmap good")
            dry = refused(kubectl, "create configmap bad --dry-run=server")
    said = 'admission webhook "hook.example.com" denied the request: bad names are not allowed'
    assert said in no
    assert said in dry
    assert "configmap/good created" in yes
    assert "Warning: good is an odd name" in yes
    assert server.requests[0].body["request"]["userInfo"]["username"]


def test_a_sidecar_is_injected_into_pods(kubectl: Kubectl, authority: Authority, tmp_path: Path) -> None:
    """By a Service that is forwarded: what the webhook adds to a Deployment's pods runs beside what was asked for."""
    operations = [
        {"op": "add", "path": "/spec/containers/-", "value": {"name": "mesh", "image": "mesh:1"}},
        {"op": "add", "path": "/metadata/labels/injected", "value": "yes"},
    ]
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    injector = reviewing(lambda request: {"allowed": True, "patchType": "JSONPatch", "patch": patch})
    with serving(authority.context(tmp_path, [f"mesh.{kubectl.namespace}.svc"]), injector) as server:
        kubectl("create service clusterip mesh --tcp=443:9443")
        kubectl(f"annotate service mesh kubeloop.io/forward-to=127.0.0.1:{server.port}")
        service = {"name": "mesh", "namespace": kubectl.namespace, "path": "/inject"}
        with configured(kubectl, "Mutating", {"service": service, "caBundle": authority.bundle}, PODS):
            kubectl("create deployment web --image=web:1")
            kubectl("rollout status deployment/web --timeout=180s")
            pod = kubectl.json("get pods -l injected=yes")["items"][0]
            assert kubectl("get pods -l app=web --no-headers").split()[1:3] == ["2/2", "Running"]
    assert [one["name"] for one in pod["spec"]["containers"]] == ["web", "mesh"]
    assert pod["spec"]["containers"][1]["imagePullPolicy"] == "IfNotPresent"
    assert pod["metadata"]["generateName"].startswith("web-")
    assert server.requests[0].path == "/inject?timeout=10s"
    assert "name" not in server.requests[0].body["request"]  # the pod's name is made up later


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_webhook_that_is_not_there_refuses_or_is_ignored(kubectl: Kubectl, policy: str) -> None:
    """As failurePolicy says, in the words that people search for."""
    with socket.socket() as held:  # bound and not listening: nobody answers there
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        client = {"url": f"https://127.0.0.1:{port}/validate"}
        with configured(kubectl, "Validating", client, failurePolicy=policy):
            if policy == "Ignore":
                assert "configmap/c created" in kubectl("create configmap c")
                return
            no = refused(kubectl, "create configmap c")
    assert (
        'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: '
        f'Post "https://127.0.0.1:{port}/validate?timeout=10s": dial tcp 127.0.0.1:{port}: connect: connection refused'
    ) in no


def test_a_webhook_that_hangs_holds_up_nobody_else(
    stack: Stack, kubectl: Kubectl, authority: Authority, tmp_path: Path
) -> None:
    """Its own request ends with its timeout; meanwhile reads and writes of others are answered."""
    is_asked = threading.Event()

    def never(request: Any) -> Any:
        is_asked.set()
        server.is_closing.wait()
        return {"allowed": True}

    with serving(authority.context(tmp_path, ["127.0.0.1"]), reviewing(never)) as server:
        client = {"url": server.url, "caBundle": authority.bundle}
        with configured(kubectl, "Mutating", client, timeoutSeconds=30):
            held_up = kubectl.in_background("create configmap c")
            assert is_asked.wait(60)
            with stack.client() as api:
                path = f"/api/v1/namespaces/{kubectl.namespace}"
                others = (api.get(f"{path}/configmaps"), api.post(f"{path}/secrets", json={"metadata": {"name": "s"}}))
            assert held_up.poll() is None
            held_up.terminate()
            held_up.communicate()
        with configured(kubectl, "Mutating", client, timeoutSeconds=1):
            no = refused(kubectl, "create configmap c")
    assert [200, 201] == [answer.status_code for answer in others]
    assert f'Post "{server.url}/?timeout=1s": context deadline exceeded' in no


def test_a_webhook_may_call_the_api_server_back(
    stack: Stack, kubectl: Kubectl, authority: Authority, tmp_path: Path
) -> None:
    """It reads, and it writes what is of the same kind, about which it is asked again: nothing waits for itself."""
    path = f"/api/v1/namespaces/{kubectl.namespace}/configmaps"

    def decide(request: Any) -> Any:
        if request["name"] == "copy":
            return {"allowed": True}
        with stack.client() as api:
            seen = api.get(f"{path}/{request['name']}").status_code
            made = api.post(path, json={"metadata": {"name": "copy"}}).status_code
        return {"allowed": (seen, made) == (404, 201), "status": {"message": f"{seen} {made}"}}

    with serving(authority.context(tmp_path, ["127.0.0.1"]), reviewing(decide)) as server:
        client = {"url": server.url, "caBundle": authority.bundle}
        with configured(kubectl, "Validating", client):
            assert "configmap/original created" in kubectl("create configmap original")
    assert kubectl("get configmap copy original -o name").split() == ["configmap/copy", "configmap/original"]


def test_a_custom_resource_is_judged_in_every_way_it_is_written(
    stack: Stack, kubectl: Kubectl, authority: Authority, tmp_path: Path
) -> None:
    """create, apply, patch and delete of an operator's kind, as kubectl sends them."""
    plural = f"w{kubectl.namespace.replace('-', '')}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": plural, "singular": plural[:-1], "kind": plural.capitalize()},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    kubectl("apply -f -", json.dumps(definition))
    kubectl(f"wait crd/{plural}.example.com --for=condition=Established --timeout=180s")
    seen: list[tuple[str, Any]] = []

    def decide(request: Any) -> Any:
        size = (request["object"] or request["oldObject"]).get("size")
        seen.append((request["operation"], size))
        return {"allowed": size != 3, "status": {"message": "three is too many"}}

    rule = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["*"], "resources": ["*"]}
    with serving(authority.context(tmp_path, ["127.0.0.1"]), reviewing(decide)) as server:
        client = {"url": server.url, "caBundle": authority.bundle}
        with configured(kubectl, "Validating", client, rule):
            one = {"apiVersion": "example.com/v1", "kind": plural.capitalize(), "metadata": {"name": "one"}, "size": 1}
            kubectl("create -f -", json.dumps(one))
            kubectl("apply --server-side --force-conflicts -f -", json.dumps({**one, "size": 2}))
            patch = json.dumps({"size": 3}, separators=(",", ":"))
            no = refused(kubectl, f"patch {plural} one --type=merge -p {patch}")
            kubectl(f"delete {plural} one")
    kubectl(f"delete crd {plural}.example.com")
    assert "three is too many" in no
    assert seen == [("CREATE", 1), ("UPDATE", 2), ("UPDATE", 3), ("DELETE", 2)]


def test_metrics_tell_of_the_calls(stack: Stack, kubectl: Kubectl, authority: Authority, tmp_path: Path) -> None:
    """In the server's own process, under upstream's names."""
    with serving(authority.context(tmp_path, ["127.0.0.1"]), reviewing(lambda _: {"allowed": True})) as server:
        client = {"url": server.url, "caBundle": authority.bundle}
        with configured(kubectl, "Validating", client, admissionReviewVersions=["v1"], name="counted.example.com"):
            kubectl("create configmap c")
    with stack.client() as api:
        lines = api.get("/metrics").text.splitlines()
    labels = 'code="200",name="counted.example.com",operation="CREATE",rejected="false",type="validating"'
    assert f"apiserver_admission_webhook_request_total{{{labels}}} 1" in lines


def test_several_servers_are_kept_apart(kubectl: Kubectl, authority: Authority, tmp_path: Path) -> None:
    """A webhook whose certificate another authority signed is not trusted because the first one is."""
    other = Authority.new("other")
    servers: list[HttpsServer] = []
    for bundle, is_trusted in ((authority.bundle, True), (other.bundle, False)):
        with serving(authority.context(tmp_path, ["127.0.0.1"]), reviewing(lambda _: {"allowed": True})) as server:
            servers.append(server)
            client = {"url": server.url, "caBundle": bundle}
            with configured(kubectl, "Validating", client):
                if is_trusted:
                    assert "created" in kubectl("create configmap trusted")
                else:
                    no = refused(kubectl, "create configmap untrusted")
                    assert "tls: failed to verify certificate: x509: certificate signed by unknown authority" in no
    assert [len(server.requests) for server in servers] == [1, 0]
