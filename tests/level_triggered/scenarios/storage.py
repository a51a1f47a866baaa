"""Claims and volumes: bound, provisioned, grown, protected and reclaimed."""

from __future__ import annotations

from kubeloop.apimachinery.csi import MANAGED_ATTACHING
from kubeloop.apimachinery.meta import Object, owner_references_of, uid_of
from kubeloop.apimachinery.resource import (
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    RESOURCE_CLAIMS,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    VOLUME_ATTRIBUTES_CLASSES,
)
from kubeloop.testing.builders import a_node, a_pod
from kubeloop.testing.cluster import Cluster
from kubeloop.testing.faults import LoseAnswers, StaleLists
from kubeloop.testing.scenario import Scenario
from tests.level_triggered.loops import processes
from tests.level_triggered.waiting import until, until_gone, until_status
from tests.unit.controllers.resource_claims.test_loop import a_template as a_device_template
from tests.unit.controllers.resource_claims.test_loop import a_user as a_device_user
from tests.unit.controllers.volumes.storage import a_claim, a_class, a_volume, using

CLAIMS, VOLUMES = PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES

# After that long the stalest cache has what was there before: which volume suits best depends on those that are known.
ALL_IS_KNOWN_SECONDS = 120.0


async def bound_and_released(cluster: Cluster) -> None:
    for name, size in (("small", "1Gi"), ("middle", "2Gi"), ("large", "3Gi")):
        await cluster.create(a_volume(name, size), VOLUMES)
        await until_status(cluster, a_volume(name), VOLUMES, phase="Available")
    await cluster.clock.sleep(ALL_IS_KNOWN_SECONDS)
    for name, size in (("one", "1Gi"), ("three", "3Gi")):
        await cluster.create(a_claim(name, size), CLAIMS)
        await until_status(cluster, a_claim(name), CLAIMS, phase="Bound")
    await cluster.create(a_claim("huge", "9Gi"), CLAIMS)
    await cluster.delete(a_claim("one"), CLAIMS)
    await until_status(cluster, a_volume("small"), VOLUMES, phase="Released")
    await cluster.create(a_claim("two", "2Gi"), CLAIMS)
    await until_status(cluster, a_claim("two"), CLAIMS, phase="Bound")


async def provisioned_and_reclaimed(cluster: Cluster) -> None:
    await cluster.create(a_class("fast"), STORAGE_CLASSES)
    for name in ("keeps", "goes"):
        await cluster.create(a_claim(name), CLAIMS)
        await until_status(cluster, a_claim(name), CLAIMS, phase="Bound")
    bound = await cluster.read(a_claim("goes"), CLAIMS)
    await cluster.delete(a_claim("goes"), CLAIMS)
    await until_gone(cluster, a_volume(bound["spec"]["volumeName"]), VOLUMES)


async def grown(cluster: Cluster) -> None:
    await cluster.create(a_class("fast", allowVolumeExpansion=True), STORAGE_CLASSES)
    await cluster.create(a_claim("data"), CLAIMS)
    await until_status(cluster, a_claim("data"), CLAIMS, phase="Bound")
    for size in ("2Gi", "5Gi"):
        await cluster.patch(a_claim("data"), {"spec": {"resources": {"requests": {"storage": size}}}}, CLAIMS)
    await until_status(cluster, a_claim("data"), CLAIMS, capacity={"storage": "5Gi"})


async def in_use(cluster: Cluster) -> None:
    """A pod holds its claim, the claim its volume."""
    await cluster.add_node(a_node("n"))
    await cluster.create(a_volume(), VOLUMES)
    claim = await cluster.create(a_claim(), CLAIMS)
    await until_status(cluster, claim, CLAIMS, phase="Bound")
    user = await cluster.create(using(a_pod("user").on("n"), "claim"))
    await cluster.create(a_claim("free"), CLAIMS)
    await cluster.create(a_volume("unused", storage_class="other"), VOLUMES)
    await cluster.clock.sleep(5)
    for obj, resource in ((claim, CLAIMS), (a_volume(), VOLUMES), (a_claim("free"), CLAIMS)):
        await cluster.delete(obj, resource)
    await cluster.delete(a_volume("unused"), VOLUMES)
    await until_gone(cluster, a_claim("free"), CLAIMS)
    await until_gone(cluster, a_volume("unused"), VOLUMES)
    await cluster.delete(user, PODS, grace_period_seconds=0)
    await until_gone(cluster, claim, CLAIMS)
    await until_gone(cluster, a_volume(), VOLUMES)


def an_attributes_class(name: str) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttributesClass",
        "metadata": {"name": name},
        "driverName": "csi.example.com",
        "parameters": {"speed": name},
    }


async def attributes_in_use(cluster: Cluster) -> None:
    for name in ("used", "unused"):
        await cluster.create(an_attributes_class(name), VOLUME_ATTRIBUTES_CLASSES)
    await cluster.create(a_claim(volumeAttributesClassName="used"), CLAIMS)
    await cluster.clock.sleep(5)
    for name in ("used", "unused"):
        await cluster.delete(an_attributes_class(name), VOLUME_ATTRIBUTES_CLASSES)
    await until_gone(cluster, an_attributes_class("unused"), VOLUME_ATTRIBUTES_CLASSES)
    await cluster.delete(a_claim(), CLAIMS)
    await until_gone(cluster, an_attributes_class("used"), VOLUME_ATTRIBUTES_CLASSES)


