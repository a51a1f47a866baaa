"""What each plugin changes and refuses. Messages are the real server's."""

from __future__ import annotations

import asyncio
import copy
import random
from typing import Any

import pytest

from apiserver.admission.chain import CREATE, DELETE, UPDATE, Attributes, Plugin
from apiserver.admission.plugins.certificates import CertificateApproval, CertificateSigning
from apiserver.admission.plugins.default_classes import DefaultIngressClass, DefaultStorageClass
from apiserver.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from apiserver.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from apiserver.admission.plugins.node_declared_feature_validator import NodeDeclaredFeatureValidator
from apiserver.admission.plugins.persistent_volume_claim_resize import PersistentVolumeClaimResize
from apiserver.admission.plugins.pod_topology_labels import PodTopologyLabels
from apiserver.admission.plugins.priority import PRIORITY_CLASSES, Priority
from apiserver.admission.plugins.runtime_class import RUNTIME_CLASSES, RuntimeClass
from apiserver.admission.plugins.service_account import ServiceAccount
from apiserver.admission.plugins.storage_object_in_use_protection import StorageObjectInUseProtection
from apiserver.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition
from apiserver.auth.authentication import User
from apiserver.auth.authorization import Access, Decision, Rules
from kubeloop.apimachinery.errors import ApiError, Forbidden, NotFound
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CONFIG_MAPS, NAMESPACES, NODES, PODS, Resource
from tests.testkit.reader import DictReader, InstantClock

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
INGRESSES = Resource("networking.k8s.io", "v1", "ingresses", "Ingress")
REVIEWS = Resource("authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview")


def named(name: str, **fields: Any) -> Object:
    return {"metadata": {"name": name}, **fields}


def admit(plugin: Plugin, resource: Resource, obj: Object | None, operation: str = CREATE, **more: Any) -> Object:
    """The object after a plugin's admit and validate; raises its refusal."""
    changed = copy.deepcopy(obj)
    attributes = Attributes(operation, resource, "ns", more.pop("name", "x"), changed, **more)

    async def both() -> None:
        await plugin.admit(attributes)
        await plugin.validate(attributes)

    asyncio.run(both())
    return attributes.object or {}


def refusal(plugin: Plugin, resource: Resource, obj: Object | None, operation: str = CREATE, **more: Any) -> ApiError:
    with pytest.raises(ApiError) as raised:
        admit(plugin, resource, obj, operation, **more)
    return raised.value


# -- NamespaceLifecycle ----------------------------------------------------------------------------------------------


def lifecycle(reader: DictReader) -> NamespaceLifecycle:
    return NamespaceLifecycle(reader, InstantClock())


def test_nothing_is_created_in_a_missing_namespace() -> None:
    """The 404 is about the namespace; reviews of permissions and deletions are let through."""
    plugin = lifecycle(DictReader())

    refused = refusal(plugin, CONFIG_MAPS, named("a"))
    admit(plugin, REVIEWS, named("a"))
    admit(plugin, CONFIG_MAPS, None, DELETE, old_object=named("a"))

    assert (NotFound, 'namespaces "ns" not found') == (type(refused), refused.message)


def test_a_namespace_may_appear_a_moment_later() -> None:
    """Who creates a namespace and at once something in it is not turned away."""
    reader, clock = DictReader(), InstantClock()
    clock.during_sleep = lambda: reader.put("namespaces", named("ns")) and None

    admit(NamespaceLifecycle(reader, clock), CONFIG_MAPS, named("a"))

    assert 0 < clock.slept_seconds < 1


def test_nothing_new_in_an_ending_namespace() -> None:
    """Creates are refused with a cause clients look for; updates go on, so that finalizers can be removed."""
    plugin = lifecycle(DictReader().put("namespaces", named("ns", status={"phase": "Terminating"})))

    refused = refusal(plugin, CONFIG_MAPS, named("new"), name="new")
    admit(plugin, CONFIG_MAPS, named("a"), UPDATE, old_object=named("a"))

    expected = (
        'configmaps "new" is forbidden: unable to create new content in namespace ns because it is being terminated'
    )
    cause = {
        "reason": "NamespaceTerminating",
        "message": "namespace ns is being terminated",
        "field": "metadata.namespace",
    }
    assert (expected, {"name": "new", "kind": "configmaps", "causes": [cause]}) == (refused.message, refused.details)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_three_namespaces_are_never_deleted(name: str) -> None:
    """Any other may go."""
    plugin = lifecycle(DictReader())

    refused = refusal(plugin, NAMESPACES, None, DELETE, name=name)
    admit(plugin, NAMESPACES, None, DELETE, name="other")

    assert f'namespaces "{name}" is forbidden: this namespace may not be deleted' == refused.message


