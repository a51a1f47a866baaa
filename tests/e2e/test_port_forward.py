"""`kubectl port-forward` to simulated pods: SPDY through a WebSocket, from end to end."""

from __future__ import annotations

import re

import httpx
import pytest

from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl

pytestmark = pytest.mark.e2e

MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec: {containers: [{name: main, image: nginx, ports: [{containerPort: 80}]}]}
"""


def test_a_pod_answers_on_a_port_of_this_machine(kubectl: Kubectl) -> None:
    """With a page that names it, request after request, until it is gone: kubectl itself does not notice that."""
    kubectl("apply -f -", MANIFEST)
    kubectl("wait --timeout=180s --for=condition=Ready pod/web")
    forwarding = kubectl.in_background("port-forward pod/web :80 --address=127.0.0.1")
    try:
        assert forwarding.stdout is not None
        port = re.search(r":(\d+) ->", forwarding.stdout.readline())
        assert port is not None
        for _ in range(3):
            page = httpx.get(f"http://127.0.0.1:{port[1]}/", trust_env=False, timeout=60).text
            assert f"pod: web\nnamespace: {kubectl.namespace}\n" in page and "label: app=web" in page
        kubectl("delete pod web --now")

        def is_gone() -> bool:
            try:
                return not httpx.get(f"http://127.0.0.1:{port[1]}/", trust_env=False).is_success
            except httpx.TransportError:
                return True

        eventually(is_gone, "a pod that was deleted answers")
    finally:
        forwarding.terminate()
        forwarding.communicate()
