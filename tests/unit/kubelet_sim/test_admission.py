"""Which pods a node does not take, whoever bound them to it, and what it says then."""

from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim import admission, lifecycle, pod_spec
from kubelet_sim.state import Verdict
from kubelet_sim.status_patch import status_patch
from kubeloop.apimachinery.meta import Object
from tests.unit.kubelet_sim.played_pod import PlayedPod, a_container, a_pod

GPU = "example.com/gpu"


def a_node(*taints: Object, **allocatable: str) -> Object:
    return {
        "metadata": {"name": "node-0", "labels": {"kubernetes.io/os": "linux"}},
        "spec": {"taints": list(taints)},
        "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "110", **allocatable}},
    }


def asking(**requests: str) -> Object:
    return a_container(resources={"requests": requests})


def on_port(port: int, address: str = "") -> Object:
    return a_container(ports=[{"containerPort": 80, "hostPort": port, "hostIP": address}])


def refusal(pod: Object, node: Object | None = None, *taken: Object) -> tuple[str, str]:
    """What the node says of the pod beside those it has taken; ("", "") where it takes it."""
    ledger = admission.Ledger()
    for i, one in enumerate(taken):
        ledger.add("node-0", one, f"taken-{i}")
    found = admission.objections(pod, node or a_node(), ledger.used("node-0"), ledger.ports("node-0"), pressures=())
    return (found[0].verdict.reason, found[0].verdict.message) if found else ("", "")


@pytest.mark.parametrize(
    ("requests", "spec", "reason"),
    [
        ({"memory": "64Gi", "cpu": "64"}, {}, "OutOfcpu"),
        ({"ephemeral-storage": "1Gi", "memory": "64Gi"}, {}, "OutOfmemory"),
        ({"hugepages-2Mi": "4Mi"}, {}, "OutOfhugepages-2Mi"),
        ({"cpu": "64"}, {"nodeSelector": {"disk": "ssd"}}, "OutOfcpu"),
        ({"cpu": "64"}, {"os": {"name": "windows"}}, "PodOSNotSupported"),
        ({}, {"nodeSelector": {"disk": "ssd"}}, "NodeAffinity"),
    ],
)
def test_of_several_objections_the_first_is_told(requests: dict[str, str], spec: Object, reason: str) -> None:
    """In a kubelet's order: the platform, CPU, memory, local storage and the rest, and then the node's labels."""
    assert reason == refusal(a_pod(asking(**requests), **spec))[0]


def test_an_extended_resource_that_a_node_does_not_have_is_not_its_business() -> None:
    """Somebody else may provide it; of one that it has there must be enough."""
    pod = a_pod(asking(**{GPU: "2"}))

    assert ("", "") == refusal(pod)
    assert (f"OutOf{GPU}", f"Node didn't have enough resource: {GPU}, requested: 2, used: 0, capacity: 1") == refusal(
        pod, a_node(**{GPU: "1"})
    )


@pytest.mark.parametrize(
    ("taken", "wanted", "is_refused"),
    [
        (on_port(80), on_port(80), True),
        (on_port(80), on_port(81), False),
        (on_port(80, "127.0.0.1"), on_port(80, "127.0.0.2"), False),
        (on_port(80, "127.0.0.1"), on_port(80), True),
    ],
)
def test_a_host_port_is_given_once(taken: Object, wanted: Object, is_refused: bool) -> None:
    """Of an address, or of all of them, until the pod that has it is over."""
    said = refusal(a_pod(wanted), None, a_pod(taken))

    message = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
    assert said == (("NodePorts", message) if is_refused else ("", ""))


def test_a_host_port_is_free_again_when_its_pod_is_over() -> None:
    """The ledger forgets it with the pod."""
    ledger = admission.Ledger()
    ledger.add("node-0", a_pod(on_port(80)), "gone")
    ledger.remove("gone")

    assert [] == list(ledger.ports("node-0"))


@pytest.mark.parametrize(
    ("effect", "tolerations", "is_refused"),
    [
        ("NoExecute", [], True),
        ("NoExecute", [{"key": "gone", "operator": "Exists"}], False),
        ("NoSchedule", [], False),
    ],
)
def test_taints_that_would_evict_a_pod_keep_it_away(effect: str, tolerations: list[Object], is_refused: bool) -> None:
    """Those that only concern scheduling do not: it is on the node already."""
    said = refusal(a_pod(tolerations=tolerations), a_node({"key": "gone", "effect": effect}))

    message = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
    assert said == (("TaintToleration", message) if is_refused else ("", ""))


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        (
            {"securityContext": {"sysctls": [{"name": "net/core/somaxconn", "value": "1024"}]}},
            "SysctlForbidden",
            'forbidden sysctl: "net.core.somaxconn" not allowlisted',
        ),
        ({"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}]}}, "", ""),
        (
            {"os": {"name": "windows"}},
            "PodOSNotSupported",
            "Failed to admit pod as the OS field doesn't match node OS",
        ),
        (
            {"securityContext": {"supplementalGroupsPolicy": "Strict"}},
            "SupplementalGroupsPolicyNotSupported",
            "SupplementalGroupsPolicy=Strict is not supported in this node",
        ),
        ({"securityContext": {"supplementalGroupsPolicy": "Merge"}}, "", ""),
    ],
)
def test_what_a_node_cannot_do_is_refused(spec: dict[str, Any], reason: str, message: str) -> None:
    """In a kubelet's words."""
    assert (reason, message) == refusal(a_pod(**spec))


def test_a_pod_labelled_for_another_system_is_refused() -> None:
    """The label of the pod itself counts."""
    pod = a_pod()
    pod["metadata"]["labels"] = {"kubernetes.io/os": "windows"}

    message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
    assert ("PodOSSelectorNodeLabelDoesNotMatch", message) == refusal(pod)


def test_a_pod_that_a_node_rejects_has_no_conditions() -> None:
    """Not even that of the scheduler; those of others stay."""
    played = PlayedPod(a_pod())
    played.runtime, _ = lifecycle.reject(played.runtime, Verdict("OutOfcpu", "too much"))
    plan = lifecycle.plan(played.obj, pod_spec.read(played.obj, 3), played.runtime, played.now)
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "example.com/mine", "status": "True"}]

    patch = status_patch({**played.obj, "status": {"phase": "Pending", "conditions": conditions}}, plan.status)

    assert patch is not None
    assert [{"type": "PodScheduled", "$patch": "delete"}] == patch["status"]["conditions"]
