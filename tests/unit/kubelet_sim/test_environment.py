"""What a container is told of itself and of its pod: variables, files of the downward API, paths within volumes."""

from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.environment import downward, environment, mounted_at, sub_path_error, with_node_limits
from kubelet_sim.shell.playing import Play
from kubelet_sim.shell.world import World
from kubeloop.apimachinery.meta import Object
from tests.unit.kubelet_sim.played_pod import a_container, a_pod

ALLOCATABLE = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "110"}
LIMITED = {"requests": {"cpu": "100m"}, "limits": {"cpu": "1500m", "memory": "100Mi"}}


def told(resource: str, divisor: str = "", resources: Any = None) -> str:
    """By a file of a volume, on a node with ALLOCATABLE."""
    pod = with_node_limits(a_pod(a_container(resources=resources or {})), ALLOCATABLE)
    source = {"containerName": "c", "resource": resource} | ({"divisor": divisor} if divisor else {})
    return downward(pod, {"path": "x", "resourceFieldRef": source})


@pytest.mark.parametrize(
    ("resource", "divisor", "expected"),
    [
        ("limits.cpu", "", "2"),
        ("limits.cpu", "1m", "1500"),
        ("limits.cpu", "0", "2"),
        ("limits.memory", "1Mi", "100"),
        ("limits.memory", "1k", "104858"),
        ("requests.cpu", "1m", "100"),
        ("requests.memory", "", "0"),
    ],
)
def test_amounts_are_in_units_of_the_divisor(resource: str, divisor: str, expected: str) -> None:
    """Rounded up."""
    assert expected == told(resource, divisor, LIMITED)


@pytest.mark.parametrize(
    ("resource", "expected"), [("limits.cpu", "4"), ("limits.memory", str(8 * 2**30)), ("requests.cpu", "0")]
)
def test_who_has_no_limit_may_have_all_of_the_node(resource: str, expected: str) -> None:
    """What it does not request is nothing."""
    assert expected == told(resource)


def test_who_is_not_there_has_nothing() -> None:
    """A file for a container of another name is empty; init containers are found."""
    pod = a_pod(initContainers=[a_container("init", resources=LIMITED)])

    found = [
        downward(pod, {"resourceFieldRef": {"containerName": name, "resource": "limits.cpu"}}) for name in ("x", "init")
    ]

    assert ["", "2"] == found


def test_addresses_and_labels_are_told_as_a_kubelet_tells_them() -> None:
    """Addresses with commas, labels as Go quotes them."""
    pod = a_pod(annotations={"a": 'say "hi"\nthere'})
    pod["status"] |= {"hostIPs": [{"ip": "172.18.0.2"}, {"ip": "fd00::2"}], "podIPs": [{"ip": "10.0.0.1"}]}
    names = ("status.hostIPs", "status.podIPs", "metadata.annotations['a']")
    variables = [{"name": f"V{i}", "valueFrom": {"fieldRef": {"fieldPath": name}}} for i, name in enumerate(names)]

    known = environment(pod, a_container(env=variables))

    assert ["172.18.0.2,fd00::2", "10.0.0.1", 'say "hi"\nthere'] == [known[f"V{i}"] for i in range(3)]
    assert r'a="say \"hi\"\nthere"' == downward(pod, {"fieldRef": {"fieldPath": "metadata.annotations"}})


def a_mounting(expression: str, **container: Any) -> Object:
    return a_container(volumeMounts=[{"name": "v", "mountPath": "/v", "subPathExpr": expression}], **container)


def test_paths_within_volumes_are_made_of_variables() -> None:
    """As a command is."""
    container = a_mounting("logs/$(POD)/$$(x)", env=[{"name": "POD", "value": "web-0"}])

    assert [("v", "/v", "logs/web-0/$(x)")] == mounted_at(container, environment(a_pod(), container))
    assert "" == sub_path_error(container)


@pytest.mark.parametrize(
    ("container", "why"),
    [
        (a_mounting("$(B)/$(A)"), "missing value for A, B"),
        (a_mounting("$(A)", env=[{"name": "A", "value": ""}]), "missing value for A"),
        (a_mounting("$(A)", env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]), ""),
        (a_mounting("$(A)", envFrom=[{"configMapRef": {"name": "x"}}]), ""),
        (a_mounting("$(WEB_SERVICE_HOST)"), ""),
    ],
)
def test_a_path_of_variables_that_are_not_there_cannot_be_mounted(container: Object, why: str) -> None:
    """What nobody can know beforehand is believed."""
    assert why == sub_path_error(container)


@pytest.mark.parametrize(
    ("groups", "arguments", "said"),
    [
        ((), "", "uid=1000 gid=2000 groups=2000"),
        ((3000, 2000, 4000), "", "uid=1000 gid=2000 groups=2000,3000,4000"),
        ((3000, 0), "-G", "2000 3000 0"),
    ],
)
def test_who_a_process_is(groups: tuple[int, ...], arguments: str, said: str) -> None:
    """With the groups that the pod gives to it, each once."""
    play = Play(World(user=1000, group=2000, more_groups=groups), ["sh", "-c", f"id {arguments}"])
    while play.step():
        pass

    assert f"{said}\n" == "".join(one.text for one in play.written)