# -- ServiceAccount --------------------------------------------------------------------------------------------------


def account(name: str, **fields: Any) -> Object:
    return {"metadata": {"name": name, "namespace": "ns"}, **fields}


def service_account(*accounts: Object, clock: InstantClock | None = None) -> ServiceAccount:
    return ServiceAccount(
        DictReader().put("serviceaccounts", *accounts), clock or InstantClock(), random.Random("accounts")
    )


def a_pod(**spec: Any) -> Object:
    return named("p", spec={"containers": [{"name": "c"}], **spec})


def test_a_pod_runs_as_the_default_account_and_gets_its_token() -> None:
    """Every container mounts one projected volume with token, CA and namespace."""
    made = admit(service_account(account("default")), PODS, a_pod(initContainers=[{"name": "i"}]))["spec"]

    volume = made["volumes"][0]
    mount = {
        "name": volume["name"],
        "readOnly": True,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    }
    assert "default" == made["serviceAccountName"] == made["serviceAccount"]
    assert [mount] == made["containers"][0]["volumeMounts"] == made["initContainers"][0]["volumeMounts"]
    assert ["serviceAccountToken", "configMap", "downwardAPI"] == [
        next(iter(source)) for source in volume["projected"]["sources"]
    ]
    assert volume["name"].startswith("kube-api-access-") and len(volume["name"]) == len("kube-api-access-") + 5


@pytest.mark.parametrize(
    ("of_account", "of_pod", "is_mounted"),
    [(None, None, True), (False, None, False), (False, True, True), (True, False, False)],
)
def test_the_pod_decides_before_the_account(of_account: bool | None, of_pod: bool | None, is_mounted: bool) -> None:
    """automountServiceAccountToken of the pod wins over the account's."""
    field = "automountServiceAccountToken"
    accounts = account("default", **({} if of_account is None else {field: of_account}))

    made = admit(service_account(accounts), PODS, a_pod(**({} if of_pod is None else {field: of_pod})))["spec"]

    assert is_mounted == ("volumes" in made)


