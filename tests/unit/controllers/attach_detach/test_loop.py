"""Volumes of CSI drivers are attached to the nodes of their pods, one after the other, and taken away again."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from controllers import attach_detach, volumes
from controllers.attach_detach.model import MAX_UNMOUNT_WAIT_SECONDS
from kubelet_sim import simulator
from kubelet_sim.settings import Settings
from kubeloop.apimachinery.csi import MANAGED_ATTACHING, attachment_name
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, finalizers_of, name_of
from kubeloop.apimachinery.resource import (
    EVENTS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    VOLUME_ATTACHMENTS,
)
from kubeloop.runtime.manager import Manager
from kubeloop.testing.builders import a_node, a_pod
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster
from tests.unit.controllers.volumes.storage import a_claim, a_volume, using

DRIVER = "csi.example.com"
UNIQUE = f"kubernetes.io/csi/{DRIVER}^handle"


def add_loops(manager: Manager) -> None:
    volumes.add_binder(manager)
    attach_detach.add_to(manager)


LOOPS = {"loops": a_loop(add_loops), "attacher": a_loop(attach_detach.add_attacher)}
WITH_NODES = {**LOOPS, "nodes": a_loop(partial(simulator.add_to, settings=Settings(nodes=2)))}


def a_csi_volume(**spec: Any) -> Object:
    volume = a_volume(csi={"driver": DRIVER, "volumeHandle": "handle"}, **spec)
    del volume["spec"]["hostPath"]
    return volume


def a_managed_node(name: str, *, in_use: bool = False, ready: str = "True") -> Object:
    """Of which nobody plays the kubelet."""
    node = a_node(name).annotations({MANAGED_ATTACHING: "true"})
    node["status"]["conditions"] = [{"type": "Ready", "status": ready, "reason": "x", "message": ""}]
    if in_use:
        node["status"]["volumesInUse"] = [UNIQUE]
    return node


async def furnish(cluster: Cluster, *modes: str) -> None:
    """A claim with a volume of the driver, bound."""
    access = {"accessModes": list(modes)} if modes else {}
    await cluster.create(a_csi_volume(**access))
    await cluster.create(a_claim(**access))
    await cluster.settled()


async def attachments(cluster: Cluster) -> list[tuple[str, bool]]:
    """(node, whether it is attached) of each."""
    found = await cluster.list(VOLUME_ATTACHMENTS)
    return sorted((one["spec"]["nodeName"], one["status"].get("attached", False)) for one in found)


async def told(cluster: Cluster, pod: str) -> list[tuple[str, str]]:
    events = [event for event in await cluster.list(EVENTS) if event["involvedObject"]["name"] == pod]
    return [(event["reason"], event["message"]) for event in events if "Volume" in event["reason"]]


async def phase(cluster: Cluster, pod: str) -> str:
    return str((await cluster.api.get(PODS, pod, "default"))["status"].get("phase"))


async def status_of(cluster: Cluster, node: str) -> tuple[Any, Any]:
    status = (await cluster.api.get(NODES, node))["status"]
    return status.get("volumesAttached"), status.get("volumesInUse")


def test_a_volume_comes_to_the_node_of_its_pod_and_goes_with_it() -> None:
    """The pod starts once its node knows the volume, and the volume leaves once the node is done with it."""

    async def check(cluster: Cluster) -> dict[str, Any]:
        await furnish(cluster)
        pod = await cluster.create(using(a_pod("web").on("node-0"), "claim"))
        await cluster.settled()
        found = await cluster.list(VOLUME_ATTACHMENTS)
        seen = {
            "attachment": found[0],
            "node": await status_of(cluster, "node-0"),
            "phase": await phase(cluster, "web"),
            "told": await told(cluster, "web"),
            "finalizers": finalizers_of(await cluster.api.get(PERSISTENT_VOLUMES, "volume")),
        }
        await cluster.delete(pod)
        await cluster.settled()
        return {**seen, "after": (await attachments(cluster), await status_of(cluster, "node-0"))}

    seen = run_cluster(check, processes=WITH_NODES)

    attachment = seen["attachment"]
    spec = {"attacher": DRIVER, "nodeName": "node-0", "source": {"persistentVolumeName": "volume"}}
    assert (spec, {"attached": True}) == (attachment["spec"], attachment["status"])
    assert attachment_name(a_csi_volume(), "node-0") == name_of(attachment)
    assert ["external-attacher/csi-example-com"] == finalizers_of(attachment)
    assert "external-attacher/csi-example-com" in seen["finalizers"]
    assert ([{"name": UNIQUE, "devicePath": ""}], [UNIQUE]) == seen["node"]
    assert "Running" == seen["phase"]
    assert [("SuccessfulAttachVolume", 'AttachVolume.Attach succeeded for volume "volume" ')] == seen["told"]
    assert ([], (None, None)) == seen["after"]


@pytest.mark.parametrize("is_required", [False, True])
def test_a_driver_may_do_without(is_required: bool) -> None:
    """`attachRequired: false`: nothing is attached, and the pod does not wait."""

    async def check(cluster: Cluster) -> tuple[int, str]:
        driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": DRIVER}}
        await cluster.create({**driver, "spec": {"attachRequired": is_required}})
        await furnish(cluster)
        await cluster.create(using(a_pod("web").on("node-0"), "claim"))
        await cluster.settled()
        return len(await attachments(cluster)), await phase(cluster, "web")

    assert (int(is_required), "Running") == run_cluster(check, processes=WITH_NODES)


def test_other_volumes_need_no_attaching() -> None:
    """Those of hosts, as our own provisioner makes them."""

    async def check(cluster: Cluster) -> tuple[int, str]:
        await cluster.create(a_volume())
        await cluster.create(a_claim())
        await cluster.create(using(a_pod("web").on("node-0"), "claim"))
        await cluster.settled()
        return len(await attachments(cluster)), await phase(cluster, "web")

    assert (0, "Running") == run_cluster(check, processes=WITH_NODES)


def test_a_pod_waits_for_its_volume() -> None:
    """Without an attacher it does not start; the loop that attaches says why, and a kubelet nothing."""
    processes = {name: process for name, process in WITH_NODES.items() if name != "attacher"}

    async def check(cluster: Cluster) -> tuple[str, list[tuple[str, str]], list[str], str]:
        await furnish(cluster)
        await cluster.create(using(a_pod("web").on("node-0"), "claim"))
        await cluster.clock.sleep(130)
        before, events = await phase(cluster, "web"), await told(cluster, "web")
        mounts = [e["message"] for e in await cluster.list(EVENTS) if e["reason"] == "FailedMount"]
        attachment = (await cluster.list(VOLUME_ATTACHMENTS))[0]
        await cluster.api.patch(
            VOLUME_ATTACHMENTS, name_of(attachment), {"status": {"attached": True}}, subresource="status"
        )
        await cluster.settled()
        return before, events, mounts, await phase(cluster, "web")

    before, events, mounts, after = run_cluster(check, processes=processes)

    why = f"timed out waiting for external-attacher of {DRIVER} CSI driver to attach volume handle"
    assert ("Pending", "Running") == (before, after)
    assert [("FailedAttachVolume", f'AttachVolume.Attach failed for volume "volume" : {why}')] == events
    assert [] == mounts


def test_an_attacher_that_fails_is_quoted() -> None:
    """Once for each thing it says."""

    async def check(cluster: Cluster) -> list[tuple[str, str]]:
        await furnish(cluster)
        await cluster.create(a_managed_node("a"))
        await cluster.create(using(a_pod("web").on("a"), "claim"))
        await cluster.settled()
        attachment = (await cluster.list(VOLUME_ATTACHMENTS))[0]
        status = {"status": {"attachError": {"message": "no room", "time": "2026-01-01T00:00:00Z"}}}
        await cluster.api.patch(VOLUME_ATTACHMENTS, name_of(attachment), status, subresource="status")
        await cluster.settled()
        return await told(cluster, "web")

    expected = [("FailedAttachVolume", 'AttachVolume.Attach failed for volume "volume" : no room')]
    assert expected == run_cluster(check, processes={"loops": a_loop(add_loops)})


def test_an_exclusive_volume_is_on_one_node_only() -> None:
    """The second pod is told who has it, and gets it when that one is gone."""

    async def check(cluster: Cluster) -> tuple[Any, Any, Any, str]:
        await furnish(cluster)
        first = await cluster.create(using(a_pod("first").on("node-0"), "claim"))
        await cluster.settled()
        await cluster.create(using(a_pod("second").on("node-1"), "claim"))
        await cluster.settled()
        before = await attachments(cluster), await told(cluster, "second")
        await cluster.delete(first)
        await cluster.settled()
        return *before, await attachments(cluster), await phase(cluster, "second")

    before, events, after, second = run_cluster(check, processes=WITH_NODES)

    assert ([("node-0", True)], [("node-1", True)]) == (before, after)
    message = 'Multi-Attach error for volume "volume" Volume is already used by pod(s) first'
    assert [("FailedAttachVolume", message)] == events
    assert "Running" == second


def test_a_shared_volume_is_on_many_nodes() -> None:
    """ReadWriteMany."""

    async def check(cluster: Cluster) -> list[tuple[str, bool]]:
        await furnish(cluster, "ReadWriteMany")
        for i in range(2):
            await cluster.create(using(a_pod(f"p{i}").on(f"node-{i}"), "claim"))
        await cluster.settled()
        return await attachments(cluster)

    assert [("node-0", True), ("node-1", True)] == run_cluster(check, processes=WITH_NODES)


@pytest.mark.parametrize(
    ("ready", "taints", "gone_after"),
    [
        ("True", [], None),
        ("Unknown", [], MAX_UNMOUNT_WAIT_SECONDS),
        ("True", [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute", "value": "x"}], 0.0),
    ],
    ids=["a healthy node has its time", "a lost one has six minutes", "one out of service has none"],
)
def test_a_node_that_still_uses_a_volume_keeps_it(ready: str, taints: list[Object], gone_after: float | None) -> None:
    """Its pod is gone, but the node says that the volume is mounted."""

    async def check(cluster: Cluster) -> tuple[bool, bool]:
        await furnish(cluster)
        await cluster.create(a_managed_node("a", in_use=True))
        pod = await cluster.create(using(a_pod("web").on("a"), "claim"))
        await cluster.settled()
        conditions = [{"type": "Ready", "status": ready, "reason": "x", "message": ""}]
        await cluster.api.patch(NODES, "a", {"status": {"conditions": conditions}}, subresource="status")
        await cluster.api.patch(NODES, "a", {"spec": {"taints": taints}})
        await cluster.delete(pod, grace_period_seconds=0)
        await cluster.clock.sleep((gone_after or 1000) - 30 if gone_after != 0 else 5)
        before = bool(await attachments(cluster))
        await cluster.clock.sleep(60)
        return before, bool(await attachments(cluster))

    expected = (True, True) if gone_after is None else (gone_after > 0, False)
    assert expected == run_cluster(check, processes=LOOPS)


def test_a_restarted_loop_goes_on_from_the_attachments() -> None:
    """What happened while it was away is done when it is back; what stands is not touched."""

    async def check(cluster: Cluster) -> tuple[Any, Any]:
        await furnish(cluster)
        pod = await cluster.create(using(a_pod("web").on("node-0"), "claim"))
        await cluster.settled()
        uid = (await cluster.list(VOLUME_ATTACHMENTS))[0]["metadata"]["uid"]
        await cluster.stop("loops")
        cluster.start("loops")
        await cluster.settled()
        same = [one["metadata"]["uid"] == uid for one in await cluster.list(VOLUME_ATTACHMENTS)]
        await cluster.stop("loops")
        await cluster.delete(pod)
        await cluster.clock.sleep(60)
        cluster.start("loops")
        await cluster.clock.sleep(5)
        return same, await attachments(cluster)

    assert ([True], []) == run_cluster(check, processes=WITH_NODES)


def test_attachments_of_others_are_left_alone() -> None:
    """Somebody made one by hand, under a name of his own."""

    async def check(cluster: Cluster) -> list[tuple[str, bool]]:
        await furnish(cluster)
        await cluster.create(a_managed_node("a"))
        spec = {"attacher": DRIVER, "nodeName": "a", "source": {"persistentVolumeName": "volume"}}
        body = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "mine"}}
        await cluster.create({**body, "spec": spec})
        await cluster.settled()
        return await attachments(cluster)

    assert [("a", True)] == run_cluster(check, processes=LOOPS)


def test_a_volume_that_is_deleted_waits_until_it_is_attached_nowhere() -> None:
    """The attacher's finalizer holds it."""

    async def check(cluster: Cluster) -> tuple[bool, bool]:
        await furnish(cluster)
        pod = await cluster.create(using(a_pod("web").on("node-0"), "claim"))
        await cluster.settled()
        await cluster.api.delete(PERSISTENT_VOLUMES, "volume")
        await cluster.api.patch(
            PERSISTENT_VOLUMES, "volume", {"metadata": {"finalizers": ["external-attacher/csi-example-com"]}}
        )
        await cluster.settled()
        waits = await _is_there(cluster)
        await cluster.delete(pod)
        await cluster.api.delete(PERSISTENT_VOLUME_CLAIMS, "claim", "default")
        await cluster.settled()
        return waits, await _is_there(cluster)

    assert (True, False) == run_cluster(check, processes=WITH_NODES)


async def _is_there(cluster: Cluster) -> bool:
    try:
        await cluster.api.get(PERSISTENT_VOLUMES, "volume")
    except NotFound:
        return False
    return True
