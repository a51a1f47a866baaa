"""What the demonstration sees, and how it shows it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from kubeloop.cli.demo.snapshot import Snapshot
from kubeloop.cli.demo.view import View

OLD, NEW = "nginx:1.27", "nginx:1.28"


def a_deployment(replicas: int, available: int, observed: int = 1) -> dict[str, Any]:
    status = {"availableReplicas": available, "observedGeneration": observed}
    return {"metadata": {"name": "web", "generation": 1}, "spec": {"replicas": replicas}, "status": status}


def a_replica_set(name: str, image: str, replicas: int, ready: int) -> dict[str, Any]:
    template = {"spec": {"containers": [{"image": image}]}}
    spec = {"replicas": replicas, "template": template}
    return {"metadata": {"name": name}, "spec": spec, "status": {"readyReplicas": ready}}


def a_pod(
    name: str, owner: str = "web-1", node: str = "node-0", ready: str = "True", **metadata: str
) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "ownerReferences": [{"name": owner}], **metadata},
        "spec": {"nodeName": node},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]},
    }


def test_a_chain_that_is_all_there_has_converged() -> None:
    """As many ready pods of one ReplicaSet as are wanted, and nothing else."""
    seen = Snapshot.of(
        a_deployment(2, 2),
        [a_replica_set("web-1", NEW, 2, 2), a_replica_set("web-0", OLD, 0, 0)],
        [a_pod("a", node="node-1"), a_pod("b", node="node-0")],
    )

    assert seen.has_converged(2, NEW)
    assert ["node-0", "node-1"] == seen.nodes


@pytest.mark.parametrize(
    "seen",
    [
        Snapshot(),
        Snapshot.of(a_deployment(2, 2, observed=0), [a_replica_set("web-1", NEW, 2, 2)], [a_pod("a"), a_pod("b")]),
        Snapshot.of(a_deployment(2, 1), [a_replica_set("web-1", NEW, 2, 2)], [a_pod("a"), a_pod("b")]),
        Snapshot.of(a_deployment(2, 2), [a_replica_set("web-1", OLD, 2, 2)], [a_pod("a"), a_pod("b")]),
        Snapshot.of(a_deployment(2, 2), [a_replica_set("web-1", NEW, 2, 2)], [a_pod("a"), a_pod("b", node="")]),
        Snapshot.of(a_deployment(2, 2), [a_replica_set("web-1", NEW, 2, 2)], [a_pod("a"), a_pod("b", ready="False")]),
        Snapshot.of(
            a_deployment(2, 2),
            [a_replica_set("web-1", NEW, 2, 2)],
            [a_pod("a"), a_pod("b"), a_pod("c", deletionTimestamp="2026-01-02T00:00:00Z")],
        ),
        Snapshot.of(
            a_deployment(2, 2),
            [a_replica_set("web-1", NEW, 1, 1), a_replica_set("web-0", OLD, 1, 1)],
            [a_pod("a"), a_pod("b", owner="web-0")],
        ),
    ],
)
def test_anything_missing_or_too_much_is_not_converged(seen: Snapshot) -> None:
    """The demonstration must be able to fail."""
    assert not seen.has_converged(2, NEW)


def test_without_a_terminal_each_change_is_one_line() -> None:
    """The same picture is not repeated, and lines are not broken."""
    output = io.StringIO()
    view = View(Console(file=output, width=40))
    seen = Snapshot.of(a_deployment(1, 1), [a_replica_set("web-1", NEW, 1, 1)], [a_pod("web-1-abcde")])

    view.show(Snapshot())
    view.show(seen)
    view.show(seen)
    view.say("done")

    assert [
        "  web 0/0 | - | -",
        "  web 1/1 | web-1 1/1 | web-1-abcde@node-0 Running",
        "done",
    ] == output.getvalue().splitlines()


def test_in_a_terminal_the_chain_is_a_table() -> None:
    """Each pod is a row beside its ReplicaSet, node and phase."""
    output = io.StringIO()
    view = View(Console(file=output, width=100, force_terminal=True, color_system=None))
    seen = Snapshot.of(
        a_deployment(1, 1),
        [a_replica_set("web-1", NEW, 1, 1), a_replica_set("web-0", OLD, 0, 0)],
        [a_pod("web-1-abcde")],
    )

    view.show(Snapshot())
    view.show(seen)
    view.settle()

    text = output.getvalue()
    for shown in ("Deployment", "web 1/1", "web-1 1/1", NEW, "web-1-abcde", "node-0", "Running", "web-0 0/0", OLD):
        assert shown in text
