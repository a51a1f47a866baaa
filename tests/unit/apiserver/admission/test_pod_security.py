"""Pod Security Standards by namespace labels; messages are the real server's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apiserver.admission.chain import CREATE, UPDATE, Attributes
from apiserver.admission.plugins.pod_security import PodSecurity
from apiserver.admission.pod_security.policy import Policies, Policy, policies_of
from apiserver.admission.pod_security.violations import describe, violations
from kubeloop.apimachinery.errors import Forbidden, Invalid
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import DEPLOYMENTS, NAMESPACES, PODS, Resource
from tests.testkit.reader import DictReader

PREFIX = "pod-security.kubernetes.io/"
BASELINE, RESTRICTED = Policy("baseline"), Policy("restricted")

HARDENED_CONTAINER = {
    "name": "c",
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
}
HARDENED = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def pod(container: Object | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", **(container or {})}], **spec}}


def secured(**security: Any) -> Object:
    return {"securityContext": security}


@pytest.mark.parametrize(
    ("of_pod", "expected"),
    [
        (pod(), ""),
        (
            pod(secured(privileged=True) | {"ports": [{"hostPort": 80}]}, hostNetwork=True, hostPID=True),
            "host namespaces (hostNetwork=true, hostPID=true), "
            'hostPort (container "c" uses hostPort 80), '
            'privileged (container "c" must not set securityContext.privileged=true)',
        ),
        (
            pod(secured(capabilities={"add": ["SYS_ADMIN", "CHOWN", "NET_RAW"]})),
            'non-default capabilities (container "c" must not include "NET_RAW", "SYS_ADMIN" '
            "in securityContext.capabilities.add)",
        ),
        (
            pod(volumes=[{"name": "a", "hostPath": {}}, {"name": "b", "hostPath": {}}]),
            'hostPath volumes (volumes "a", "b")',
        ),
        (
            pod(secured(procMount="Unmasked")),
            'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
        ),
        (
            pod(
                secured(seccompProfile={"type": "Unconfined"}),
                securityContext={"seccompProfile": {"type": "Unconfined"}},
            ),
            'seccompProfile (pod and container "c" must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
        (
            pod(securityContext={"seLinuxOptions": {"type": "x_t", "user": "u"}}),
            'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "x_t"; user may not be set)',
        ),
        (
            pod(securityContext={"sysctls": [{"name": "kernel.msgmax"}, {"name": "net.ipv4.tcp_syncookies"}]}),
            "forbidden sysctls (kernel.msgmax)",
        ),
        (
            pod(secured(windowsOptions={"hostProcess": True})),
            'hostProcess (container "c" must not set securityContext.windowsOptions.hostProcess=true)',
        ),
    ],
)
def test_baseline_keeps_pods_off_the_node(of_pod: Object, expected: str) -> None:
    """Each way to the node is named, with who takes it."""
    assert expected == describe(violations(BASELINE, of_pod))


@pytest.mark.parametrize(
    ("of_pod", "expected"),
    [
        (pod(HARDENED_CONTAINER, securityContext=HARDENED), ""),
        (
            pod(),
            'allowPrivilegeEscalation != false (container "c" must set '
            "securityContext.allowPrivilegeEscalation=false), "
            'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), '
            'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), '
            'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" '
            'or "Localhost")',
        ),
        (
            pod(HARDENED_CONTAINER, securityContext=HARDENED, volumes=[{"name": "h", "hostPath": {}}]),
            'restricted volume types (volume "h" uses restricted volume type "hostPath")',
        ),
        (
            pod(HARDENED_CONTAINER, securityContext={**HARDENED, "runAsUser": 0}, hostIPC=True),
            "host namespaces (hostIPC=true), runAsUser=0 (pod must not set runAsUser=0)",
        ),
        (
            pod(HARDENED_CONTAINER, securityContext={**HARDENED, "runAsNonRoot": False}),
            "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)",
        ),
    ],
)
def test_restricted_asks_for_hardened_pods(of_pod: Object, expected: str) -> None:
    """Violations of baseline come first; checks that restricted replaces are not said twice."""
    assert expected == describe(violations(RESTRICTED, of_pod))


def test_an_older_version_asks_for_less() -> None:
    """Windows pods since 1.25, safe sysctls since their versions."""
    windows = pod(securityContext={"runAsNonRoot": True}, os={"name": "windows"})
    sysctl = pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_keepalive_time"}]})

    assert "" == describe(violations(RESTRICTED, windows))
    assert "" != describe(violations(Policy("restricted", 24), windows))
    assert "" == describe(violations(BASELINE, sysctl))
    assert "forbidden sysctls (net.ipv4.tcp_keepalive_time)" == describe(violations(Policy("baseline", 28), sysctl))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, Policies()),
        ({"enforce": "baseline"}, Policies(BASELINE, warn=BASELINE)),
        (
            {"enforce": "baseline", "enforce-version": "v1.30"},
            Policies(Policy("baseline", 30), warn=Policy("baseline", 30)),
        ),
        ({"warn": "restricted"}, Policies(warn=RESTRICTED)),
        ({"enforce": "restricted", "warn": "privileged"}, Policies(RESTRICTED)),
        ({"enforce": "nonsense"}, Policies(RESTRICTED)),
    ],
)
def test_what_labels_ask_for(labels: Object, expected: Policies) -> None:
    """Who enforces also warns, unless told otherwise; what nobody understands is taken strictly."""
    assert expected == policies_of({PREFIX + key: value for key, value in labels.items()})


def plugin(*pods: Object, **labels: str) -> PodSecurity:
    namespace = {"metadata": {"name": "ns", "labels": {PREFIX + key: value for key, value in labels.items()}}}
    return PodSecurity(DictReader().put("namespaces", namespace).put("pods", *pods))


def warnings(checker: PodSecurity, resource: Resource, obj: Object, operation: str = CREATE, **more: Any) -> list[str]:
    texts: list[str] = []
    attributes = Attributes(operation, resource, "ns", obj["metadata"]["name"], obj, warn=texts.append, **more)
    asyncio.run(checker.validate(attributes))
    return texts


def test_a_pod_is_refused_and_a_workload_warned_of() -> None:
    """The Deployment is let through: its pods will be refused, and the warning says so."""
    checker = plugin(enforce="baseline")
    template = pod(hostNetwork=True)
    deployment = {"metadata": {"name": "d"}, "spec": {"template": template}}

    with pytest.raises(Forbidden) as refused:
        warnings(checker, PODS, template)
    said = warnings(checker, DEPLOYMENTS, deployment)

    assert (
        'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'
    ) == refused.value.message
    assert ['would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'] == said


def test_updates_that_cannot_matter_are_not_checked() -> None:
    """Labels of a pod that was let in before may change; its image may not bring it in anew."""
    checker = plugin(enforce="baseline")
    old, new_image = pod(hostNetwork=True), pod({"image": "other"}, hostNetwork=True)

    assert [] == warnings(checker, PODS, old, UPDATE, old_object=old)
    with pytest.raises(Forbidden):
        warnings(checker, PODS, new_image, UPDATE, old_object=old)


def test_wrong_labels_are_refused() -> None:
    """The namespace's refusal names the label and what it may be."""
    namespace = {"metadata": {"name": "ns", "labels": {f"{PREFIX}enforce": "x", f"{PREFIX}warn-version": "1.2"}}}

    with pytest.raises(Invalid) as refused:
        warnings(plugin(), NAMESPACES, namespace)

    assert (
        'Namespace "ns" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "x": '
        "must be one of privileged, baseline, restricted, metadata.labels[pod-security.kubernetes.io/warn-version]: "
        'Invalid value: "1.2": must be "latest" or "v1.x"]'
    ) == refused.value.message


