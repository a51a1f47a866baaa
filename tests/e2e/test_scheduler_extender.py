"""A scheduler with an HTTP extender: a service of the user's own says where pods go."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from tests.testkit.stack import Kubectl, Stack, running

pytestmark = pytest.mark.e2e


class OnlyOneNode(BaseHTTPRequestHandler):
    """Refuses every node but `allowed`."""

    allowed: ClassVar[str] = ""

    def do_POST(self) -> None:
        names = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["NodeNames"]
        refused = {name: "not my node" for name in names if name != self.allowed}
        answer = json.dumps({"NodeNames": [name for name in names if name not in refused], "FailedNodes": refused})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def extended(stack: Stack, tmp_path: Path) -> Iterator[None]:
    """The scheduler `extended` runs, and the service it asks."""
    with ThreadingHTTPServer(("127.0.0.1", 0), OnlyOneNode) as service:
        Thread(target=service.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{service.server_address[1]}/scheduler"
        configuration = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "profiles": [{"schedulerName": "extended"}],
            "extenders": [{"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True}],
        }
        (tmp_path / "scheduler.yaml").write_text(json.dumps(configuration))
        flags = (f"--config={tmp_path}/scheduler.yaml", f"--master={stack.server}")
        with running(sys.executable, "-m", "controllers.scheduler", *flags):
            yield
        service.shutdown()


@pytest.mark.usefixtures("extended")
def test_an_extender_says_where_a_pod_goes(kubectl: Kubectl) -> None:
    """A pod that may go to its node only does; one that may not is told so, in the extender's words."""
    first, second = (name.removeprefix("node/") for name in kubectl("get nodes -o name").split()[:2])
    OnlyOneNode.allowed = second
    kubectl('run free --image=nginx --overrides={"spec":{"schedulerName":"extended"}}')
    spec = {"schedulerName": "extended", "nodeSelector": {"kubernetes.io/hostname": first}}
    kubectl(f"run bound --image=nginx --overrides={json.dumps({'spec': spec}, separators=(',', ':'))}")

    kubectl("wait --for=condition=Ready pod/free --timeout=180s")
    kubectl("wait --for=condition=PodScheduled=false pod/bound --timeout=180s")

    assert second == kubectl.json("get pod free")["spec"]["nodeName"]
    (condition,) = (c for c in kubectl.json("get pod bound")["status"]["conditions"] if c["type"] == "PodScheduled")
    assert "1 not my node" in condition["message"]
