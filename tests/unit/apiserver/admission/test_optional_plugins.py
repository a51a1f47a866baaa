"""The plugins that are off unless somebody wants them, and the one that looks at resizes."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from apiserver.admission.chain import CREATE, DELETE, UPDATE, Attributes, Plugin
from apiserver.admission.plugins.always_deny import AlwaysDeny
from apiserver.admission.plugins.always_pull_images import AlwaysPullImages
from apiserver.admission.plugins.deny_service_external_ips import DenyServiceExternalIPs
from apiserver.admission.plugins.extended_resource_toleration import ExtendedResourceToleration
from apiserver.admission.plugins.limit_pod_hard_anti_affinity_topology import LimitPodHardAntiAffinityTopology
from apiserver.admission.plugins.namespace_auto_provision import NamespaceAutoProvision
from apiserver.admission.plugins.namespace_exists import NamespaceExists
from apiserver.admission.plugins.owner_references_permission_enforcement import OwnerReferencesPermissionEnforcement
from apiserver.admission.plugins.pod_node_selector import PodNodeSelector
from apiserver.admission.plugins.pod_resize_validator import PodResizeValidator
from apiserver.admission.plugins.pod_toleration_restriction import PodTolerationRestriction
from apiserver.auth.authentication import User
from apiserver.auth.authorization import Access, Decision, Rules
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CONFIG_MAPS, PODS, Resource
from tests.testkit.reader import DictReader

SERVICES = Resource("", "v1", "services", "Service")


def admitted(plugin: Plugin, obj: Object | None, operation: str = CREATE, **more: Any) -> Object:
    """The object after admit and validate; raises the refusal."""
    changed = copy.deepcopy(obj)
    attributes = Attributes(operation, more.pop("resource", PODS), "ns", "p", changed, **more)

    async def both() -> None:
        await plugin.admit(attributes)
        await plugin.validate(attributes)

    asyncio.run(both())
    return attributes.object or {}


def refusal(plugin: Plugin, obj: Object | None, operation: str = CREATE, **more: Any) -> str:
    with pytest.raises(ApiError) as refused:
        admitted(plugin, obj, operation, **more)
    return refused.value.message.partition(" is forbidden: ")[2] or refused.value.message


def a_pod(**spec: Any) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "i"}], **spec}}


def a_namespace(**annotations: str) -> DictReader:
    prefixed = {f"scheduler.alpha.kubernetes.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return DictReader().put("namespaces", {"metadata": {"name": "ns", "annotations": prefixed}})


def test_always_deny_lets_nothing_pass() -> None:
    """Not even a delete."""
    assert "admission control is denying all modifications" == refusal(AlwaysDeny(), None, DELETE)


def test_images_are_always_pulled() -> None:
    """Of every container, and of image volumes; an update without new images is left alone."""
    pod = a_pod(
        initContainers=[{"name": "b", "image": "j", "imagePullPolicy": "Never"}],
        volumes=[{"name": "v", "image": {"reference": "r", "pullPolicy": "IfNotPresent"}}],
    )
    made = admitted(AlwaysPullImages(), pod)["spec"]

    assert ["Always", "Always"] == [made[kind][0]["imagePullPolicy"] for kind in ("containers", "initContainers")]
    assert "Always" == made["volumes"][0]["image"]["pullPolicy"]
    assert pod == admitted(AlwaysPullImages(), pod, UPDATE, old_object=pod)


def test_what_another_plugin_made_of_the_pull_policy_is_refused() -> None:
    """With the field and what it may be."""
    attributes = Attributes(CREATE, PODS, "ns", "p", a_pod())

    with pytest.raises(ApiError) as refused:
        asyncio.run(AlwaysPullImages().validate(attributes))

    expected = 'spec.containers[0].imagePullPolicy: Unsupported value: "": supported values: "Always"'
    assert f'pods "p" is forbidden: {expected}' == refused.value.message


def test_services_take_no_external_addresses() -> None:
    """Those they have already stay."""
    with_ip = {"metadata": {"name": "s"}, "spec": {"externalIPs": ["1.2.3.4"]}}
    plugin = DenyServiceExternalIPs()

    assert "Use of external IPs is denied by admission control" == refusal(plugin, with_ip, resource=SERVICES)
    assert with_ip == admitted(plugin, with_ip, UPDATE, resource=SERVICES, old_object=with_ip)


def test_who_asks_for_devices_tolerates_their_taints() -> None:
    """Each device once, in order of name; nothing for CPU."""
    requests = {"requests": {"example.com/b": "1", "example.com/a": "1", "cpu": "1"}}
    pod = a_pod(containers=[{"name": "a", "resources": requests}], tolerations=[{"key": "x", "operator": "Exists"}])

    made = admitted(ExtendedResourceToleration(), pod)["spec"]["tolerations"]

    assert ["x", "example.com/a", "example.com/b"] == [one["key"] for one in made]
    assert {"key": "example.com/a", "operator": "Exists", "effect": "NoSchedule"} == made[1]


def test_pods_keep_others_off_nodes_only() -> None:
    """Another topology is refused."""
    terms = [{"topologyKey": "topology.kubernetes.io/zone"}]
    pod = a_pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})

    expected = (
        "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey topology.kubernetes.io/zone but only key "
        "kubernetes.io/hostname is allowed"
    )
    assert expected == refusal(LimitPodHardAntiAffinityTopology(), pod)


def test_a_namespace_is_made_for_who_writes_into_it() -> None:
    """Once, and not on a dry run."""
    made: list[str] = []

    async def create(name: str) -> None:
        made.append(name)

    admitted(NamespaceAutoProvision(DictReader(), create), a_pod(), dry_run=True)
    admitted(NamespaceAutoProvision(a_namespace(), create), a_pod())
    assert [] == made

    admitted(NamespaceAutoProvision(DictReader(), create), a_pod())
    assert ["ns"] == made


def test_a_namespace_has_to_be_there() -> None:
    """For every write."""
    assert 'namespaces "ns" not found' == refusal(NamespaceExists(DictReader()), a_pod(), UPDATE)
    assert a_pod() == admitted(NamespaceExists(a_namespace()), a_pod())


def test_a_namespace_selects_the_nodes_of_its_pods() -> None:
    """A pod adds to that, and may not contradict."""
    reader = a_namespace(node_selector="env=prod, disk=ssd")

    made = admitted(PodNodeSelector(reader), a_pod(nodeSelector={"a": "b", "env": "prod"}))

    assert {"env": "prod", "disk": "ssd", "a": "b"} == made["spec"]["nodeSelector"]
    expected = "pod node label selector conflicts with its namespace node label selector"
    assert expected == refusal(PodNodeSelector(reader), a_pod(nodeSelector={"env": "test"}))


def test_a_namespace_gives_tolerations_and_says_which_there_may_be() -> None:
    """Its defaults come along on a create; what its whitelist does not cover is refused."""
    defaults = '[{"key":"a","operator":"Exists"}]'
    given = DictReader().put(
        "namespaces",
        {
            "metadata": {
                "name": "ns",
                "annotations": {
                    "scheduler.alpha.kubernetes.io/defaultTolerations": defaults,
                    "scheduler.alpha.kubernetes.io/tolerationsWhitelist": defaults,
                },
            }
        },
    )
    made = admitted(PodTolerationRestriction(given), a_pod())

    assert [{"key": "a", "operator": "Exists"}] == made["spec"]["tolerations"]
    expected = (
        "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist"
    )
    assert expected == refusal(PodTolerationRestriction(given), a_pod(tolerations=[{"key": "b", "operator": "Exists"}]))


class Allowing:
    """Allows accesses given as "verb resource"."""

    def __init__(self, *allowed: str) -> None:
        self._allowed = set(allowed)

    def authorize(self, access: Access) -> Decision:
        return Decision(f"{access.verb} {access.combined_resource}" in self._allowed)

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules()


class OnlyConfigMaps:
    """Knows one kind."""

    def of_kind(self, group: str, version: str, kind: str) -> Resource | None:
        return CONFIG_MAPS if (group, version, kind) == ("", "v1", "ConfigMap") else None


def owned(*references: Object) -> Object:
    return {"metadata": {"name": "p", "ownerReferences": list(references)}}


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
HOLDING = {**OWNER, "blockOwnerDeletion": True}


@pytest.mark.parametrize(
    ("allowed", "new", "old", "expected"),
    [
        ((), owned(OWNER), None, ""),
        (
            (),
            owned(OWNER),
            owned(),
            "cannot set an ownerRef on a resource you can't delete: , <nil>",
        ),
        (("delete pods",), owned(OWNER), owned(), ""),
        (("delete pods",), owned(OWNER), owned(OWNER), ""),
        (
            (),
            owned(HOLDING),
            None,
            "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: "
            ", <nil>",
        ),
        (("update configmaps/finalizers",), owned(HOLDING), None, ""),
        (("update */finalizers",), owned({**HOLDING, "kind": "Odd"}), None, ""),
        (
            (),
            owned({**HOLDING, "kind": "Odd"}),
            None,
            "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion v1 Kind Odd: "
            'no matches for kind "Odd" in version "v1"',
        ),
        (("delete pods",), owned(HOLDING), owned(HOLDING), ""),
    ],
)
def test_owners_need_rights(allowed: tuple[str, ...], new: Object, old: Object | None, expected: str) -> None:
    """To delete the object where it is there already, and to hold its owners back."""
    plugin = OwnerReferencesPermissionEnforcement(OnlyConfigMaps(), Allowing(*allowed))  # type: ignore[arg-type]
    operation = UPDATE if old else CREATE

    if expected:
        assert expected == refusal(plugin, new, operation, old_object=old)
    else:
        assert new == admitted(plugin, new, operation, old_object=old)


def resized(memory: str, generation: int = 2) -> Object:
    container = {"name": "a", "resources": {"requests": {"cpu": "2500m", "memory": memory}}}
    metadata = {"name": "p", "generation": generation}
    return {"metadata": metadata, "spec": {"nodeName": "n1", "containers": [container]}}


def test_a_running_pod_grows_no_larger_than_its_node() -> None:
    """Each resource that is not there is named; a pod whose node is gone, or no Linux, does not grow at all."""
    status = {"allocatable": {"cpu": "2", "memory": "1Gi"}}
    node = {"metadata": {"name": "n1"}, "status": status}
    windows = {"metadata": {"name": "n1", "labels": {"kubernetes.io/os": "windows"}}, "status": status}
    old = resized("1Mi", 1)

    def said(*nodes: Object) -> str:
        plugin = PodResizeValidator(DictReader().put("nodes", *nodes))
        return refusal(plugin, resized("2Gi"), UPDATE, old_object=old, subresource="resize")

    assert (
        "node didn't have enough allocatable resources: cpu, requested: 2500, allocatable: 2000; "
        "memory, requested: 2147483648, allocatable: 1073741824"
    ) == said(node)
    assert 'node "n1" not found' == said()
    assert 'pod resize is only supported on linux nodes, node "n1" is "windows"' == said(windows)
    unchanged = resized("2Gi", 1)
    plugin = PodResizeValidator(DictReader())
    assert unchanged == admitted(plugin, unchanged, UPDATE, old_object=old, subresource="resize")