async def as_long_as_their_pods(cluster: Cluster) -> None:
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    pods = {name: await cluster.create(a_pod(name).spec(volumes=volumes)) for name in ("stays", "goes")}
    for name in pods:
        await until_status(cluster, a_claim(f"{name}-scratch"), CLAIMS, phase="Pending")
    await cluster.delete(pods["goes"], grace_period_seconds=0)
    await until_gone(cluster, a_claim("goes-scratch"), CLAIMS)


def a_csi_volume(name: str) -> Object:
    volume = a_volume(name, csi={"driver": "csi.example.com", "volumeHandle": name})
    del volume["spec"]["hostPath"]
    return volume


async def attached_and_taken_away(cluster: Cluster) -> None:
    for name in ("a", "b"):
        node = a_node(name).annotations({MANAGED_ATTACHING: "true"})
        await cluster.add_node(node)
    for name in ("one", "two"):
        await cluster.create(a_csi_volume(name), VOLUMES)
        await cluster.create(a_claim(name, volumeName=name), CLAIMS)
        await until_status(cluster, a_claim(name), CLAIMS, phase="Bound")
    moves = await cluster.create(using(a_pod("moves").on("a"), "one"))
    await cluster.create(using(a_pod("stays").on("b"), "two"))
    await until_attached(cluster, ("a", "one"), ("b", "two"))
    await cluster.delete(moves, grace_period_seconds=0)
    await until_attached(cluster, ("b", "two"))
    await cluster.create(using(a_pod("moves").on("b"), "one"))
    await until_attached(cluster, ("b", "one"), ("b", "two"))
    await cluster.delete(a_pod("moves"), grace_period_seconds=0)


async def until_attached(cluster: Cluster, *wanted: tuple[str, str]) -> None:
    """Exactly these: node and volume."""

    async def are_attached() -> bool:
        found = await cluster.list(VOLUME_ATTACHMENTS)
        if not all((one.get("status") or {}).get("attached") for one in found):
            return False
        specs = [one["spec"] for one in found]
        return sorted(wanted) == sorted((one["nodeName"], one["source"]["persistentVolumeName"]) for one in specs)

    await until(cluster, are_attached)


async def devices_for_pods(cluster: Cluster) -> None:
    template = await cluster.create(a_device_template())
    stays, goes, ends = [await cluster.create(a_device_user(name)) for name in ("stays", "goes", "ends")]
    late = await cluster.create(a_device_user("late", resourceClaimTemplateName="later"))
    for pod in (stays, goes, ends):
        await until_claimed(cluster, pod)
    await cluster.delete(goes, grace_period_seconds=0)
    await cluster.api.patch(PODS, "ends", {"status": {"phase": "Succeeded"}}, "default", subresource="status")
    for pod in (goes, ends):
        await until_unclaimed(cluster, pod)
    await cluster.create({**template, "metadata": {"name": "later", "namespace": "default"}})
    await until_claimed(cluster, late)


async def until_claimed(cluster: Cluster, pod: Object) -> None:
    """Its status names a claim."""

    async def is_claimed() -> bool:
        return bool((await cluster.read(pod))["status"].get("resourceClaimStatuses"))

    await until(cluster, is_claimed)


async def until_unclaimed(cluster: Cluster, pod: Object) -> None:
    """No claim is its own any more."""

    async def is_free() -> bool:
        claims = await cluster.list(RESOURCE_CLAIMS)
        return not any(uid_of(pod) == owner["uid"] for claim in claims for owner in owner_references_of(claim))

    await until(cluster, is_free)


DEVICE_CLAIMS = "resourceclaim-controller"
BINDER, PROVISIONER = "persistentvolume-binder-controller", "hostpath-sim-provisioner"
CLAIM_PROTECTION = "persistentvolumeclaim-protection-controller"
VOLUME_PROTECTION = "persistentvolume-protection-controller"
ATTACHER, DRIVER = "persistentvolume-attach-detach-controller", "csi-attacher-sim"
PROTECTED = (CLAIM_PROTECTION, VOLUME_PROTECTION)

SCENARIOS = (
    Scenario(BINDER, processes(BINDER, *PROTECTED), bound_and_released),
    Scenario(PROVISIONER, processes(PROVISIONER, BINDER, *PROTECTED), provisioned_and_reclaimed),
    Scenario(
        "persistentvolume-expander-controller",
        processes("persistentvolume-expander-controller", BINDER, PROVISIONER),
        grown,
    ),
    Scenario(CLAIM_PROTECTION, processes(CLAIM_PROTECTION, VOLUME_PROTECTION, BINDER), in_use),
    Scenario(VOLUME_PROTECTION, processes(VOLUME_PROTECTION, CLAIM_PROTECTION, BINDER), in_use),
    Scenario(
        "volumeattributesclass-protection-controller",
        processes("volumeattributesclass-protection-controller", CLAIM_PROTECTION),
        attributes_in_use,
    ),
    Scenario(
        "ephemeral-volume-controller",
        processes("ephemeral-volume-controller", CLAIM_PROTECTION, "garbage-collector-controller"),
        as_long_as_their_pods,
    ),
    # The server makes up the names of claims. A loop that forgot one it made, or never heard that it was made, and is
    # shown the time before, makes another, as upstream's.
    Scenario(
        DEVICE_CLAIMS,
        processes(DEVICE_CLAIMS, "garbage-collector-controller"),
        devices_for_pods,
        spared=(StaleLists, LoseAnswers),
    ),
    Scenario(ATTACHER, processes(ATTACHER, DRIVER, BINDER), attached_and_taken_away),
    Scenario(DRIVER, processes(DRIVER, ATTACHER, BINDER), attached_and_taken_away),
)
