"""Volumes and claims in a living cluster, with a scheduler where one is needed."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from controllers import volumes
from controllers.scheduler import loop as scheduler
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, annotations_of, name_of
from kubeloop.apimachinery.resource import (
    EVENTS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STORAGE_CLASSES,
    VOLUME_ATTRIBUTES_CLASSES,
    Resource,
)
from kubeloop.runtime.manager import Manager
from kubeloop.testing.builders import a_node, a_pod
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.controllers.volumes.storage import a_claim, a_class, a_volume, on_host, reference, using


def add_all(manager: Manager, default_storage_class: bool = False) -> None:
    volumes.add_binder(manager)
    volumes.add_claim_protection(manager)
    volumes.add_class_protection(manager)
    volumes.add_volume_protection(manager)
    volumes.add_ephemeral(manager)
    volumes.add_expander(manager)
    volumes.add_provisioner(manager, default_storage_class)


def add_scheduler(manager: Manager) -> None:
    scheduler.add_to(manager)


LOOPS = {"volumes": a_loop(add_all)}
WITH_SCHEDULER = {**LOOPS, "scheduler": a_loop(add_scheduler)}
CSI = {"driver": "csi.example.com", "volumeHandle": "v"}
WAITS = {"volumeBindingMode": "WaitForFirstConsumer"}


async def claim(cluster: Cluster, name: str = "claim") -> Object:
    return await cluster.api.get(PERSISTENT_VOLUME_CLAIMS, name, "default")


async def volume(cluster: Cluster, name: str = "volume") -> Object:
    return await cluster.api.get(PERSISTENT_VOLUMES, name)


async def until_phase(cluster: Cluster, phase: str, resource: Resource, name: str) -> Object:
    async def has_come() -> Object | None:
        obj = await cluster.api.get(resource, name, "default" if resource.namespaced else "")
        return obj if (obj.get("status") or {}).get("phase") == phase else None

    found = await cluster.eventually(has_come)
    assert found is not None
    return found


async def until_gone(cluster: Cluster, resource: Resource, name: str) -> None:
    async def is_gone() -> bool:
        try:
            await cluster.api.get(resource, name, "default" if resource.namespaced else "")
        except NotFound:
            return True
        return False

    await cluster.eventually(is_gone)


async def reasons(cluster: Cluster) -> list[str]:
    """Of all events, each once."""
    await cluster.clock.sleep(1)
    return sorted({event["reason"] for event in await cluster.list(EVENTS, "default")})


bound_claim = partial(until_phase, phase="Bound", resource=PERSISTENT_VOLUME_CLAIMS)


def test_a_binding_is_written_once_and_outlives_everything() -> None:
    """Claim and volume refer to each other; after that nothing is written, also when the loop starts again."""

    async def check(cluster: Cluster) -> tuple[Object, Object, int]:
        await cluster.create(a_volume(size="2Gi"), PERSISTENT_VOLUMES)
        await cluster.create(a_claim(), PERSISTENT_VOLUME_CLAIMS)
        await bound_claim(cluster, name="claim")
        await cluster.settled()
        before = len(cluster.writes)
        await cluster.stop("volumes")
        cluster.start("volumes")
        await cluster.clock.sleep(100)
        return await claim(cluster), await volume(cluster), len(cluster.writes) - before

    found, taken, writes = run_cluster(check, processes=LOOPS)

    assert {"storage": "2Gi"} == found["status"]["capacity"]
    assert ("volume", "claim") == (found["spec"]["volumeName"], taken["spec"]["claimRef"]["name"])
    assert ("Bound", found["metadata"]["uid"]) == (taken["status"]["phase"], taken["spec"]["claimRef"]["uid"])
    assert 0 == writes


def test_one_volume_goes_to_one_of_two_claims() -> None:
    """The other waits, and gets the next volume that comes."""

    async def check(cluster: Cluster) -> list[str]:
        for name in ("one", "two"):
            await cluster.create(a_claim(name), PERSISTENT_VOLUME_CLAIMS)
        await cluster.create(a_volume("first"), PERSISTENT_VOLUMES)
        await cluster.settled()
        phases = sorted([(await claim(cluster, name))["status"]["phase"] for name in ("one", "two")])
        await cluster.create(a_volume("second"), PERSISTENT_VOLUMES)
        await bound_claim(cluster, name="one")
        await bound_claim(cluster, name="two")
        return phases

    assert ["Bound", "Pending"] == run_cluster(check, processes=LOOPS)


def test_a_claim_in_use_and_a_bound_volume_wait_for_each_other() -> None:
    """The pod keeps the claim, the claim keeps the volume; when the pod goes, all of them do."""

    async def check(cluster: Cluster) -> list[bool]:
        await cluster.add_node(a_node("n"))
        await cluster.create(a_volume(), PERSISTENT_VOLUMES)
        await cluster.create(a_claim(), PERSISTENT_VOLUME_CLAIMS)
        await bound_claim(cluster, name="claim")
        pod = await cluster.create(using(a_pod("user").on("n"), "claim"))
        await cluster.delete(a_claim(), PERSISTENT_VOLUME_CLAIMS)
        await cluster.delete(a_volume(), PERSISTENT_VOLUMES)
        await cluster.settled()
        held = ["deletionTimestamp" in (await read(cluster))["metadata"] for read in (claim, volume)]
        await cluster.delete(pod, grace_period_seconds=0)
        await until_gone(cluster, PERSISTENT_VOLUME_CLAIMS, "claim")
        await until_gone(cluster, PERSISTENT_VOLUMES, "volume")
        return held

    assert [True, True] == run_cluster(check, processes=LOOPS)


def test_an_attributes_class_waits_for_the_volumes_that_have_it() -> None:
    """A class that a volume names is kept until that volume is gone; one that nobody names goes at once."""

    async def check(cluster: Cluster) -> bool:
        for name in ("used", "spare"):
            named = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": {"name": name}}
            given = {**named, "driverName": "csi.example.com", "parameters": {"iops": "3000"}}
            await cluster.create(given, VOLUME_ATTRIBUTES_CLASSES)
        has_class = a_volume(volumeAttributesClassName="used", hostPath=None, csi=CSI)
        await cluster.create(has_class, PERSISTENT_VOLUMES)
        await cluster.clock.sleep(1)
        for name in ("used", "spare"):
            await cluster.api.delete(VOLUME_ATTRIBUTES_CLASSES, name)
        await until_gone(cluster, VOLUME_ATTRIBUTES_CLASSES, "spare")
        kept = await cluster.api.get(VOLUME_ATTRIBUTES_CLASSES, "used")
        await cluster.api.delete(PERSISTENT_VOLUMES, "volume")
        await until_gone(cluster, VOLUME_ATTRIBUTES_CLASSES, "used")
        return "deletionTimestamp" in kept["metadata"]

    assert run_cluster(check, processes=LOOPS)


@pytest.mark.parametrize(
    ("policy", "path", "expected"),
    [("Retain", "/tmp/x", "Released"), ("Recycle", "/tmp/x", "Available"), ("Delete", "/data", "Failed")],
)
def test_what_becomes_of_a_volume_when_its_claim_goes(policy: str, path: str, expected: str) -> None:
    """It is kept, freed, or cannot be deleted."""

    async def check(cluster: Cluster) -> Object:
        wanted = a_volume(persistentVolumeReclaimPolicy=policy, hostPath={"path": path})
        await cluster.create(wanted, PERSISTENT_VOLUMES)
        await cluster.create(a_claim(), PERSISTENT_VOLUME_CLAIMS)
        await bound_claim(cluster, name="claim")
        await cluster.delete(a_claim(), PERSISTENT_VOLUME_CLAIMS)
        found = await until_phase(cluster, expected, PERSISTENT_VOLUMES, "volume")
        await cluster.settled()
        assert found == await volume(cluster)
        return found

    assert (expected != "Available") == ("claimRef" in run_cluster(check, processes=LOOPS)["spec"])


def test_a_claim_without_its_volume_is_lost() -> None:
    """And told so once; it comes back with the volume."""

    async def check(cluster: Cluster) -> list[str]:
        await cluster.create(a_volume(), PERSISTENT_VOLUMES)
        await until_phase(cluster, "Available", PERSISTENT_VOLUMES, "volume")
        await cluster.create(a_claim(), PERSISTENT_VOLUME_CLAIMS)
        await bound_claim(cluster, name="claim")
        await cluster.delete(a_volume(), PERSISTENT_VOLUMES)
        await cluster.patch(a_volume(), {"metadata": {"finalizers": None}}, PERSISTENT_VOLUMES)
        await until_phase(cluster, "Lost", PERSISTENT_VOLUME_CLAIMS, "claim")
        told = await reasons(cluster)
        await cluster.create(a_volume(), PERSISTENT_VOLUMES)
        await bound_claim(cluster, name="claim")
        return told

    assert ["ClaimLost"] == run_cluster(check, processes=LOOPS)


def test_volumes_are_made_grown_and_removed() -> None:
    """A class with our provisioner: bound without delay, expanded when asked, gone with the claim."""

    async def check(cluster: Cluster) -> tuple[Object, list[str]]:
        await cluster.create(a_class(allowVolumeExpansion=True), STORAGE_CLASSES)
        await cluster.create(a_claim(), PERSISTENT_VOLUME_CLAIMS)
        found = await bound_claim(cluster, name="claim")
        made = await volume(cluster, found["spec"]["volumeName"])
        more = {"spec": {"resources": {"requests": {"storage": "3Gi"}}}}
        await cluster.patch(a_claim(), more, PERSISTENT_VOLUME_CLAIMS)

        async def has_grown() -> bool:
            return (await claim(cluster))["status"]["capacity"] == {"storage": "3Gi"}

        await cluster.eventually(has_grown)
        assert {"storage": "3Gi"} == (await volume(cluster, name_of(made)))["spec"]["capacity"]
        told = await reasons(cluster)
        await cluster.delete(a_claim(), PERSISTENT_VOLUME_CLAIMS)
        await until_gone(cluster, PERSISTENT_VOLUMES, name_of(made))
        return made, told

    made, told = run_cluster(check, processes=LOOPS)

    assert "kubeloop.io/hostpath-sim" == annotations_of(made)["pv.kubernetes.io/provisioned-by"]
    assert "nodeAffinity" not in made["spec"]
    assert {"ProvisioningSucceeded", "Resizing", "VolumeResizeSuccessful"} <= set(told)


@pytest.mark.parametrize("default_storage_class", [True, False])
def test_a_default_class_is_made_only_where_it_is_asked_for(default_storage_class: bool) -> None:
    """Then claims without a class get it, also those that came before it."""

    async def check(cluster: Cluster) -> tuple[list[str], str]:
        await cluster.stop("volumes")
        await cluster.create(a_claim(storage_class=None), PERSISTENT_VOLUME_CLAIMS)
        cluster.start("volumes")
        await cluster.settled()
        classes = [name_of(one) for one in await cluster.list(STORAGE_CLASSES)]
        return classes, (await claim(cluster))["spec"].get("storageClassName", "")

    add = partial(add_all, default_storage_class=default_storage_class)

    expected = (["standard"], "standard") if default_storage_class else ([], "")
    assert expected == run_cluster(check, processes={"volumes": a_loop(add)})


def test_an_ephemeral_volume_has_a_claim_of_its_own() -> None:
    """Owned by the pod; a claim of that name that is not the pod's is an error told in an event."""

    async def check(cluster: Cluster) -> tuple[Object, list[str]]:
        template = {"metadata": {"labels": {"a": "b"}}, "spec": a_claim()["spec"]}
        disk = {"name": "disk", "ephemeral": {"volumeClaimTemplate": template}}
        await cluster.create(a_claim("other-disk"), PERSISTENT_VOLUME_CLAIMS)
        for name in ("mine", "other"):
            await cluster.create(a_pod(name).spec(volumes=[disk]))
        await cluster.settled()
        return await claim(cluster, "mine-disk"), await reasons(cluster)

    made, told = run_cluster(check, processes=LOOPS)

    assert [("Pod", "mine")] == [(one["kind"], one["name"]) for one in made["metadata"]["ownerReferences"]]
    assert {"a": "b"} == made["metadata"]["labels"]
    assert "FailedBinding" in told


