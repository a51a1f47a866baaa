"""`--kubernetes-version`: servers and stacks of other minor versions, and the real kubectl."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubeloop.apimachinery.releases import RELEASES
from kubeloop.cli.options import UpOptions
from tests.testkit.stack import Kubectl, KubectlError, Stack, api_server_alone

pytestmark = pytest.mark.e2e

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}


@pytest.mark.parametrize("release", RELEASES)
def test_kubectl_meets_the_version_asked_for(release: str, tmp_path: Path) -> None:
    """It says it in /version and in its OpenAPI document, and serves the kinds that version has."""
    with api_server_alone(f"--kubernetes-version={release}") as server:
        kubectl = Kubectl(tmp_path / "kubeconfig")
        version = json.loads(kubectl(f"--server={server} get --raw /version"))
        shown = kubectl(f"--server={server} version")
        served = kubectl(f"--server={server} api-resources -o name").split()
        documented = json.loads(kubectl(f"--server={server} get --raw /openapi/v3/version"))["info"]["version"]

    assert (f"v{release}.0", *release.split(".")) == (version["gitVersion"], version["major"], version["minor"])
    assert f"Server Version: v{release}.0" in shown.splitlines()
    assert f"v{release}.0" == documented
    assert (release >= "1.34") == ("volumeattributesclasses.storage.k8s.io" in served)
    assert (release >= "1.36") == ("mutatingadmissionpolicies.admissionregistration.k8s.io" in served)


def test_the_oldest_version_runs_a_whole_stack() -> None:
    """Nodes say it too, a Deployment rolls out, and a field of a later version is refused."""
    oldest = RELEASES[0]
    with Stack(UpOptions(kubernetes_version=oldest)) as stack:
        kubectl = stack.kubectl
        kubectl("create deployment web --image=nginx --replicas=2")
        kubectl("rollout status deployment/web --timeout=180s")
        versions = kubectl("get nodes -o jsonpath={.items[*].status.nodeInfo.kubeletVersion}").split()
        spec = {"containers": [{"name": "c", "image": "i"}], "hostnameOverride": "x"}
        with pytest.raises(KubectlError, match=r'unknown field "spec.hostnameOverride"'):
            kubectl("create -f -", stdin=json.dumps({**POD, "spec": spec}))

    assert {f"v{oldest}.0"} == set(versions)
