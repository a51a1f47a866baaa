"""Pods: what is filled in, what is refused and in which words, and what may change later."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import CREATED, KindOnTrial

PODS = KindOnTrial("v1", "Pod")


def pod(*containers: Object, **spec: Any) -> Object:
    return {"spec": {"containers": list(containers) or [{"name": "c", "image": "n:1"}], **spec}}


def test_an_ordinary_pod_gets_its_defaults() -> None:
    """A pod with no more than a container gets the defaults of its spec and container, and a pending status."""
    body = pod({"name": "c", "image": "n:1", "ports": [{"containerPort": 80}]})

    actual = PODS.created(body)

    container = {
        "name": "c",
        "image": "n:1",
        "ports": [{"containerPort": 80, "protocol": "TCP"}],
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    expected = {
        "containers": [container],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
    }
    assert expected == actual["spec"]
    assert {"phase": "Pending", "qosClass": "BestEffort"} == actual["status"]
    assert actual["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("n", "Always"),
        ("n:latest", "Always"),
        ("n:1", "IfNotPresent"),
        ("r.example.com:5000/n", "Always"),
        ("n@sha256:" + "a" * 64, "IfNotPresent"),
    ],
)
def test_images_that_may_change_are_always_pulled(image: str, policy: str) -> None:
    """An image without tag, or with the tag latest, is pulled always, any other only where it is missing."""
    body = pod({"name": "c", "image": image})

    actual = PODS.created(body)["spec"]["containers"][0]["imagePullPolicy"]

    assert policy == actual


@pytest.mark.parametrize(
    ("resources", "qos"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
    ],
)
def test_the_quality_of_service_follows_requests_and_limits(resources: Object, qos: str) -> None:
    """Limits that are also the requests make a pod Guaranteed, less makes it Burstable, nothing BestEffort."""
    body = pod({"name": "c", "image": "n:1", "resources": resources})

    actual = PODS.created(body)["status"]["qosClass"]

    assert qos == actual


def test_limits_stand_in_for_missing_requests() -> None:
    """A limit without a request is the request too."""
    body = pod({"name": "c", "image": "n:1", "resources": {"limits": {"cpu": "1"}, "requests": {"memory": "1Gi"}}})

    actual = PODS.created(body)["spec"]["containers"][0]["resources"]["requests"]

    assert {"cpu": "1", "memory": "1Gi"} == actual


REFUSED_CONTAINERS: list[tuple[Object, list[str]]] = [
    ({"image": "n:1"}, ["spec.containers[0].name: Required value"]),
    ({"name": "c"}, ["spec.containers[0].image: Required value"]),
    (
        {"name": "c", "image": "n:1", "ports": [{"containerPort": 0}]},
        ["spec.containers[0].ports[0].containerPort: Required value"],
    ),
    (
        {"name": "c", "image": "n:1", "ports": [{"containerPort": 80}], "imagePullPolicy": "Maybe"},
        [
            'spec.containers[0].imagePullPolicy: Unsupported value: "Maybe": supported values: '
            '"Always", "IfNotPresent", "Never"'
        ],
    ),
    (
        {"name": "c", "image": "n:1", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
        ['spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
    ),
    (
        {"name": "c", "image": "n:1", "volumeMounts": [{"name": "v", "mountPath": "/v"}]},
        ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
    ),
    (
        {"name": "c", "image": "n:1", "livenessProbe": {}},
        ["spec.containers[0].livenessProbe: Required value: must specify a handler type"],
    ),
    (
        {"name": "c", "image": "n:1", "env": [{"name": "", "value": "x"}]},
        ["spec.containers[0].env[0].name: Required value"],
    ),
]


@pytest.mark.parametrize(("container", "refusals"), REFUSED_CONTAINERS)
def test_bad_containers_are_refused(container: Object, refusals: list[str]) -> None:
    """Each mistake in a container is named with its path, in the real server's words."""
    body = pod(container)

    actual = PODS.create_errors(body)

    assert refusals == actual


def test_a_pod_needs_a_container() -> None:
    """A spec without containers is refused."""
    body = {"spec": {"containers": []}}

    actual = PODS.create_errors(body)

    assert ["spec.containers: Required value"] == actual


def test_two_containers_have_two_names() -> None:
    """The second container of a name is a duplicate."""
    body = pod({"name": "c", "image": "n:1"}, {"name": "c", "image": "n:1"})

    actual = PODS.create_errors(body)

    assert ['spec.containers[1].name: Duplicate value: "c"'] == actual


