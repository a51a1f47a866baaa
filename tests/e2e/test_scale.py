"""`kubeloop scale nodes` on a running stack."""

from __future__ import annotations

import json

import pytest

from tests.testkit.command import kubeloop
from tests.testkit.stack import Stack

pytestmark = pytest.mark.e2e


def test_nodes_are_added_and_removed() -> None:
    """The command returns when the nodes take pods, or are gone; a restart keeps the number. Either flag finds them."""
    with Stack() as stack:
        flag = f"--kubeconfig={stack.kubectl.kubeconfig}"
        before = stack.kubectl("get nodes -o name").split()

        more = kubeloop("scale", "nodes", "5", flag)
        grown = stack.kubectl("get nodes -o name").split()
        fewer = kubeloop("scale", "nodes", "1", f"--data-dir={stack.data_dir}")
        shrunk = stack.kubectl("get nodes -o name").split()
        stack.stop()
        stack.start()
        restarted = stack.kubectl("get nodes -o name").split()
        status = kubeloop("status", "-o", "json", flag)
        stopped = kubeloop("down", flag)

    assert 5 != len(before)
    assert (0, 5) == (more.returncode, len(grown)), more.stderr
    assert (0, ["node/node-0"]) == (fewer.returncode, shrunk), fewer.stderr
    assert ["node/node-0"] == restarted
    assert json.loads(status.stdout)["ready"], status.stderr
    assert "everything is stopped" in stopped.stdout, stopped.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("pods", "3"), "'pods' cannot be scaled here: write `kubeloop scale nodes 3`"),
        (("nodes", "70000"), "70000: write a number of nodes from 0 to 65000"),
    ],
)
def test_nonsense_is_refused(arguments: tuple[str, ...], said: str) -> None:
    done = kubeloop("scale", *arguments)

    assert (1, f"error: {said}") == (done.returncode, done.stderr.strip())