def test_pods_already_there_are_warned_of() -> None:
    """A stricter level refuses no pod that runs, but says which it would; alike ones are counted."""
    pods = [
        {"metadata": {"name": name, "namespace": "ns"}, "spec": {"containers": [], "hostNetwork": True}}
        for name in "ab"
    ]
    old: Object = {"metadata": {"name": "ns"}}
    new = {"metadata": {"name": "ns", "labels": {f"{PREFIX}enforce": "baseline"}}}

    said = warnings(plugin(*pods), NAMESPACES, new, UPDATE, old_object=old)

    assert [
        'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 1 other pod): host namespaces",
    ] == said


def test_the_audit_log_learns_what_a_namespace_has_audited() -> None:
    """The policy that was enforced, and what another one would refuse."""
    labels = {"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/audit": "restricted"}
    reader = DictReader().put("namespaces", {"metadata": {"name": "ns", "labels": labels}})
    said: dict[str, str] = {}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "i"}]}}
    attributes = Attributes(CREATE, PODS, "ns", "p", pod, annotate=said.setdefault)

    asyncio.run(PodSecurity(reader).validate(attributes))

    assert "baseline:latest" == said["pod-security.kubernetes.io/enforce-policy"]
    assert said["pod-security.kubernetes.io/audit-violations"].startswith(
        'would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false'
    )


def test_labels_nobody_understands_are_enforced_and_warn_of_nothing() -> None:
    """The level itself is refused when it is written; where it stands all the same, it is the strictest."""
    policies = policies_of({"pod-security.kubernetes.io/enforce": "odd", "pod-security.kubernetes.io/audit": "odd"})
    warned = policies_of(
        {"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/warn-version": "v1.20"}
    )

    assert ("restricted:latest", "privileged:latest", "privileged:latest") == tuple(
        map(str, (policies.enforce, policies.audit, policies.warn))
    )
    assert "baseline:v1.20" == str(warned.warn)


