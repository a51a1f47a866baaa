"""Helm, unmodified: releases of a chart that uses what popular charts of web applications use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.clients.table import tool
from tests.testkit.helm import Helm, HelmError
from tests.testkit.stack import KubectlError

pytestmark = pytest.mark.e2e

APIS = "--api-versions=networking.k8s.io/v1/Ingress,autoscaling/v2,policy/v1/PodDisruptionBudget"
NO_HOOKS = "--set=migration.enabled=false"
# Not by helm's time, of which the way back would have no more: the Deployment itself says that it fails.
NEVER_COMES = "image.repository=does-not-exist,progressDeadlineSeconds=1"
FAILING = '--set-json=migration.command=["sh","-c","exit\\u00203"]'  # arguments are parted at spaces


@pytest.mark.client("Helm", "install, upgrade, rollback and uninstall with `--wait`; history, list, status and get")
def test_a_web_application_is_installed_upgraded_and_rolled_back(helm: Helm) -> None:
    """Each step is done when helm says so, and each revision is what is in the cluster."""
    kubectl = helm.kubectl

    notes = helm("install shop web --wait --timeout=180s")
    installed = kubectl.json("get deployment shop-web")
    kubectl("wait --for=jsonpath={.status.availableReplicas}=2 --timeout=180s deployment/shop-web")  # as its HPA wants
    helm("upgrade shop web --set=image.tag=1.28,config.greeting=welcome --wait --timeout=180s")
    upgraded = kubectl.json("get deployment shop-web")
    helm("rollback shop 1 --wait --timeout=180s")
    back = kubectl.json("get deployment shop-web")

    assert f"v{tool('helm')}" == helm("version --template={{.Version}}")
    assert "web 1.27 runs as shop-web on Kubernetes v1.36" in notes
    assert ["nginx:1.27", "nginx:1.28", "nginx:1.27"] == [_image(one) for one in (installed, upgraded, back)]
    assert installed["status"]["availableReplicas"] in (1, 2)
    assert [(2, 2)] * 2 == [(one["spec"]["replicas"], one["status"]["availableReplicas"]) for one in (upgraded, back)]
    assert _checksum(installed) == _checksum(back) != _checksum(upgraded)
    assert [
        (1, "superseded", "Install complete"),
        (2, "superseded", "Upgrade complete"),
        (3, "deployed", "Rollback to 1"),
    ] == helm.history("shop")
    assert [("shop", "3", "web-1.2.0")] == [(one["name"], one["revision"], one["chart"]) for one in helm.json("list")]
    assert {"v1/Service", "v1/Deployment", "v1/Ingress"} <= helm.json("status shop")["info"]["resources"].keys()
    assert {"config": {"greeting": "welcome"}, "image": {"tag": "1.28"}} == helm.json("get values shop --revision=2")
    assert "nginx:1.28" in helm("get manifest shop --revision=2")

    helm("uninstall shop --wait --timeout=180s")
    left = kubectl("get deployments,services,ingresses,hpa,pdb,serviceaccounts,secrets,configmaps -o name")
    assert ["configmap/kube-root-ca.crt", "serviceaccount/default"] == sorted(left.split())


@pytest.mark.client("Helm", "hooks by weight, their delete policies, `helm test`")
def test_hooks_run_in_their_order_and_go_as_they_say(helm: Helm) -> None:
    """The ConfigMap of weight -5 is there for the Job of weight 1, and goes; the Job stays until the next one."""
    kubectl = helm.kubectl

    helm("install shop web --set=image.tag=1.26")
    first = kubectl.json("get job shop-web-migration")
    printed = kubectl("logs job/shop-web-migration")
    helm("upgrade shop web --set=image.tag=1.28")
    second = kubectl.json("get job shop-web-migration")
    tested = helm("test shop --timeout=180s")

    assert ("migrating to 1.26\n", "migrating to 1.28\n") == (printed, kubectl("logs job/shop-web-migration"))
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
    assert "" == kubectl("get configmap shop-web-migration --ignore-not-found")
    assert "Succeeded" in tested


@pytest.mark.client("Helm", "`--rollback-on-failure` (once `--atomic`), hooks and pods that fail")
def test_an_upgrade_that_fails_is_rolled_back(helm: Helm) -> None:
    """Whether its hook fails or its pods never come; without the flag it stays as it is, and the next one mends it."""
    kubectl = helm.kubectl
    helm(f"install shop web {NO_HOOKS} --wait --timeout=180s")
    kubectl("wait --for=jsonpath={.status.availableReplicas}=2 --timeout=180s deployment/shop-web")  # as its HPA wants

    with pytest.raises(HelmError, match="rolled back due to rollback-on-failure"):
        helm(f"upgrade shop web {NO_HOOKS},{NEVER_COMES} --rollback-on-failure --timeout=180s")
    after = kubectl.json("get deployment shop-web")
    with pytest.raises(HelmError, match=r"pre-upgrade hooks failed.*shop-web-migration not ready"):
        helm(f"upgrade shop web {FAILING} --timeout=180s")
    failed = helm.history("shop")
    helm("upgrade shop web --wait --timeout=180s")

    assert "nginx:1.27" == _image(after)
    assert [(1, "superseded"), (2, "failed"), (3, "deployed"), (4, "failed")] == [one[:2] for one in failed]
    assert (3, "superseded") != helm.history("shop")[-1][:2] == (5, "deployed")


@pytest.mark.client("Helm", "`--dry-run=server`, `.Capabilities`, values.schema.json, `--create-namespace`")
def test_a_chart_is_rendered_for_what_the_cluster_serves(helm: Helm) -> None:
    """By its version and its APIs; nothing is written until it is meant, and wrong values are refused before."""
    kubectl = helm.kubectl
    elsewhere = f"{kubectl.namespace}-new"

    rendered = helm(f"install shop web --namespace={elsewhere} --create-namespace --dry-run=server")
    with pytest.raises(KubectlError, match="NotFound"):
        kubectl(f"get namespace {elsewhere}")
    with pytest.raises(HelmError, match="/service/port"):
        helm("install shop web --set=service.port=70000")
    helm(f"install shop web --namespace={elsewhere} --create-namespace {NO_HOOKS}")

    assert "apiVersion: networking.k8s.io/v1\n" in rendered and "apiVersion: autoscaling/v2\n" in rendered
    assert "kind: PodDisruptionBudget" in rendered and "ServiceMonitor" not in rendered
    assert "shop-web" in kubectl(f"get deployments --namespace={elsewhere}")
    kubectl(f"delete namespace {elsewhere} --wait=false")


@pytest.mark.client("Helm", "conflicts of server-side apply, `--force-conflicts`, client-side updates")
def test_fields_of_others_are_refused_until_they_are_forced(helm: Helm) -> None:
    """What somebody else applied is a conflict; a release of client-side updates goes on beside what others set."""
    kubectl = helm.kubectl
    helm(f"install shop web {NO_HOOKS}")
    greeting = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop-web"}, "data": {"greeting": "mine"}}
    kubectl("apply --server-side --force-conflicts --field-manager=alice -f -", json.dumps(greeting))
    changed = f"{NO_HOOKS},config.greeting=welcome"

    with pytest.raises(HelmError, match=r'conflict with "alice": \.data\.greeting'):
        helm(f"upgrade shop web {changed}")
    helm(f"upgrade shop web {changed} --force-conflicts")
    forced = kubectl.json("get configmap shop-web --show-managed-fields")
    helm(f"upgrade shop web {NO_HOOKS},config.greeting=goodbye --server-side=false")
    kubectl("label configmap shop-web kept=yes")
    helm(f"upgrade shop web {NO_HOOKS},config.farewell=bye --server-side=false")
    merged = kubectl.json("get configmap shop-web")

    assert "welcome" == forced["data"]["greeting"]
    assert {"helm": "Apply"}.items() <= _operations(forced).items()
    assert ("hello from shop", "bye") == (merged["data"]["greeting"], merged["data"]["farewell"])
    assert "yes" == merged["metadata"]["labels"]["kept"]


@pytest.mark.client("Helm", "`helm template` for kubectl, `--take-ownership`")
def test_what_kubectl_applied_becomes_a_release(helm: Helm) -> None:
    """Rendered without a cluster, applied server-side, and refused as somebody else's until it is taken."""
    kubectl = helm.kubectl
    manifests = helm(f"template shop web --no-hooks --skip-tests {APIS}")
    kubectl("apply --server-side -f -", manifests)
    kubectl("rollout status deployment/shop-web --timeout=180s")

    with pytest.raises(HelmError, match="exists and cannot be imported into the current release"):
        helm("install shop web --no-hooks")
    helm("install shop web --no-hooks --take-ownership --force-conflicts --wait --timeout=180s")

    annotations = kubectl.json("get deployment shop-web")["metadata"]["annotations"]
    assert ("shop", kubectl.namespace) == (
        annotations["meta.helm.sh/release-name"],
        annotations["meta.helm.sh/release-namespace"],
    )


@pytest.mark.client("Helm", "releases by users with the rights of a namespace")
def test_a_release_needs_no_more_than_the_role_admin(helm: Helm) -> None:
    """Who has no rights is told which one is missing; who is `admin` of the namespace can install and uninstall."""
    alice = "--kube-as-user=alice"

    with pytest.raises(HelmError, match='User "alice" cannot get resource "poddisruptionbudgets"'):
        helm(f"install shop web {alice} {NO_HOOKS}")
    helm.kubectl("create rolebinding alice --clusterrole=admin --user=alice")
    helm(f"install shop web {alice} {NO_HOOKS} --wait --timeout=180s")
    installed = helm.history("shop")
    helm(f"uninstall shop {alice} --wait --timeout=180s")

    assert [(1, "deployed", "Install complete")] == installed
    assert "" == helm.kubectl("get deployments -o name")


def _image(deployment: Any) -> str:
    return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])


def _checksum(deployment: Any) -> str:
    return str(deployment["spec"]["template"]["metadata"]["annotations"]["checksum/config"])


def _operations(obj: Any) -> dict[str, str]:
    return {entry["manager"]: entry["operation"] for entry in obj["metadata"]["managedFields"]}
