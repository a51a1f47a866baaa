"""A second scheduler beside the stack's own, with the configuration and the plugin that docs/scheduler.md shows."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeloop.cli.throwaway import free_port
from tests.testkit.command import kubeloop
from tests.testkit.eventually import eventually
from tests.testkit.stack import ROOT, Kubectl, Stack, running

pytestmark = pytest.mark.e2e


@pytest.fixture
def loud(kubectl: Kubectl) -> Iterator[str]:
    """The one node that is not labelled quiet. A scheduler that is started now knows of that before it sees pods."""
    first, *others = kubectl("get nodes -o name").split()
    for node in others:
        kubectl(f"label {node} quiet=yes")
    yield first
    for node in others:
        kubectl(f"label {node} quiet-")


@pytest.fixture
def packing(stack: Stack, loud: str, tmp_path: Path) -> Iterator[tuple[str, ...]]:
    """The scheduler runs; its flags."""
    text = (ROOT / "docs" / "scheduler.md").read_text()
    for language, name in (("yaml", "scheduler.yaml"), ("python", "quiet.py")):
        block = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
        assert block is not None
        (tmp_path / name).write_text(block[1])
    flags = (f"--config={tmp_path}/scheduler.yaml", "--plugin=quiet:AvoidQuietNodes")
    command = (sys.executable, "-m", "controllers.scheduler", *flags, f"--master={stack.server}")
    with running(*command, environment={"PYTHONPATH": str(tmp_path)}):
        yield flags


def test_pods_choose_their_scheduler(
    stack: Stack, kubectl: Kubectl, loud: str, packing: tuple[str, ...], tmp_path: Path
) -> None:
    """Those that name it go where its plugin and its arguments say; `why` knows it by the same flags."""
    kubectl('run packed --image=nginx --overrides={"spec":{"schedulerName":"packing"}}')
    kubectl("wait --for=condition=Ready pod/packed --timeout=180s")
    where = ("-n", kubectl.namespace, f"--kubeconfig={stack.kubectl.kubeconfig}")
    arguments = [f"--scheduler-arg={flag}" for flag in packing]

    told = kubeloop("why", "pod/packed", *where, *arguments, PYTHONPATH=str(tmp_path))
    unknown = kubeloop("why", "pod/packed", *where)

    assert loud == f"node/{kubectl.json('get pod packed')['spec']['nodeName']}"
    assert "AvoidQuietNodes" in told.stdout, told.stderr
    assert (1, True) == (unknown.returncode, "is left to the scheduler 'packing'" in unknown.stderr)


def test_a_configuration_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """Before anything is started."""
    (tmp_path / "scheduler.yaml").write_text("kind: KubeSchedulerConfiguration\n")
    port = free_port()

    with running(
        *(sys.executable, "-m", "controllers.scheduler", f"--config={tmp_path}/scheduler.yaml"),
        *(f"--master=http://127.0.0.1:{port}",),
    ) as process:
        assert 1 == eventually(process.poll, "it ends")