@pytest.mark.parametrize(
    ("policy", "of_pod", "expected"),
    [
        (
            BASELINE,
            {
                "metadata": {"annotations": {"container.apparmor.security.beta.kubernetes.io/c": 'odd"'}},
                "spec": pod(secured(appArmorProfile={"type": "Unconfined"}))["spec"],
            },
            'forbidden AppArmor profiles (container "c" and annotation must not set AppArmor profile type to '
            '"Unconfined", "container.apparmor.security.beta.kubernetes.io/c="odd\\""")',
        ),
        (
            BASELINE,
            pod({"ports": [{"hostPort": 80}, {"hostPort": 9}]}),
            'hostPort (container "c" uses hostPorts 80, 9)',
        ),
        (BASELINE, pod(secured(procMount="Unmasked"), hostUsers=False), ""),
        (
            Policy("baseline", 34),
            pod(secured(procMount="Unmasked"), hostUsers=False),
            'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
        ),
        (
            Policy("baseline", 18),
            {"metadata": {"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}}, **pod()}
            | {"metadata": {"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}}},
            'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")',
        ),
        (
            RESTRICTED,
            pod(
                {
                    "securityContext": {
                        **HARDENED_CONTAINER["securityContext"],
                        "procMount": "Unmasked",
                        "runAsUser": 0,
                    }
                },
                securityContext={"seccompProfile": {"type": "RuntimeDefault"}},
                hostUsers=False,
            ),
            'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
        ),
        (
            RESTRICTED,
            pod(
                {"securityContext": {**HARDENED_CONTAINER["securityContext"], "runAsNonRoot": False}},
                securityContext={**HARDENED, "runAsNonRoot": False},
                volumes=[{"name": "i", "image": {"reference": "x"}}],
            ),
            'runAsNonRoot != true (pod and container "c" must not set securityContext.runAsNonRoot=false)',
        ),
        (
            Policy("restricted", 18),
            pod(
                secured(allowPrivilegeEscalation=False, capabilities={"add": ["SYS_ADMIN"]}),
                securityContext={"runAsNonRoot": True},
            ),
            'non-default capabilities (container "c" must not include "SYS_ADMIN" in securityContext.capabilities.add)',
        ),
        (
            RESTRICTED,
            pod(HARDENED_CONTAINER, securityContext={**HARDENED, "seccompProfile": {"type": "Unconfined"}}),
            'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
    ],
)
def test_each_version_asks_in_its_own_words(policy: Policy, of_pod: Object, expected: str) -> None:
    """What a version of a level asks is what that version of Kubernetes asked, to the letter of today's messages."""
    assert expected == describe(violations(policy, of_pod))


def test_another_version_of_a_lower_level_is_looked_at_anew() -> None:
    """An older baseline may forbid what a newer restricted does not; a lower level of the same version may not."""
    sysctl = pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]})
    sysctl["metadata"]["namespace"] = "ns"
    old = {"metadata": {"name": "ns", "labels": {f"{PREFIX}enforce": "restricted"}}}
    older = {
        "metadata": {"name": "ns", "labels": {f"{PREFIX}enforce": "baseline", f"{PREFIX}enforce-version": "v1.20"}}
    }
    lower = {"metadata": {"name": "ns", "labels": {f"{PREFIX}enforce": "baseline"}}}

    assert [
        'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:v1.20"',
        "p: forbidden sysctls",
    ] == warnings(plugin(sysctl), NAMESPACES, older, UPDATE, old_object=old)
    assert [] == warnings(plugin(sysctl), NAMESPACES, lower, UPDATE, old_object=old)


def test_the_pods_of_one_controller_are_looked_at_last() -> None:
    """Of more pods than are looked at, one of each controller is; how many there are is said."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
    alike: list[Object] = [
        {"metadata": {"name": f"a{i:04}", "namespace": "ns", "ownerReferences": [owner]}, "spec": {"containers": []}}
        for i in range(3000)
    ]
    other: Object = {"metadata": {"name": "z", "namespace": "ns"}, "spec": {"containers": [], "hostPID": True}}
    new = {"metadata": {"name": "ns", "labels": {f"{PREFIX}enforce": "baseline"}}}

    said = warnings(plugin(*alike, other), NAMESPACES, new, UPDATE, old_object={"metadata": {"name": "ns"}})

    assert [
        "new PodSecurity enforce level only checked against the first 3000 of 3001 existing pods",
        'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
        "z: host namespaces",
    ] == said


def test_the_audit_log_learns_of_labels_nobody_understands() -> None:
    """Labels that were there before anybody looked at them are told of with every pod."""
    labels = {f"{PREFIX}audit": "odd", f"{PREFIX}warn-version": "v1.99999999999999999999"}
    reader = DictReader().put("namespaces", {"metadata": {"name": "ns", "labels": labels}})
    said: dict[str, str] = {}

    asyncio.run(PodSecurity(reader).validate(Attributes(CREATE, PODS, "ns", "p", pod(), annotate=said.setdefault)))

    assert {
        f"{PREFIX}enforce-policy": "privileged:latest",
        f"{PREFIX}error": "Failed to parse policy: [metadata.labels[pod-security.kubernetes.io/audit]: "
        'Invalid value: "odd": must be one of privileged, baseline, restricted, '
        "metadata.labels[pod-security.kubernetes.io/warn-version]: "
        'Invalid value: "v1.99999999999999999999": must be "latest" or "v1.x"]',
    } == said
