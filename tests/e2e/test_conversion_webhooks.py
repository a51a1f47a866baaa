"""The real kubectl on a custom kind whose versions a real HTTPS webhook converts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeloop.cli.throwaway import free_port
from tests.testkit.converting import NAME, NEW, OLD, a_definition, a_route, answer_to
from tests.testkit.https import Answer, Authority, HttpsServer, Request, as_json, serving
from tests.testkit.stack import Kubectl, KubectlError

pytestmark = pytest.mark.e2e

ROUTES_NEW, ROUTES_OLD = "routes.v1.example.com", "routes.v1alpha1.example.com"


class Hook:
    """The webhook; `is_broken` lets it answer 503."""

    def __init__(self) -> None:
        self.is_broken = threading.Event()
        self.server: HttpsServer

    def respond(self, request: Request) -> Answer:
        if self.is_broken.is_set():
            return 503, "text/plain", b"out to lunch"
        return as_json(answer_to(request.body))


@pytest.fixture
def hook(kubectl: Kubectl, tmp_path: Path) -> Iterator[Hook]:
    """The definition, and its webhook behind a Service."""
    found, authority = Hook(), Authority.new()
    names = [f"converter.{kubectl.namespace}.svc"]
    with serving(authority.context(tmp_path, names), found.respond) as found.server:
        kubectl("create service clusterip converter --tcp=443")
        kubectl(f"annotate service converter kubeloop.io/forward-to=127.0.0.1:{found.server.port}")
        service = {"namespace": kubectl.namespace, "name": "converter", "path": "/convert"}
        definition = a_definition(client={"service": service, "caBundle": authority.bundle})
        applied(kubectl, definition)
        kubectl(f"wait crd/{NAME} --for=condition=Established --timeout=180s")
        yield found
        found.is_broken.clear()
        kubectl(f"delete crd {NAME} --timeout=180s")


def applied(kubectl: Kubectl, obj: Any, *flags: str) -> str:
    return kubectl(f"apply -f - {' '.join(flags)}", json.dumps(obj))


def route_of(kubectl: Kubectl, resource: Any = NEW, **spec: Any) -> Any:
    route = a_route(resource=resource, **spec)
    route["metadata"]["namespace"] = kubectl.namespace
    return route


def test_kubectl_works_in_both_versions(kubectl: Kubectl, hook: Hook) -> None:
    """apply, get with columns, and scale: each version shows what was written in the other."""
    first = applied(kubectl, route_of(kubectl, host="h", port=1))
    again = applied(kubectl, route_of(kubectl, host="h", port=1))
    old = kubectl(f"get {ROUTES_OLD}")
    changed = applied(kubectl, route_of(kubectl, OLD, hostPort="n:2", size=3))
    scaled = kubectl(f"scale {ROUTES_OLD}/a --replicas=5")
    new = kubectl.json(f"get {ROUTES_NEW} a")

    assert ["route.example.com/a created", "route.example.com/a unchanged"] == [first.strip(), again.strip()]
    assert [["NAME", "TARGET"], ["a", "h:1"]] == [line.split() for line in old.splitlines()]
    assert "route.example.com/a configured" == changed.strip()
    assert "route.example.com/a scaled" == scaled.strip()
    assert ("n", 2, 5) == tuple(new["spec"][field] for field in ("host", "port", "replicas"))


def test_kubectl_edits_what_the_version_shows(kubectl: Kubectl, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    """The editor gets the old version, and what it leaves behind changes the object that the new one shows."""
    applied(kubectl, route_of(kubectl, host="h", port=1))
    monkeypatch.setenv("KUBE_EDITOR", "sed -i s/h:1$/edited:7/")

    told = kubectl(f"edit {ROUTES_OLD} a")

    spec = kubectl.json(f"get {ROUTES_NEW} a")["spec"]
    assert ("route.example.com/a edited", "edited", 7) == (told.strip(), spec["host"], spec["port"])


def test_appliers_on_the_server_own_fields_in_their_versions(kubectl: Kubectl, hook: Hook) -> None:
    """A field that is owned in one version cannot be taken in the other without force."""
    applied(kubectl, route_of(kubectl, host="h", port=1), "--server-side", "--field-manager=one")
    taken = route_of(kubectl, OLD, hostPort="n:2")
    with pytest.raises(KubectlError, match=r'conflicts with "one"'):
        applied(kubectl, taken, "--server-side", "--field-manager=two")
    applied(kubectl, taken, "--server-side", "--field-manager=two", "--force-conflicts")

    entries = kubectl.json(f"get {ROUTES_NEW} a --show-managed-fields")["metadata"]["managedFields"]
    assert ("two", "example.com/v1alpha1") in [(entry["manager"], entry["apiVersion"]) for entry in entries]
    assert "one" not in [entry["manager"] for entry in entries]


def test_what_a_broken_webhook_refuses_works_again_with_it(kubectl: Kubectl, hook: Hook) -> None:
    """kubectl says whose conversion failed and why; the other version goes on."""
    applied(kubectl, route_of(kubectl, host="h", port=1))
    hook.is_broken.set()
    told = "Error from server: conversion webhook for example.com/v1, Kind=Route failed: "
    with pytest.raises(KubectlError, match=told + "the server is currently unable to handle the request"):
        kubectl(f"get {ROUTES_OLD}")
    kubectl(f"get {ROUTES_NEW}")
    hook.is_broken.clear()

    assert "h:1" in kubectl(f"get {ROUTES_OLD}")


def test_a_webhook_that_comes_up_late_is_found(kubectl: Kubectl, tmp_path: Path) -> None:
    """Until somebody listens at its address, conversions are refused as connections are."""
    authority, port = Authority.new(), free_port()
    client = {"url": f"https://127.0.0.1:{port}/convert", "caBundle": authority.bundle}
    applied(kubectl, a_definition(client=client))
    kubectl(f"wait crd/{NAME} --for=condition=Established --timeout=180s")
    try:
        applied(kubectl, route_of(kubectl, host="h", port=1))
        with pytest.raises(KubectlError) as caught:
            kubectl(f"get {ROUTES_OLD}")
        with serving(authority.context(tmp_path, ["127.0.0.1"]), lambda asked: as_json(answer_to(asked.body)), port):
            found = kubectl(f"get {ROUTES_OLD}")
    finally:
        kubectl(f"delete crd {NAME} --timeout=180s")

    assert (
        "Error from server: conversion webhook for example.com/v1, Kind=Route failed: Post "
        f'"https://127.0.0.1:{port}/convert?timeout=30s": dial tcp 127.0.0.1:{port}: connect: connection refused'
    ) in str(caught.value)
    assert "h:1" in found


def test_a_watch_of_the_other_version_follows(kubectl: Kubectl, hook: Hook) -> None:
    """kubectl get --watch shows every change once, in order, converted."""
    applied(kubectl, route_of(kubectl, host="h", port=0))
    watching = kubectl.in_background(f"get {ROUTES_OLD} --watch --no-headers -o custom-columns=S:.spec.hostPort")
    try:
        assert watching.stdout is not None
        seen = [watching.stdout.readline().strip()]
        for port in range(1, 10):
            applied(kubectl, route_of(kubectl, host="h", port=port))
        seen += [watching.stdout.readline().strip() for _ in range(1, 10)]
    finally:
        watching.terminate()
        watching.communicate()

    assert [f"h:{port}" for port in range(10)] == seen
