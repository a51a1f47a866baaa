"""The example operators as their READMEs run them: real processes, kubectl, least rights, and kill -9 in the middle."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kubeloop.cli.options import UpOptions
from tests.testkit.certificates import held, is_trusted
from tests.testkit.eventually import eventually
from tests.testkit.git_repositories import RealRepository
from tests.testkit.operator_process import operator
from tests.testkit.stack import ROOT, Kubectl, KubectlError, Stack

pytestmark = pytest.mark.e2e

FOLDER = ROOT / "examples" / "operators"
OPERATORS = ("mysql_backup", "certificate", "gitops")


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """A stack of this module's own that asks everybody for his rights; the definitions and accounts are in it."""
    with Stack(UpOptions(nodes=1, secure=True)) as running:
        everywhere = Kubectl(running.kubectl.kubeconfig, namespace="")
        for name in OPERATORS:
            everywhere(f"apply -f {FOLDER / name / 'manifests'}")
        running.kubectl("wait --for=condition=Established --timeout=180s crd --all")
        yield running


class TestMySQLBackup:
    run = staticmethod(
        partial(operator, name="mysql_backup", namespace="mysql-backup-system", account="mysql-backup-operator")
    )
    sample = (FOLDER / "mysql_backup" / "sample.yaml").read_text().replace("10s", "2s")

    def test_a_killed_operator_goes_on_where_it_was(self, stack: Stack, kubectl: Kubectl, tmp_path: Path) -> None:
        """kill -9 while the Job has its pod wait for a Secret, and then ends unseen: the next process says what came of
        it, and cleans up."""
        kubectl("apply -f -", self.sample.partition("\n---\n")[2])
        with self.run(stack=stack, folder=tmp_path) as process:
            eventually(lambda: kubectl("get job nightly-dump -o name"), "the operator makes the Job")
            process.kill()
        kubectl("apply -f -", self.sample)
        kubectl("wait --for=condition=Complete --timeout=180s job/nightly-dump")
        assert "Succeeded" not in kubectl("get mysqlbackup nightly")

        with self.run(stack=stack, folder=tmp_path):
            kubectl("wait --for=condition=Complete --timeout=180s mysqlbackup/nightly")
            table = kubectl("get mysqlbackups")
            described = kubectl("describe mysqlbackup nightly")
            recorded = self.records(stack, kubectl.namespace)
            kubectl("delete mysqlbackup nightly --timeout=180s")
            left = self.records(stack, kubectl.namespace)

        assert ["NAME", "DATABASE", "PHASE", "REASON", "COMPLETED", "AGE"] == table.split()[:6]
        assert ["nightly", "shop", "Succeeded", "DumpStored"] == table.split()[6:10]
        assert "stored at s3://shop-backups/" in described
        assert ([f"{kubectl.namespace}/nightly"], []) == (recorded, left)
        eventually(lambda: not kubectl("get jobs -o name"), "the garbage collector takes the Job")
        assert "code=403" not in (tmp_path / "mysql-backup-operator.log").read_text()

    def test_kubectl_is_told_what_is_wrong_with_a_spec(self, kubectl: Kubectl) -> None:
        """By the schema and its rules, before the operator sees it; --validate finds misspelled fields."""
        refusals = {
            "database: shop": ("database: 'a b'", "spec.database: Invalid value"),
            "host: mysql.shop.svc": ("host: mysql\n  deletionPolicy: Maybe", 'supported values: "Delete", "Retain"'),
            "bucket: shop-backups": ("bucket: shop-backups\n  keepfor: 1h", 'unknown field "spec.keepfor"'),
        }
        for found, (replacement, said) in refusals.items():
            with pytest.raises(KubectlError, match=said.replace(".", r"\.")):
                kubectl("apply -f -", self.sample.replace(found, replacement))

    @staticmethod
    def records(stack: Stack, namespace: str) -> list[Any]:
        """The backups of a namespace that the operator has recorded dumps of."""
        answer = stack.kubectl.json("--namespace=mysql-backup-system get configmaps")
        backups = [item["data"].get("backup", "") for item in answer["items"]]
        return [backup for backup in backups if backup.startswith(f"{namespace}/")]


class TestCertificate:
    run = staticmethod(
        partial(operator, name="certificate", namespace="certificate-system", account="certificate-operator")
    )
    sample = FOLDER / "certificate" / "sample.yaml"

    def test_a_killed_operator_mends_what_it_missed(self, stack: Stack, kubectl: Kubectl, tmp_path: Path) -> None:
        """The sample is issued and trusted; a key lost and a CA renamed after kill -9 are seen by the next process."""
        with self.run(stack=stack, folder=tmp_path) as process:
            kubectl(f"apply -f {self.sample}")
            kubectl("wait --for=condition=Ready --timeout=180s certificate/shop-ca certificate/web")
            first = kubectl.json("get secret web-tls")
            process.kill()
        kubectl("replace -f -", json.dumps({**first, "data": {**first["data"], "tls.key": ""}}))
        kubectl('patch certificate shop-ca --type=merge --patch={"spec":{"commonName":"other"}}')

        with self.run(stack=stack, folder=tmp_path):
            second = eventually(partial(self.signed_by, kubectl, "CN=other"), "the CA is renamed, and signs anew")
            kubectl("wait --for=condition=Ready --timeout=180s certificate/web")
            # The Secret of the CA, which it signs with, comes before its own status that says so.
            kubectl("wait --for=jsonpath={.status.revision}=2 --timeout=180s certificate/shop-ca")
            table = kubectl("get certificates")
            described = kubectl("describe certificate web")
            kubectl("delete certificate web")
            eventually(lambda: "web-tls" not in kubectl("get secrets -o name"), "the Secret goes with its Certificate")

        now = datetime.now(UTC)
        assert [True, True] == [is_trusted(secret, "www.shop.example.com", now) for secret in (first, second)]
        assert ["NAME", "READY", "SECRET", "REVISION", "RENEWAL", "AGE"] == table.split()[:6]
        assert ["shop-ca", "True", "shop-ca", "2"] == table.split()[6:10]
        assert "good until" in described
        assert "code=403" not in (tmp_path / "certificate-operator.log").read_text()

    @staticmethod
    def signed_by(kubectl: Kubectl, issuer: str) -> Any:
        """The Secret, once its certificate is of that issuer; it may be without its key until then."""
        secret = kubectl.json("get secret web-tls")
        return secret if held(secret).issuer.rfc4514_string() == issuer else None


WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: web, image: "nginx:1"}}]}}
---
"""
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{key: value}}\n---\n"


class TestGitOps:
    run = staticmethod(
        partial(
            operator,
            name="gitops",
            namespace="gitops-system",
            account="gitops-operator",
            flags=("--poll-interval=300ms",),
        )
    )

    def test_the_cluster_follows_git(self, stack: Stack, kubectl: Kubectl, tmp_path: Path) -> None:
        """A commit is rolled out, drift is undone, what leaves Git is pruned, and all goes with the Application."""
        repository = RealRepository(tmp_path / "web.git")
        repository.commit({"deploy/web.yaml": WEB.format(replicas=2), "deploy/more.yaml": SETTINGS.format(name="more")})
        kubectl("apply -f -", self.application(kubectl, repository))
        with self.run(stack=stack, folder=tmp_path):
            kubectl("wait --for=condition=Synced --timeout=180s application/web")
            kubectl("wait --for=condition=Healthy --timeout=180s application/web")
            table = kubectl("get applications")
            assert "2/2" in kubectl("get deployment web")

            kubectl("scale deployment web --replicas=5")
            eventually(lambda: self.replicas(kubectl) == 2, "drift is undone")

            commit = repository.commit({"deploy/web.yaml": WEB.format(replicas=3)})
            self.wait_for(kubectl, commit)
            assert self.replicas(kubectl) == 3
            assert not kubectl("get configmap more --ignore-not-found")
            told = ("Synced", "SelfHealed", "Pruned")
            eventually(lambda: set(told) <= self.reasons(kubectl), "it tells what it did, after its status says so")
            described = kubectl("describe application web")

            kubectl("delete application web --timeout=180s")
            assert not kubectl("get deployment web --ignore-not-found")

        assert ["NAME", "SYNC", "HEALTH", "AGE", "web", "Synced", "Healthy"] == table.split()[:7]
        assert [reason in described for reason in told] == [True] * 3
        assert "Traceback" not in (tmp_path / "gitops-operator.log").read_text()

    def test_a_killed_operator_leaves_nothing_behind(self, stack: Stack, kubectl: Kubectl, tmp_path: Path) -> None:
        """kill -9 in the middle of a sync, and another commit before the next process: the cluster is as that one."""
        repository = RealRepository(tmp_path / "web.git")
        first = "".join(SETTINGS.format(name=f"first-{i}") for i in range(200))
        repository.commit({"deploy/all.yaml": first})
        kubectl("apply -f -", self.application(kubectl, repository))
        ours = "get configmaps --selector=gitops.example.com/application=web -o name"
        with self.run(stack=stack, folder=tmp_path) as process:
            eventually(lambda: kubectl(ours), "the sync begins")
            process.kill()
        applied = len(kubectl(ours).split())
        commit = repository.commit({"deploy/all.yaml": SETTINGS.format(name="second")})

        with self.run(stack=stack, folder=tmp_path):
            self.wait_for(kubectl, commit)
            left = kubectl(ours).split()
            kubectl("delete application web --timeout=180s")

        assert applied
        assert ["configmap/second"] == left
        assert not kubectl(ours)

    @staticmethod
    def application(kubectl: Kubectl, repository: RealRepository) -> str:
        """The sample, about this repository and the test's namespace."""
        sample = (FOLDER / "gitops" / "sample.yaml").read_text()
        sample = sample.replace("file:///srv/git/web.git", f"file://{repository.url}")
        return sample.replace("namespace: web", f"namespace: {kubectl.namespace}").replace("namespace: default", "")

    @staticmethod
    def reasons(kubectl: Kubectl) -> set[str]:
        """Of the events of the Application."""
        about = "--field-selector=involvedObject.kind=Application,involvedObject.name=web"
        return {event["reason"] for event in kubectl.json(f"get events {about}")["items"]}

    @staticmethod
    def replicas(kubectl: Kubectl) -> int:
        return int(kubectl.json("get deployment web")["spec"]["replicas"])

    @staticmethod
    def wait_for(kubectl: Kubectl, commit: str) -> None:
        wanted = {"status": "Synced", "revision": commit}
        eventually(lambda: kubectl.json("get application web")["status"].get("sync") == wanted, "the commit is applied")