async def two_nodes(cluster: Cluster) -> None:
    for name in ("a", "b"):
        await cluster.add_node(a_node(name))
        status = a_node(name)["status"]
        await cluster.patch(a_node(name), {"spec": {"taints": None}})
        await cluster.api.patch(
            Resource("", "v1", "nodes", "Node", False), name, {"status": status}, subresource="status"
        )


async def placed(cluster: Cluster, name: str) -> str:
    async def node() -> str:
        return str((await cluster.api.get(PODS, name, "default"))["spec"].get("nodeName", ""))

    return await cluster.eventually(node)


def test_a_claim_that_waits_is_bound_where_the_pod_goes() -> None:
    """Volumes are on one node each: two pods end up with the volumes, and the third has nowhere to go."""

    async def check(cluster: Cluster) -> tuple[dict[str, str], Object]:
        await two_nodes(cluster)
        await cluster.create(a_class(provisioner="kubernetes.io/no-provisioner", **WAITS), STORAGE_CLASSES)
        for node in ("a", "b"):
            await cluster.create(a_volume(f"on-{node}", nodeAffinity=on_host(node)), PERSISTENT_VOLUMES)
        for name in ("one", "two", "three"):
            await cluster.create(a_claim(name), PERSISTENT_VOLUME_CLAIMS)
        for name in ("one", "two"):
            await cluster.create(using(a_pod(name), name))
        found = {
            (await bound_claim(cluster, name=n))["spec"]["volumeName"]: await placed(cluster, n) for n in ("one", "two")
        }
        await cluster.create(using(a_pod("three"), "three"))
        await cluster.settled()
        return found, await cluster.api.get(PODS, "three", "default")

    found, last = run_cluster(check, processes=WITH_SCHEDULER)

    assert {"on-a": "a", "on-b": "b"} == found
    assert "2 node(s) didn't find available persistent volumes to bind" in last["status"]["conditions"][0]["message"]