def test_a_mount_at_the_token_s_place_is_respected() -> None:
    """A container that has something there gets nothing, and without any other no volume appears."""
    mounts = [{"name": "e", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]

    made = admit(service_account(account("default")), PODS, a_pod(containers=[{"name": "c", "volumeMounts": mounts}]))

    assert (mounts, False) == (made["spec"]["containers"][0]["volumeMounts"], "volumes" in made["spec"])


def test_pull_secrets_come_from_the_account_unless_the_pod_has_its_own() -> None:
    """They are copied, not merged."""
    plugin = service_account(account("default", imagePullSecrets=[{"name": "reg"}]))

    inherited = admit(plugin, PODS, a_pod())["spec"]
    own = admit(plugin, PODS, a_pod(imagePullSecrets=[{"name": "own"}]))["spec"]

    assert ([{"name": "reg"}], [{"name": "own"}]) == (inherited["imagePullSecrets"], own["imagePullSecrets"])


def test_the_account_must_exist() -> None:
    """A named account is refused at once."""
    clock = InstantClock()

    refused = refusal(service_account(clock=clock), PODS, a_pod(serviceAccountName="missing"), name="p")

    expected = 'pods "p" is forbidden: error looking up service account ns/missing: serviceaccount "missing" not found'
    assert (Forbidden, expected, 0) == (type(refused), refused.message, clock.slept_seconds)


def test_an_account_that_nothing_could_be_called() -> None:
    """It is not even asked for."""
    refused = refusal(service_account(clock=InstantClock()), PODS, a_pod(serviceAccountName="a/b"), name="p")

    assert refused.message.endswith("account ns/a/b: invalid resource name \"a/b\": [may not contain '/']")


def test_the_default_account_is_waited_for() -> None:
    """In a new namespace the loop that makes it may need a moment; after two seconds the pod is refused."""
    clock = InstantClock()

    refused = refusal(service_account(clock=clock), PODS, a_pod())

    assert refused.message.endswith('serviceaccount "default" not found')
    assert 0.9 <= clock.slept_seconds <= 2


def test_an_annotated_account_enforces_its_secrets() -> None:
    """Only listed secrets may be mounted, and only listed pull secrets be used."""
    enforcing = account("default", secrets=[{"name": "ok"}])
    enforcing["metadata"]["annotations"] = {"kubernetes.io/enforce-mountable-secrets": "true"}
    volumes = [{"name": "v", "secret": {"secretName": "other"}}]

    refused = refusal(service_account(enforcing), PODS, a_pod(volumes=volumes), name="p")
    admit(service_account(enforcing), PODS, a_pod(volumes=[{"name": "v", "secret": {"secretName": "ok"}}]))

    expected = (
        'pods "p" is forbidden: volume with secret.secretName="other" is not allowed because '
        "service account default does not reference that secret"
    )
    assert expected == refused.message


def test_secrets_are_enforced_before_the_pod_is_validated() -> None:
    """A pod that is wrong besides is refused for its secrets; for a debugging container the answer names no reason."""
    enforcing = account("default")
    enforcing["metadata"]["annotations"] = {"kubernetes.io/enforce-mountable-secrets": "true"}
    plugin = service_account(enforcing)
    variable = {"name": "V", "valueFrom": {"secretKeyRef": {"name": "other", "key": "k"}}}
    debugged = a_pod(serviceAccountName="default", ephemeralContainers=[{"name": "d", "env": [variable]}])
    update = Attributes(UPDATE, PODS, "ns", "p", debugged, old_object=a_pod(), subresource="ephemeralcontainers")

    with pytest.raises(Forbidden):
        admit(plugin, PODS, a_pod(volumes=[{"name": "v", "secret": {"secretName": "other"}}]))
    with pytest.raises(ApiError) as refused:
        asyncio.run(plugin.validate(update))

    expected = (
        'ephemeral container d with envVar V referencing secret.secretName="other" is not allowed because '
        "service account default does not reference that secret"
    )
    assert (500, "", expected) == (refused.value.code, refused.value.reason, refused.value.message)


def test_a_mirror_pod_uses_nothing_of_the_api() -> None:
    """It is taken as it is, without an account, and refused with one."""
    pod = a_pod()
    pod["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    with_account = copy.deepcopy(pod)
    with_account["spec"]["serviceAccountName"] = "default"

    made = admit(service_account(), PODS, pod)
    refused = refusal(service_account(), PODS, with_account, name="p")

    assert pod == made
    assert 'pods "p" is forbidden: a mirror pod may not reference service accounts' == refused.message


# -- Priority --------------------------------------------------------------------------------------------------------


def priority(*classes: Object) -> Priority:
    return Priority(DictReader().put(PRIORITY_CLASSES, *classes))


HIGH = named("high", value=1000, preemptionPolicy="Never")


@pytest.mark.parametrize(
    ("classes", "spec", "expected"),
    [
        ([], {}, {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}),
        (
            [HIGH],
            {"priorityClassName": "high"},
            {"priorityClassName": "high", "priority": 1000, "preemptionPolicy": "Never"},
        ),
        (
            [HIGH],
            {"priorityClassName": "high", "priority": 1000},
            {"priorityClassName": "high", "priority": 1000, "preemptionPolicy": "Never"},
        ),
        (
            [named("b", value=9, globalDefault=True), named("c", value=7, globalDefault=True)],
            {},
            {"priorityClassName": "c", "priority": 7},
        ),
    ],
)
def test_a_pod_gets_its_class_s_priority(classes: list[Object], spec: Object, expected: Object) -> None:
    """From the class it names, or the global default of the lowest value, or 0."""
    assert expected == admit(priority(*classes), PODS, named("p", spec=spec))["spec"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        (
            {"priorityClassName": "high", "priority": 5},
            "the integer value of priority (5) must not be provided in pod spec; "
            "priority admission controller computed 1000 from the given PriorityClass name",
        ),
        (
            {"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"},
            "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; "
            "priority admission controller computed Never from the given PriorityClass name",
        ),
    ],
)
def test_a_pod_may_not_set_its_own_priority(spec: Object, expected: str) -> None:
    """Numbers come from classes only."""
    refused = refusal(priority(HIGH), PODS, named("p", spec=spec), name="p")

    assert f'pods "p" is forbidden: {expected}' == refused.message


def test_an_update_keeps_the_priority() -> None:
    """A PUT that leaves it out does not lose it."""
    old = named("p", spec={"priority": 3, "preemptionPolicy": "Never"})

    assert old == admit(priority(), PODS, named("p", spec={}), UPDATE, old_object=old)


def test_there_is_one_default_class() -> None:
    """A second one is refused; the default itself may be updated."""
    resource = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
    plugin = priority(named("one", value=1, globalDefault=True))

    refused = refusal(plugin, resource, named("two", globalDefault=True), name="two")
    admit(plugin, resource, named("one", globalDefault=True), UPDATE, old_object=named("one"))

    expected = (
        'priorityclasses.scheduling.k8s.io "two" is forbidden: '
        "PriorityClass one is already marked as default. Only one default can exist"
    )
    assert expected == refused.message


# -- DefaultTolerationSeconds, TaintNodesByCondition -----------------------------------------------------------------

NOT_READY = {
    "key": "node.kubernetes.io/not-ready",
    "operator": "Exists",
    "effect": "NoExecute",
    "tolerationSeconds": 300,
}
UNREACHABLE = {**NOT_READY, "key": "node.kubernetes.io/unreachable"}


@pytest.mark.parametrize(
    ("own", "added"),
    [
        ([], [NOT_READY, UNREACHABLE]),
        ([{**NOT_READY, "tolerationSeconds": 5}], [UNREACHABLE]),
        ([{"operator": "Exists"}], []),
        ([{"key": "node.kubernetes.io/unreachable", "operator": "Exists"}], [NOT_READY]),
        ([{"operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
    ],
)
def test_pods_bear_broken_nodes_for_five_minutes(own: list[Object], added: list[Object]) -> None:
    """Unless they say for how long themselves."""
    spec = {"tolerations": own} if own else {}

    made = admit(DefaultTolerationSeconds(), PODS, named("p", spec=spec))

    assert own + added == made["spec"].get("tolerations", [])


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ([], [("node.kubernetes.io/not-ready", "NoSchedule")]),
        ([("a", "NoExecute")], [("a", "NoExecute"), ("node.kubernetes.io/not-ready", "NoSchedule")]),
        ([("node.kubernetes.io/not-ready", "NoSchedule")], [("node.kubernetes.io/not-ready", "NoSchedule")]),
    ],
)
def test_a_new_node_is_tainted(own: list[tuple[str, str]], expected: list[tuple[str, str]]) -> None:
    """Once, and beside its own taints."""
    node = named("n", spec={"taints": [{"key": key, "effect": effect} for key, effect in own]})

    made = admit(TaintNodesByCondition(), NODES, node)

    assert expected == [(taint["key"], taint["effect"]) for taint in made["spec"]["taints"]]


# -- storage and ingress ---------------------------------------------------------------------------------------------


def a_class(name: str, created: str, key: str) -> Object:
    return {"metadata": {"name": name, "creationTimestamp": created, "annotations": {key: "true"}}}


@pytest.mark.parametrize(
    ("spec", "expected"), [({}, "c"), ({"storageClassName": ""}, ""), ({"storageClassName": "o"}, "o")]
)
def test_a_claim_gets_the_default_class(spec: Object, expected: str) -> None:
    """The newest default, by name where they are of one age; an empty name means none, on purpose."""
    key = "storageclass.kubernetes.io/is-default-class"
    classes = [a_class("a", "2026-01-01T00:00:00Z", key), *(a_class(n, "2026-01-02T00:00:00Z", key) for n in "dc")]
    plugin = DefaultStorageClass(DictReader().put("storageclasses.storage.k8s.io", *classes))

    assert expected == admit(plugin, CLAIMS, named("x", spec=spec))["spec"]["storageClassName"]


def test_an_ingress_gets_the_default_class() -> None:
    """Unless its annotation names one."""
    default = a_class("d", "2026-01-01T00:00:00Z", "ingressclass.kubernetes.io/is-default-class")
    plugin = DefaultIngressClass(DictReader().put("ingressclasses.networking.k8s.io", default))
    annotated = {"metadata": {"name": "x", "annotations": {"kubernetes.io/ingress.class": "n"}}, "spec": {}}

    assert "d" == admit(plugin, INGRESSES, named("x", spec={}))["spec"]["ingressClassName"]
    assert annotated == admit(plugin, INGRESSES, annotated)


def test_claims_are_born_protected() -> None:
    """The finalizer comes after the user's own, once."""
    claim = {"metadata": {"name": "a", "finalizers": ["example.com/x"]}}

    made = admit(StorageObjectInUseProtection(), CLAIMS, claim)
    again = admit(StorageObjectInUseProtection(), CLAIMS, made)

    expected = ["example.com/x", "kubernetes.io/pvc-protection"]
    assert expected == made["metadata"]["finalizers"] == again["metadata"]["finalizers"]


def a_claim(size: str, phase: str = "Bound", storage_class: str = "grows") -> Object:
    spec = {"storageClassName": storage_class, "resources": {"requests": {"storage": size}}}
    return named("a", spec=spec, status={"phase": phase})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (a_claim("1Gi"), a_claim("2Gi"), ""),
        (a_claim("2Gi"), a_claim("1Gi"), ""),
        (a_claim("1Gi", "Pending"), a_claim("2Gi"), "Only bound persistent volume claims can be expanded"),
        (
            a_claim("1Gi", storage_class="fixed"),
            a_claim("2Gi", storage_class="fixed"),
            "only dynamically provisioned pvc can be resized and "
            "the storageclass that provisions the pvc must support resize",
        ),
    ],
)
def test_who_may_grow(old: Object, new: Object, expected: str) -> None:
    """Bound claims of a class that allows it; asking for less is somebody else's business."""
    reader = DictReader().put(
        "storageclasses.storage.k8s.io", named("grows", allowVolumeExpansion=True), named("fixed")
    )
    plugin = PersistentVolumeClaimResize(reader)

    if expected:
        refused = refusal(plugin, CLAIMS, new, UPDATE, name="a", old_object=old)
        assert f'persistentvolumeclaims "a" is forbidden: {expected}' == refused.message
    else:
        assert new == admit(plugin, CLAIMS, new, UPDATE, old_object=old)


