"""Operators written with kopf, unmodified and run by `kopf run` as real processes, at a real server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kubeloop.cli.throwaway import free_port
from tests.testkit.certificates import is_trusted
from tests.testkit.eventually import eventually
from tests.testkit.forgetful import ForgetfulServer
from tests.testkit.git_repositories import RealRepository
from tests.testkit.operator_process import kubeconfig_of
from tests.testkit.pages import blocks, readme_snippets, search_path
from tests.testkit.stack import ROOT, Kubectl, Stack, running

pytestmark = pytest.mark.e2e

OPERATORS = Path(__file__).parent / "kopf_operators"
BRIEF_CERTIFICATE = """
apiVersion: certs.example.com/v1
kind: Certificate
metadata: {name: brief}
spec: {secretName: brief-tls, dnsNames: [brief.example.com], duration: 1m, renewBefore: 58s}
"""
EXAMPLES = ROOT / "examples" / "operators"
DEFINITIONS = (
    "mysqlbackups.mysql.example.com",
    "certificates.certs.example.com",
    "applications.gitops.example.com",
    "kopfpeerings.kopf.dev",
)
GUIDE = ROOT / "docs" / "clients" / "kopf.md"


@contextmanager
def kopf_run(
    kubectl: Kubectl, folder: Path, *operators: str, flags: tuple[str, ...] = ("--standalone",), log: str = "kopf.log"
) -> Iterator[subprocess.Popen[str]]:
    """`kopf run` in the namespace of the test; what it logs is in `folder`."""
    files = [str(OPERATORS / f"{operator}.py") for operator in operators]
    command = (sys.executable, "-m", "kopf", "run", f"--namespace={kubectl.namespace}", *flags, *files)
    environment = {"KUBECONFIG": str(kubectl.kubeconfig)}
    with (
        (folder / log).open("a") as output,
        running(*command, environment=environment, cwd=folder, output=output.fileno()) as process,
    ):
        yield process


@pytest.fixture(scope="module", autouse=True)
def definitions(stack: Stack) -> Iterator[None]:
    """Of the example operators, with their namespaces and rights, and of peering."""
    everywhere = Kubectl(stack.kubectl.kubeconfig, namespace="")
    files = [EXAMPLES / name / "manifests" for name in ("mysql_backup", "certificate", "gitops")]
    flags = " ".join(f"-f {file}" for file in (*files, OPERATORS / "peering.yaml", OPERATORS / "rbac.yaml"))
    everywhere(f"apply {flags}")
    everywhere(f"wait --for=condition=Established --timeout=180s crd {' '.join(DEFINITIONS)}")
    yield
    everywhere(f"delete --wait=false {flags}")


@pytest.fixture
def calm(tmp_path: Path) -> Iterator[None]:
    """Afterwards: kopf found nothing wrong with the server."""
    yield
    log = (tmp_path / "kopf.log").read_text()
    wrong = [line for line in log.splitlines() if re.search(r"\[ERROR|inconsistenc|Failed to post|unsupported", line)]
    assert [] == wrong


@pytest.mark.client("kopf", "create, resume, update, delete and timer handlers across kill -9")
@pytest.mark.usefixtures("calm")
def test_a_job_is_followed_across_kill_9(stack: Stack, kubectl: Kubectl, tmp_path: Path) -> None:
    """create, resume, timer, update and delete handlers, a finalizer, events, an adopted child."""
    sample = (EXAMPLES / "mysql_backup" / "sample.yaml").read_text().replace("10s", "2s")
    kubectl("apply -f -", sample)
    with kopf_run(kubectl, tmp_path, "mysql_backup") as process:
        eventually(lambda: kubectl("get job nightly-dump -o name --ignore-not-found"), "the operator makes the Job")
        process.kill()
    kubectl("wait --for=condition=Complete --timeout=180s job/nightly-dump")

    with kopf_run(kubectl, tmp_path, "mysql_backup"):
        kubectl("wait --for=condition=Complete --timeout=180s mysqlbackup/nightly")
        owner = kubectl.json("get job nightly-dump")["metadata"]["ownerReferences"][0]
        kubectl('patch mysqlbackup nightly --type=merge -p {"spec":{"keepFor":"2h"}}')
        eventually(lambda: "kept for 2h instead of ever" in kubectl("get events"), "the update is told")
        records = _records(stack, kubectl.namespace)
        kubectl("delete mysqlbackup nightly --timeout=180s")

    assert ("MySQLBackup", "nightly", True) == (owner["kind"], owner["name"], owner["controller"])
    assert ([f"{kubectl.namespace}/nightly"], []) == (records, _records(stack, kubectl.namespace))
    assert "stored at s3://shop-backups/" in kubectl("get events")
    eventually(lambda: not kubectl("get jobs -o name"), "the garbage collector takes the Job")


@pytest.mark.client("kopf", "timers, with lists and with streaming watches")
@pytest.mark.usefixtures("calm")
@pytest.mark.parametrize("operators", [("application",), ("streaming", "application")], ids=" and ".join)
def test_git_is_applied_by_a_timer(kubectl: Kubectl, tmp_path: Path, operators: tuple[str, ...]) -> None:
    """Server-side apply by the official client; with lists first, and with watches that bring them along."""
    repository = RealRepository(tmp_path / "web.git")
    web = (ROOT / "examples" / "web" / "web.yaml").read_text()
    first = repository.commit({"deploy/web.yaml": web, "deploy/more.yaml": _config_map("more")})
    sample = (EXAMPLES / "gitops" / "sample.yaml").read_text().replace("file:///srv/git/web.git", repository.url)
    sample = sample.replace("namespace: web", f"namespace: {kubectl.namespace}").replace("namespace: default", "")
    with kopf_run(kubectl, tmp_path, *operators):
        kubectl("apply -f -", sample)
        eventually(lambda: _revision(kubectl) == ("Synced", first), "the commit is applied")
        kubectl("wait --for=condition=Healthy --timeout=180s application/web")
        kubectl("scale deployment web --replicas=5")
        eventually(lambda: _replicas(kubectl) == 3, "drift is undone")
        second = repository.commit({"deploy/web.yaml": web.replace("replicas: 3", "replicas: 2")})
        eventually(lambda: _revision(kubectl) == ("Synced", second), "the second commit is applied")
        eventually(lambda: not kubectl("get configmap more --ignore-not-found"), "what Git has no more is pruned")
        replicas = _replicas(kubectl)
        kubectl("delete application web --timeout=180s")

        assert (2, "") == (replicas, kubectl("get deployment web --ignore-not-found"))


@pytest.mark.client("kopf", "daemons and finalizers as a ServiceAccount")
@pytest.mark.usefixtures("calm")
def test_certificates_are_renewed_by_daemons(stack: Stack, kubectl: Kubectl, tmp_path: Path) -> None:
    """As a ServiceAccount with few rights: issued, trusted, renewed when it is time, made anew when lost, collected."""
    account = kubeconfig_of(stack, "certificate-system", "certificate-operator", tmp_path)
    with kopf_run(Kubectl(account, kubectl.namespace), tmp_path, "certificate"):
        kubectl(f"apply -f {EXAMPLES / 'certificate' / 'sample.yaml'}")
        kubectl("wait --for=condition=Ready --timeout=180s certificate/shop-ca certificate/web")
        secret = kubectl.json("get secret web-tls")
        kubectl("delete secret web-tls")
        eventually(lambda: _revision_of(kubectl, "web") == 2, "it is made anew")

        kubectl("apply -f -", BRIEF_CERTIFICATE)
        eventually(lambda: _revision_of(kubectl, "brief") >= 2, "it is renewed when it is time")
        eventually(lambda: "certificate/brief" in kubectl("get events"), "and an event says so")
        kubectl("delete certificates --all --timeout=180s")
        eventually(lambda: "-tls" not in kubectl("get secrets -o name"), "Secrets go with their Certificates")

    assert is_trusted(secret, "www.shop.example.com", datetime.now(UTC))


@pytest.mark.client("kopf", "peering")
def test_of_two_peers_the_one_of_lower_priority_pauses(kubectl: Kubectl, tmp_path: Path) -> None:
    """It works when it is alone, sees the other come, leaves the work to it, and goes on when the other is gone."""
    kubectl("apply -f -", "apiVersion: kopf.dev/v1\nkind: KopfPeering\nmetadata: {name: shop}\n")

    def flags(priority: int) -> tuple[str, ...]:
        return ("--peering=shop", f"--priority={priority}", "--verbose")

    def says(log: str, text: str) -> bool:
        return text in (tmp_path / log).read_text()

    with kopf_run(kubectl, tmp_path, "mysql_backup", flags=flags(1), log="low"):
        eventually(lambda: len(_peers(kubectl)) == 1, "the first one is a peer")
        with kopf_run(kubectl, tmp_path, "mysql_backup", flags=flags(2), log="high"):
            eventually(lambda: says("low", "Pausing operations in favour of"), "the first one pauses")
            eventually(lambda: says("low", "Pausing the watch-stream for mysqlbackups"), "and sees nothing more")
            assert [1, 2] == sorted(peer["priority"] for peer in _peers(kubectl).values())
            kubectl("apply -f -", (EXAMPLES / "mysql_backup" / "sample.yaml").read_text().replace("10s", "1s"))
            kubectl("wait --for=condition=Complete --timeout=180s mysqlbackup/nightly")
            assert (True, False) == (says("high", "'make_job' succeeded"), says("low", "'make_job' succeeded"))
        eventually(lambda: says("low", "Resuming operations after the pause"), "the first one goes on")
        assert [1] == [peer["priority"] for peer in _peers(kubectl).values()]
        kubectl("delete mysqlbackup nightly --timeout=180s")

    eventually(lambda: not _peers(kubectl), "whoever stops leaves the peering")


@pytest.mark.client("kopf", "watches after 410")
def test_an_operator_that_missed_too_much_lists_anew(forgetful: ForgetfulServer, tmp_path: Path) -> None:
    """The server comes back without the history that watches would resume from: 410, and nothing is missed."""
    kubectl = forgetful.kubectl
    kubectl(f"apply -f {EXAMPLES / 'mysql_backup' / 'manifests' / 'crd.yaml'}")
    kubectl("wait --for=condition=Established --timeout=180s crd/mysqlbackups.mysql.example.com")
    with kopf_run(kubectl, tmp_path, "impatient", "mysql_backup", flags=("--standalone", "--verbose")):
        kubectl("apply -f -", _backup("first"))
        eventually(lambda: _finalizers(kubectl, "first"), "the operator sees the first")
        forgetful.forget()
        kubectl("apply -f -", _backup("second"))
        eventually(lambda: _finalizers(kubectl, "second"), "the operator sees the second")

    assert "Restarting the watch-stream for mysqlbackups" in (tmp_path / "kopf.log").read_text()


@pytest.mark.client("kopf", "handlers for built-in kinds")
@pytest.mark.usefixtures("calm")
def test_the_readmes_operator_greets(kubectl: Kubectl, tmp_path: Path) -> None:
    """With an event, for ConfigMaps that have the label."""
    _, operator = readme_snippets()["kopf"]
    (tmp_path / "hello.py").write_text(operator)
    with kopf_run(kubectl, tmp_path, f"{tmp_path}/hello"):
        kubectl("create configmap bob")
        kubectl("create configmap alice")
        kubectl("label configmap alice greet=yes")
        eventually(lambda: "hello alice" in kubectl("get events"), "alice is greeted")

    assert "hello bob" not in kubectl("get events")


@pytest.mark.client("kopf", "the snippets of its page")
def test_the_guides_operator_passes_the_guides_test(tmp_path: Path) -> None:
    """docs/clients/kopf.md: definition, operator and test as they stand, but for the port."""
    (definition,) = blocks(GUIDE.read_text(), "yaml")
    operator, test = blocks(GUIDE.read_text(), "python")
    (tmp_path / "greetings.yaml").write_text(definition)
    (tmp_path / "greetings.py").write_text(operator)
    (tmp_path / "test_greetings.py").write_text(test.replace("8123", str(free_port())))

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--rootdir=.", "test_greetings.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PATH": search_path(), "KUBECACHEDIR": str(tmp_path / "kubectl-cache")},
        timeout=240,
    )

    assert 0 == done.returncode, done.stdout + done.stderr


def _records(stack: Stack, namespace: str) -> list[str]:
    answer = stack.kubectl.json("--namespace=mysql-backup-system get configmaps")
    backups = [item["data"].get("backup", "") for item in answer["items"]]
    return [backup for backup in backups if backup.startswith(f"{namespace}/")]


def _revision(kubectl: Kubectl) -> tuple[str, str]:
    sync = kubectl.json("get application web").get("status", {}).get("sync", {})
    return sync.get("status", ""), sync.get("revision", "")


def _revision_of(kubectl: Kubectl, name: str) -> int:
    return int(kubectl.json(f"get certificate {name}").get("status", {}).get("revision", 0))


def _replicas(kubectl: Kubectl) -> int:
    return int(kubectl.json("get deployment web")["spec"]["replicas"])


def _peers(kubectl: Kubectl) -> dict[str, Any]:
    peers: dict[str, Any] = kubectl.json("get kopfpeering shop").get("status", {})
    return peers


def _config_map(name: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"


def _backup(name: str) -> str:
    spec = "{host: mysql, database: shop, bucket: dumps, credentialsSecret: login}"
    return f"apiVersion: mysql.example.com/v1\nkind: MySQLBackup\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def _finalizers(kubectl: Kubectl, name: str) -> list[str]:
    finalizers: list[str] = kubectl.json(f"get mysqlbackup {name}")["metadata"].get("finalizers", [])
    return finalizers