def test_a_volume_is_made_on_the_node_that_the_scheduler_chose() -> None:
    """The claim is marked with the node, the volume is made there, and only then the pod is bound."""

    async def check(cluster: Cluster) -> tuple[str, Object, Object]:
        await two_nodes(cluster)
        await cluster.create(a_class(**WAITS), STORAGE_CLASSES)
        await cluster.create(a_claim(), PERSISTENT_VOLUME_CLAIMS)
        await cluster.create(using(a_pod("p").node_selector(**{"kubernetes.io/hostname": "b"}), "claim"))
        node = await placed(cluster, "p")
        found = await claim(cluster)
        return node, found, await volume(cluster, found["spec"]["volumeName"])

    node, found, made = run_cluster(check, processes=WITH_SCHEDULER)

    assert ("b", "b") == (node, annotations_of(found)["volume.kubernetes.io/selected-node"])
    assert on_host("b") == made["spec"]["nodeAffinity"]
    assert "Bound" == found["status"]["phase"]


def test_a_pod_waits_for_its_claim() -> None:
    """An unbound claim of an immediate class holds the pod back until its volume comes."""

    async def check(cluster: Cluster) -> tuple[str, str]:
        await two_nodes(cluster)
        await cluster.create(a_claim(), PERSISTENT_VOLUME_CLAIMS)
        await cluster.create(using(a_pod("p"), "claim"))
        await cluster.settled()
        conditions: list[Any] = (await cluster.api.get(PODS, "p", "default"))["status"]["conditions"]
        await cluster.create(a_volume(claimRef=reference(), nodeAffinity=on_host("b")), PERSISTENT_VOLUMES)
        return conditions[0]["message"], await placed(cluster, "p")

    message, node = run_cluster(check, processes=WITH_SCHEDULER)

    assert "pod has unbound immediate PersistentVolumeClaims" in message
    assert "b" == node