# -- RuntimeClass, PodTopologyLabels ---------------------------------------------------------------------------------

SPECIAL = {"key": "special", "operator": "Exists"}
RUNTIME = named(
    "rc",
    overhead={"podFixed": {"cpu": "50m"}},
    scheduling={"nodeSelector": {"kind": "special"}, "tolerations": [SPECIAL]},
)


def test_a_pod_takes_on_its_runtime_class() -> None:
    """Overhead, node selector and tolerations, each beside the pod's own and without doubles."""
    spec = {
        "runtimeClassName": "rc",
        "overhead": {"cpu": "0.05"},
        "nodeSelector": {"other": "x"},
        "tolerations": [{"key": "special", "operator": "Equal", "value": "v"}],
    }

    made = admit(RuntimeClass(DictReader().put(RUNTIME_CLASSES, RUNTIME)), PODS, named("p", spec=spec))["spec"]

    assert {"cpu": "50m"} == made["overhead"]
    assert {"kind": "special", "other": "x"} == made["nodeSelector"]
    assert [SPECIAL] == made["tolerations"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"runtimeClassName": "none"}, 'pod rejected: RuntimeClass "none" not found'),
        (
            {"runtimeClassName": "rc", "nodeSelector": {"kind": "other"}},
            "conflict: runtimeClass.scheduling.nodeSelector[kind] = special; pod.spec.nodeSelector[kind] = other",
        ),
        (
            {"overhead": {"cpu": "1"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            {"runtimeClassName": "rc", "overhead": {"cpu": "1"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
    ],
)
def test_what_does_not_fit_a_runtime_class(spec: Object, expected: str) -> None:
    """A missing class, a contradiction in the node selector, an overhead of one's own."""
    plugin = RuntimeClass(DictReader().put(RUNTIME_CLASSES, RUNTIME))

    assert f'pods "p" is forbidden: {expected}' == refusal(plugin, PODS, named("p", spec=spec), name="p").message


def test_pods_carry_the_topology_of_their_node() -> None:
    """From the binding, or where they are created bound; other labels of the node stay with it."""
    labels = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "disk": "ssd"}
    node = {"metadata": {"name": "n", "labels": labels}}
    plugin = PodTopologyLabels(DictReader().put("nodes", node))
    expected = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}

    binding = admit(plugin, PODS, {"target": {"kind": "Node", "name": "n"}}, subresource="binding")
    bound = admit(plugin, PODS, named("p", spec={"nodeName": "n"}))
    free = admit(plugin, PODS, named("p", spec={}))

    assert expected == binding["metadata"]["labels"] == bound["metadata"]["labels"]
    assert "labels" not in free["metadata"]


# -- certificates ----------------------------------------------------------------------------------------------------

REQUESTS = Resource("certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest", False)


class SignerRights:
    """Allows what is given as "verb name"."""

    def __init__(self, *allowed: str) -> None:
        self._allowed = allowed

    def authorize(self, access: Access) -> Decision:
        return Decision(f"{access.verb} {access.name}" in self._allowed)

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules()


def a_request(**status: Any) -> Object:
    return named("r", spec={"signerName": "example.com/s"}, status=status)


APPROVED = a_request(conditions=[{"type": "Approved", "status": "True"}])


@pytest.mark.parametrize("right", ["approve example.com/s", "approve example.com/*"])
def test_who_approves_may_approve_for_the_signer(right: str) -> None:
    """By the signer's name or for its whole domain."""
    more = {"subresource": "approval", "old_object": a_request(), "name": "r"}

    assert APPROVED == admit(CertificateApproval(SignerRights(right)), REQUESTS, APPROVED, UPDATE, **dict(more))
    refused = refusal(CertificateApproval(SignerRights()), REQUESTS, APPROVED, UPDATE, **dict(more))

    expected = (
        'certificatesigningrequests.certificates.k8s.io "r" is forbidden: '
        'user not permitted to approve requests with signerName "example.com/s"'
    )
    assert expected == refused.message


def test_who_signs_may_sign_for_the_signer() -> None:
    """A status update that neither signs nor decides is let through."""
    signed = a_request(certificate="eA==")
    more = {"subresource": "status", "old_object": a_request(), "name": "r"}

    admit(CertificateSigning(SignerRights("sign example.com/s")), REQUESTS, signed, UPDATE, **dict(more))
    admit(CertificateSigning(SignerRights()), REQUESTS, a_request(other="x"), UPDATE, **dict(more))
    refused = refusal(CertificateSigning(SignerRights()), REQUESTS, signed, UPDATE, **dict(more))

    assert refused.message.endswith('user not permitted to sign requests with signerName "example.com/s"')


# -- NodeDeclaredFeatureValidator ------------------------------------------------------------------------------------


def test_a_node_must_declare_what_a_change_of_its_pod_needs() -> None:
    """Resources of the pod as a whole change only where the node can; other changes need nothing of it."""
    old = a_pod(nodeName="n", resources={"requests": {"cpu": "1"}})
    old["metadata"]["generation"] = 1
    new = a_pod(nodeName="n", resources={"requests": {"cpu": "2"}})
    new["metadata"]["generation"] = 2
    other = a_pod(nodeName="n", resources={"requests": {"cpu": "1"}}, activeDeadlineSeconds=9)
    other["metadata"]["generation"] = 2
    feature = "InPlacePodLevelResourcesVerticalScaling"
    without = NodeDeclaredFeatureValidator(DictReader().put("nodes", named("n")))
    able = NodeDeclaredFeatureValidator(DictReader().put("nodes", named("n", status={"declaredFeatures": [feature]})))
    resize = {"old_object": old, "subresource": "resize", "name": "p"}

    refused = refusal(without, PODS, new, UPDATE, **resize)
    gone = refusal(NodeDeclaredFeatureValidator(DictReader()), PODS, new, UPDATE, **resize)
    admit(able, PODS, new, UPDATE, **resize)
    admit(without, PODS, other, UPDATE, old_object=old)

    assert (
        f'pods "p" is forbidden: pod update requires features {feature} which are not available on node "n"'
    ) == refused.message
    assert 'pods "p" is forbidden: node "n" not found' == gone.message
