"""Rarer fields of pods and their status: which are refused, under which path and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import KindOnTrial

PODS = KindOnTrial("v1", "Pod")
CONTAINER = {"name": "c", "image": "n:1"}


def pod(metadata: Object | None = None, **spec: Any) -> Object:
    return {"metadata": metadata or {}, "spec": {"containers": [CONTAINER], **spec}}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            pod(initContainers=[{**CONTAINER, "name": "i", "restartPolicyRules": [{"action": "Odd"}]}]),
            [
                "spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules "
                "are used"
            ],
        ),
        (
            pod(initContainers=[{**CONTAINER, "name": "i", "restartPolicy": "Always", "restartPolicyRules": [{}]}]),
            [
                'spec.initContainers[0].restartPolicyRules[0].action: Unsupported value: "": supported values: '
                '"Restart", "RestartAllContainers"',
                "spec.initContainers[0].restartPolicyRules[0].exitCodes: Required value: must be specified",
            ],
        ),
        (
            pod(securityContext={"seLinuxChangePolicy": "MountOption"}),
            [
                'spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: '
                '"Recursive"'
            ],
        ),
        (pod(securityContext={"seLinuxChangePolicy": "Recursive"}), []),
        (
            pod(volumes=[{"name": "v", "emptyDir": {}, "image": {}}]),
            ["spec.volumes[0].image: Forbidden: may not specify more than 1 volume type"],
        ),
        (pod(volumes=[{"name": "v", "image": {}}]), ["spec.volumes[0].image.reference: Required value"]),
        (pod({"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-05"}}), []),
        (
            pod({"annotations": {"controller.kubernetes.io/pod-deletion-cost": "05"}}),
            [
                "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "
                '"05": must be a 32bit integer'
            ],
        ),
    ],
)
def test_a_new_pod_is_refused_as_kubernetes_does(body: Object, expected: list[str]) -> None:
    """What is odd about a new pod is said once, in order; what is merely unusual passes."""
    actual = PODS.create_errors(body)

    assert expected == actual


def test_faults_of_a_change_are_said_as_the_pods_and_as_the_changes() -> None:
    """Tolerations and annotations are looked at with the whole pod and once more with the change."""
    old = PODS.created(pod())
    cost = "controller.kubernetes.io/pod-deletion-cost"
    change = {
        "metadata": {"annotations": {cost: "x"}},
        "spec": {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
    }

    actual = PODS.change_errors(old, change)

    bad_cost = f'metadata.annotations[{cost}]: Invalid value: "x": must be a 32bit integer'
    bad_value = "spec.tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'"
    assert [bad_cost, bad_value, bad_cost, bad_value] == actual


def test_an_empty_hook_is_too_much_for_an_ephemeral_container() -> None:
    """An ephemeral container may not have a lifecycle, not even one that says nothing."""
    old = PODS.created(pod())
    change = {"spec": {"ephemeralContainers": [{"name": "e", "image": "n:1", "lifecycle": {}}]}}

    actual = PODS.change_errors(old, change, "ephemeralcontainers")

    assert ["spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container"] == actual


def test_containers_with_claims_are_not_resized() -> None:
    """The comparison forgets claims, so any resize of a pod whose container has one is refused."""
    container = {**CONTAINER, "resources": {"requests": {"cpu": "1"}, "claims": [{"name": "gpu"}]}}
    old = PODS.created(
        {
            "spec": {
                "containers": [container],
                "resourceClaims": [{"name": "gpu", "resourceClaimName": "g"}],
            }
        }
    )
    larger = {**container, "resources": {"requests": {"cpu": "2"}, "claims": [{"name": "gpu"}]}}

    actual = PODS.change_errors(old, {"spec": {"containers": [larger]}}, "resize")

    assert ["spec: Forbidden: only cpu and memory resources are mutable"] == actual


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (
            {"extendedResourceClaimStatus": {"resourceClaimName": "", "requestMappings": []}},
            [
                "status.extendedResourceClaimStatus.requestMappings: Required value: at least one request mapping is "
                "required",
                "status.extendedResourceClaimStatus.resourceClaimName: Required value",
            ],
        ),
        (
            {
                "extendedResourceClaimStatus": {
                    "resourceClaimName": "x",
                    "requestMappings": [
                        {"containerName": "d", "resourceName": "example.com/gpu", "requestName": "r"},
                        {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "r"},
                        {"containerName": "d", "resourceName": "example.com/gpu", "requestName": "r"},
                    ],
                }
            },
            [
                'status.extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: "d": must match '
                "the name of an entry in spec.initContainers.name or spec.containers.name",
                "status.extendedResourceClaimStatus.requestMappings[1].resourceName: Invalid value: "
                '"example.com/gpu": must match the extended resource name of an entry in '
                "spec.initContainers.resources.requests or spec.containers.resources.requests",
                'status.extendedResourceClaimStatus.requestMappings[2].containerName: Invalid value: "d": must match '
                "the name of an entry in spec.initContainers.name or spec.containers.name",
                'status.extendedResourceClaimStatus.requestMappings[2].containerName: Duplicate value: "d"',
                "status.extendedResourceClaimStatus.requestMappings[2].resourceName: Duplicate value: "
                '"example.com/gpu"',
                'status.extendedResourceClaimStatus.requestMappings[2].requestName: Duplicate value: "r"',
            ],
        ),
        (
            {
                "containerStatuses": [
                    {
                        "name": "z",
                        "allocatedResourcesStatus": [
                            {"name": "x", "resources": [{"resourceID": "1", "health": "Healthy", "message": ""}]},
                            {
                                "name": "y",
                                "resources": [{"resourceID": "1", "health": "Healthy", "message": "m" * 1025}],
                            },
                        ],
                    }
                ]
            },
            [
                "status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: Required value: must "
                "be non-empty if specified",
                "status.containerStatuses[0].allocatedResourcesStatus[1].resources[0].message: Too long: may not be "
                "more than 1024 bytes",
            ],
        ),
    ],
)
def test_a_status_is_refused_as_kubernetes_does(status: Object, expected: list[str]) -> None:
    """Claims for extended resources name containers and what these ask for; a device's message says something."""
    old = PODS.created(pod())

    actual = PODS.change_errors(old, {"status": status}, "status")

    assert expected == actual


