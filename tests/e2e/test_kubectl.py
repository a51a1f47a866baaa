"""The real kubectl against the real stack."""

from __future__ import annotations

import pytest

from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl, KubectlError, Stack

pytestmark = pytest.mark.e2e

WEB = "examples/web/web.yaml"
ROLLED = "rollout status deployment/web --timeout=180s"


def pods_of(kubectl: Kubectl) -> list[str]:
    return kubectl("get pods -l app=web -o name").split()


def test_create_deployment_brings_up_its_pods(kubectl: Kubectl) -> None:
    """`kubectl create deployment` (a protobuf body) ends in so many running pods, spread over the nodes."""
    kubectl("create deployment web --image=nginx --replicas=3")

    kubectl(ROLLED)

    pods = kubectl.json("get pods -l app=web")["items"]
    assert ["Running"] * 3 == [pod["status"]["phase"] for pod in pods]
    assert {"node-0", "node-1", "node-2"} == {pod["spec"]["nodeName"] for pod in pods}


def test_the_example_is_applied_and_applied_again(kubectl: Kubectl) -> None:
    """apply creates what the example holds; the second time nothing changes."""
    first = kubectl(f"apply -f {WEB}")
    kubectl(ROLLED)

    second = kubectl(f"apply -f {WEB}")

    assert ["deployment.apps/web created", "service/web created"] == first.splitlines()
    assert ["deployment.apps/web unchanged", "service/web unchanged"] == second.splitlines()


def test_a_deployment_is_scaled_both_ways(kubectl: Kubectl) -> None:
    """scale adds pods and takes them away."""
    kubectl(f"apply -f {WEB}")

    kubectl("scale deployment web --replicas=5")
    kubectl(ROLLED)
    many = len(pods_of(kubectl))
    kubectl("scale deployment web --replicas=1")

    assert 5 == many
    eventually(lambda: len(pods_of(kubectl)) == 1, "four of five pods go")


def test_an_image_is_rolled_out_and_back(kubectl: Kubectl) -> None:
    """set image rolls, history lists both revisions, undo goes back to the first image."""
    kubectl(f"apply -f {WEB}")
    kubectl(ROLLED)

    kubectl("set image deployment/web nginx=nginx:1.28")
    kubectl(ROLLED)
    history = kubectl("rollout history deployment/web")
    kubectl("rollout undo deployment/web")
    rolled_back = kubectl(ROLLED)

    assert ["1", "2"] == [line.split()[0] for line in history.splitlines()[2:] if line]
    assert "successfully rolled out" in rolled_back
    assert "nginx:1.27" == kubectl("get deployment web -o jsonpath={.spec.template.spec.containers[0].image}")


def test_a_deleted_pod_comes_back(kubectl: Kubectl) -> None:
    """Another pod takes the place of one that is deleted."""
    kubectl(f"apply -f {WEB}")
    kubectl(ROLLED)
    before = pods_of(kubectl)

    kubectl(f"delete {before[0]}")

    eventually(lambda: len(pods_of(kubectl)) == 3, "a third pod appears")
    assert before[0] not in pods_of(kubectl)
    kubectl(ROLLED)


def test_deleting_a_deployment_removes_everything_below_it(kubectl: Kubectl) -> None:
    """ReplicaSets and pods go with their Deployment."""
    kubectl(f"apply -f {WEB}")
    kubectl(ROLLED)

    kubectl("delete deployment web")

    eventually(lambda: not kubectl("get replicasets,pods -o name").strip(), "the garbage collector empties it")


def test_describe_and_events_tell_what_happened(kubectl: Kubectl) -> None:
    """The loops' events come, and describe shows them."""
    wanted = {"ScalingReplicaSet", "SuccessfulCreate", "Scheduled", "Pulled", "Created", "Started"}
    kubectl(f"apply -f {WEB}")
    kubectl(ROLLED)

    eventually(
        lambda: wanted <= {event["reason"] for event in kubectl.json("get events")["items"]},
        "everybody tells what he did, after he did it",
    )
    assert "Scaled up replica set web-" in kubectl("describe deployment web")


def test_nodes_are_ready_in_their_zones(stack: Stack) -> None:
    """node-0, -1, -2 are Ready, one a zone."""
    zones = stack.kubectl("get nodes -L topology.kubernetes.io/zone --no-headers")

    assert [
        ["node-0", "Ready", "zone-a"],
        ["node-1", "Ready", "zone-b"],
        ["node-2", "Ready", "zone-c"],
    ] == [[*line.split()[:2], line.split()[-1]] for line in zones.splitlines()]


def test_watching_shows_changes_as_they_come(kubectl: Kubectl) -> None:
    """`kubectl get -w` prints a line for a change that is made while it watches."""
    kubectl("create configmap seen --from-literal=k=1")
    watching = kubectl.in_background("get configmaps seen -w --no-headers")
    assert watching.stdout is not None
    first = watching.stdout.readline()

    kubectl('patch configmap seen --type=merge -p {"data":{"more":"2"}}')
    second = watching.stdout.readline()

    watching.terminate()
    watching.communicate()
    assert ["seen", "1"] == first.split()[:2]
    assert ["seen", "2"] == second.split()[:2]


def test_a_service_finds_its_pods(kubectl: Kubectl) -> None:
    """The example's Service has an EndpointSlice with one ready address a pod."""
    kubectl(f"apply -f {WEB}")
    kubectl(ROLLED)

    def ready_addresses() -> int:
        slices = kubectl.json("get endpointslices -l kubernetes.io/service-name=web")["items"]
        endpoints = [endpoint for piece in slices for endpoint in piece["endpoints"] or ()]
        return sum(endpoint["conditions"]["ready"] for endpoint in endpoints)

    eventually(lambda: ready_addresses() == 3, "three ready addresses are in the slice")


def test_what_is_absent_is_refused_as_usual(kubectl: Kubectl) -> None:
    """kubectl's words for a missing object are the usual ones."""
    with pytest.raises(KubectlError) as refused:
        kubectl("get deployment nothing")

    assert 'Error from server (NotFound): deployments.apps "nothing" not found' in str(refused.value)
