"""Devices as somebody tries them: slices by hand, a Deployment whose pods claim one each, and one pod too many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.testkit.command import kubeloop
from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl, Stack

pytestmark = pytest.mark.e2e

DEVICES = Path("examples/devices/devices.yaml").absolute()


@pytest.fixture
def trainers(kubectl: Kubectl) -> Iterator[Kubectl]:
    """The example is applied; what belongs to no namespace goes again."""
    kubectl(f"apply -f {DEVICES}")
    yield kubectl
    kubectl(f"delete --timeout=180s -f {DEVICES}")


def test_a_pod_waits_for_a_device_and_gets_the_one_that_comes_free(trainers: Kubectl, stack: Stack) -> None:
    """Three cards are large enough: the fourth pod says what it waits for, and when one is deleted, three run again."""
    trainers("rollout status deployment/trainer --timeout=180s")
    trainers("scale deployment/trainer --replicas=4")
    waiting = eventually(lambda: _unschedulable(trainers), "a pod finds no card")
    flags = ("-n", trainers.namespace, f"--kubeconfig={stack.kubectl.kubeconfig}")
    why = kubeloop("why", f"pod/{waiting}", *flags).stdout
    others = [name for name in trainers("get pods -o name").split() if not name.endswith(waiting)]
    given = _cards(trainers)

    trainers(f"delete {others[0]} --wait=false")
    eventually(lambda: 3 == len(_running(trainers) - {others[0]}), "who waits gets the card")

    assert "cannot allocate all claims" in why
    assert [("node-0", "card-0"), ("node-0", "card-1"), ("node-1", "card-0")] == given
    eventually(lambda: given == _cards(trainers), "every card is in use again, and none is twice")


def _unschedulable(kubectl: Kubectl) -> str:
    """The name of the pod that has no node, and has been told why."""
    for pod in kubectl.json("get pods")["items"]:
        for condition in pod["status"].get("conditions", []):
            if condition["type"] == "PodScheduled" and "cannot allocate all claims" in condition.get("message", ""):
                return str(pod["metadata"]["name"])
    return ""


def _running(kubectl: Kubectl) -> set[str]:
    return set(kubectl("get pods -o name --field-selector=status.phase=Running").split())


def _cards(kubectl: Kubectl) -> list[tuple[str, str]]:
    claims = kubectl.json("get resourceclaims")["items"]
    allocations = [claim["status"]["allocation"] for claim in claims if claim.get("status", {}).get("allocation")]
    return sorted((one["pool"], one["device"]) for found in allocations for one in found["devices"]["results"])