def test_a_lifecycle_that_only_names_a_stop_signal_is_dropped() -> None:
    """Stop signals are behind a gate that is off: what is left of the lifecycle stays, if anything is."""
    signal = {"stopSignal": "SIGTERM"}
    hook = {"preStop": {"exec": {"command": ["a"]}}}

    def kept(lifecycle: Object) -> Any:
        return PODS.created(pod(containers=[{**CONTAINER, "lifecycle": lifecycle}]))["spec"]["containers"][0].get(
            "lifecycle"
        )

    assert [None, hook, {}] == [kept(signal), kept(signal | hook), kept({})]


def test_each_new_scheduling_gate_is_named_once() -> None:
    """Gates may only go; a new one that is listed twice is reported where it stands last."""
    old = PODS.created(pod(schedulingGates=[{"name": "a"}]))
    change = {"spec": {"schedulingGates": [{"name": "b"}, {"name": "b"}]}}

    actual = PODS.change_errors(old, change)

    assert [
        'spec.schedulingGates[1]: Duplicate value: "b"',
        "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'b'",
    ] == actual


def test_required_node_terms_of_a_gated_pod_do_not_go() -> None:
    """Without its affinity the pod would run anywhere: the terms that are missing show as null."""
    term = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    old = PODS.created(pod(schedulingGates=[{"name": "a"}], affinity=affinity))

    actual = PODS.change_errors(old, {"spec": {"affinity": None}})

    assert [
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value: "
        "null: no additions/deletions to non-empty NodeSelectorTerms list are allowed"
    ] == actual


def test_addresses_of_a_status_that_are_none_have_no_family() -> None:
    """Two addresses are of two families; whether they are cannot be told where one is no address."""
    old = PODS.created(pod())

    actual = PODS.change_errors(old, {"status": {"podIPs": [{"ip": "1.2.3.4"}, {"ip": "x"}]}}, "status")

    assert [
        'status.podIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        "status.podIPs: Internal error: failed to check for dual stack with error:invalid IP[1]: x",
        'status.podIPs: Invalid value: [{"IP":"1.2.3.4"},{"IP":"x"}]: may specify no more than one IP for each IP '
        "family",
    ] == actual