def test_gated_pods_say_so() -> None:
    """A pod with scheduling gates starts with the condition that it is not scheduled because of them."""
    body = pod(schedulingGates=[{"name": "example.com/g"}])

    actual = PODS.created(body)["status"]["conditions"]

    expected = {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": CREATED,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }
    assert [expected] == actual


def test_the_image_of_a_pod_may_change() -> None:
    """A new image is let in and counts as a new generation."""
    old = PODS.created(pod())
    change = {"spec": {"containers": [{**old["spec"]["containers"][0], "image": "n:2"}]}}

    refusals, new = PODS.change_errors(old, change), PODS.changed(old, change)

    assert [] == refusals
    assert new["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"hostname": "h"}, ['- "Hostname": "",', '+ "Hostname": "h",']),
        ({"nodeName": "n"}, ['- "NodeName": "",', '+ "NodeName": "n",']),
        ({"restartPolicy": "Never"}, ['- "RestartPolicy": "Always",', '+ "RestartPolicy": "Never",']),
    ],
)
def test_most_of_a_pod_stays_as_it_is(change: Object, shown: list[str]) -> None:
    """Other fields of the spec cannot be changed, what can is listed, and what was to be is shown."""
    old = PODS.created(pod())

    (refusal,) = PODS.change_errors(old, {"spec": change})
    actual, *changes = refusal.splitlines()

    reason = (
        "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
        "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
    )
    assert f"spec: Forbidden: {reason}" == actual
    assert shown == [line for line in changes if line.startswith(("-", "+"))]


APPARMOR = "container.apparmor.security.beta.kubernetes.io/c"


@pytest.mark.parametrize(
    ("text", "of_container", "of_pod", "becomes", "is_warned_of"),
    [
        ("unconfined", None, None, {"type": "Unconfined"}, True),
        ("runtime/default", {"type": "RuntimeDefault"}, None, {"type": "RuntimeDefault"}, False),
        ("runtime/default", None, {"type": "RuntimeDefault"}, None, False),
        ("localhost/", None, None, None, True),
    ],
)
def test_an_apparmor_annotation_becomes_a_field(
    text: str, of_container: Object | None, of_pod: Object | None, becomes: Object | None, is_warned_of: bool
) -> None:
    """Where the container has none and the pod no such one: then whoever creates the pod is warned, nobody later."""
    sent = {**pod(), "metadata": {"name": "p", "annotations": {APPARMOR: text}}}
    sent["spec"]["containers"][0] |= {"securityContext": {"appArmorProfile": of_container}} if of_container else {}
    sent["spec"] |= {"securityContext": {"appArmorProfile": of_pod}} if of_pod else {}

    warnings = PODS.strategy.preparation_warnings(PODS.sent(sent))
    created = PODS.created(sent)

    old = f'metadata.annotations[{APPARMOR}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    assert ([old] if is_warned_of else []) == list(warnings)
    assert becomes == created["spec"]["containers"][0].get("securityContext", {}).get("appArmorProfile")
    assert [] == list(PODS.strategy.warnings(created))


def test_the_main_endpoint_keeps_the_status() -> None:
    """A status sent to the main endpoint is ignored."""
    old = PODS.created(pod())

    actual = PODS.changed(old, {"status": {"phase": "Running"}})["status"]

    assert old["status"] == actual


def test_the_status_endpoint_keeps_the_spec() -> None:
    """A spec sent to the status endpoint is ignored, its status is taken."""
    old = PODS.created(pod())

    actual = PODS.changed(old, {"spec": {"hostname": "h"}, "status": {"phase": "Running"}}, "status")

    assert old["spec"] == actual["spec"]
    assert actual["status"]["phase"] == "Running"


def test_ephemeral_containers_are_only_added() -> None:
    """An ephemeral container may join a pod through its endpoint; one that is there may not change."""
    old = PODS.created(pod())
    first = {"name": "e", "image": "n:1", "terminationMessagePolicy": "File"}
    second = {"name": "e", "image": "n:2", "terminationMessagePolicy": "File"}

    joined = PODS.changed(old, {"spec": {"ephemeralContainers": [first]}}, "ephemeralcontainers")
    refusals = PODS.change_errors(joined, {"spec": {"ephemeralContainers": [second]}}, "ephemeralcontainers")

    assert ["e"] == [container["name"] for container in joined["spec"]["ephemeralContainers"]]
    first_line, *changes = refusals[0].splitlines()
    assert 'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be changed' == first_line
    assert ['- "Image": "n:1",', '+ "Image": "n:2",'] == [line for line in changes if line.startswith(("-", "+"))]


def test_pods_are_selected_by_more_than_their_names() -> None:
    """Field selectors may ask for a pod's node, phase, addresses and the like."""
    stored = PODS.created(pod(nodeName="n", hostNetwork=True))

    actual = PODS.strategy.selectable_fields(stored)

    expected = {
        "spec.nodeName": "n",
        "spec.restartPolicy": "Always",
        "spec.schedulerName": "default-scheduler",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "true",
        "status.phase": "Pending",
        "status.podIP": "",
        "status.nominatedNodeName": "",
    }
    assert expected == actual