def test_a_cloud_disk_is_left_to_the_driver_that_took_it_over() -> None:
    """It is noted which one: nobody here deletes or expands the volume."""
    made_by = {"pv.kubernetes.io/provisioned-by": "kubernetes.io/gce-pd"}

    async def check(cluster: Cluster) -> tuple[Object, Object, list[str], Object]:
        volume = a_volume(
            metadata={"annotations": made_by},
            persistentVolumeReclaimPolicy="Delete",
            gcePersistentDisk={"pdName": "disk"},
        )
        del volume["spec"]["hostPath"]
        await cluster.create(a_class(allowVolumeExpansion=True))
        await cluster.create(volume)
        await cluster.create(a_claim())
        await cluster.settled()
        grown = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
        await cluster.api.patch(PERSISTENT_VOLUME_CLAIMS, "claim", grown, "default")
        await cluster.settled()
        expanding = await claim(cluster)
        told = [e["message"] for e in await cluster.list(EVENTS) if e["reason"] == "ExternalExpanding"]
        await cluster.api.delete(PERSISTENT_VOLUME_CLAIMS, "claim", "default")
        await cluster.settled()
        left = await cluster.api.get(PERSISTENT_VOLUMES, "volume")
        return annotations_of(left), annotations_of(expanding), told, left["status"]

    of_volume, of_claim, told, status = run_cluster(check, processes=LOOPS)

    assert "pd.csi.storage.gke.io" == of_volume["pv.kubernetes.io/migrated-to"]
    assert "pd.csi.storage.gke.io" == of_claim["volume.kubernetes.io/storage-resizer"]
    assert ["CSI migration enabled for kubernetes.io/gce-pd; waiting for external resizer to expand the pvc"] == told
    assert "Released" == status["phase"]


def test_a_volume_in_use_is_recycled_once_its_pods_are_gone() -> None:
    """Those of a new claim of the same name do not count: it gets the volume, which was kept for the name."""

    async def check(cluster: Cluster) -> tuple[str, list[str], str]:
        kept = {"claimRef": {**reference("gone"), "uid": "11111111-2222-3333-4444-555555555555"}}
        await cluster.create(using(a_pod("user").on("a"), "gone"))
        await cluster.create(a_volume(persistentVolumeReclaimPolicy="Recycle", **kept))
        await cluster.settled()
        before = (await cluster.api.get(PERSISTENT_VOLUMES, "volume"))["status"]["phase"]
        told = [e["message"] for e in await cluster.list(EVENTS) if e["reason"] == "VolumeFailedRecycle"]
        await cluster.create(a_claim("gone", storage_class=""))
        await cluster.clock.sleep(20)
        after = (await cluster.api.get(PERSISTENT_VOLUMES, "volume"))["status"]["phase"]
        return before, sorted(set(told)), after

    expected = ("Released", ["Volume is used by pods: default/user"], "Bound")
    assert expected == run_cluster(check, processes=LOOPS)
