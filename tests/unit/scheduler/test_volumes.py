"""The volume plugins by tables: a pod's claims, what there is, and which nodes refuse the pod for what reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from controllers.scheduler.assumed_objects import AssumedObjects
from controllers.scheduler.events import Hint
from controllers.scheduler.plugins import node_volume_limits, volume_restrictions, volume_zone
from controllers.scheduler.plugins.volume_binding import VolumeBinding
from kubeloop.apimachinery.meta import Object, ObjectKey
from kubeloop.testing.builders import a_node, a_pod
from tests.unit.controllers.volumes.storage import a_claim, a_class, a_volume, on_host, reference, using
from tests.unit.scheduler.scene import FakeLister, Scene, in_zone, info, nodes

BOUND = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}, "uid": "u"}
WAITS = {"volumeBindingMode": "WaitForFirstConsumer"}
NO_VOLUMES = "node(s) didn't find available persistent volumes to bind"


def bound(name: str = "claim", volume: str = "volume", **fields: Any) -> Object:
    return a_claim(name, volumeName=volume, metadata=BOUND, status={"phase": "Bound"}, **fields)


def scene(on: Sequence[Object], pods: Sequence[Object] = (), **others: Sequence[Object]) -> Scene:
    """`claims`, `volumes`, `classes`, `csi_nodes`, `drivers`, `capacities`, `attachments`."""
    kinds = {
        "claims": "PersistentVolumeClaim",
        "volumes": "PersistentVolume",
        "classes": "StorageClass",
        "csi_nodes": "CSINode",
        "drivers": "CSIDriver",
        "capacities": "CSIStorageCapacity",
        "attachments": "VolumeAttachment",
    }
    return Scene(on, pods, {kinds[name]: objects for name, objects in others.items()})


@pytest.mark.parametrize(
    ("claims", "classes", "message"),
    [
        ([], [], 'persistentvolumeclaim "claim" not found'),
        ([a_claim()], [], "pod has unbound immediate PersistentVolumeClaims"),
        ([a_claim(volumeName="volume")], [a_class(**WAITS)], "pod has unbound immediate PersistentVolumeClaims"),
        ([a_claim(metadata={"deletionTimestamp": "t"})], [], 'persistentvolumeclaim "claim" is being deleted'),
        (
            [bound() | {"status": {"phase": "Lost"}}],
            [],
            'persistentvolumeclaim "claim" bound to non-existent persistentvolume "volume"',
        ),
    ],
)
def test_some_claims_keep_the_pod_from_every_node(claims: list[Object], classes: list[Object], message: str) -> None:
    """What is missing, unbound, lost or going is told once, not node by node."""
    decision = scene(nodes("a", "b"), claims=claims, classes=classes).decide(using(a_pod("p"), "claim"))

    assert message == decision.diagnosis.pre_filter_message


def test_an_ephemeral_volume_waits_for_its_claim() -> None:
    """Until its controller has made it, and for good where the claim is not the pod's."""
    pod = a_pod("p").spec(volumes=[{"name": "disk", "ephemeral": {"volumeClaimTemplate": {}}}])

    without = scene(nodes("a"), claims=[]).decide(pod)
    with_another = scene(nodes("a"), claims=[a_claim("p-disk")]).decide(pod)

    waiting = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-disk"'
    assert waiting == without.diagnosis.pre_filter_message
    not_mine = "PVC default/p-disk was not created for pod default/p (pod is not owner)"
    assert not_mine == with_another.diagnosis.pre_filter_message


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        ([a_volume()], {}),
        ([a_volume(nodeAffinity=on_host("a"))], {"b": "node(s) didn't match PersistentVolume's node affinity"}),
    ],
)
def test_a_bound_claim_leads_to_its_volume(volumes: list[Object], expected: dict[str, str]) -> None:
    """Only nodes that can reach it will do."""
    found = scene(nodes("a", "b"), claims=[bound()], volumes=volumes).reasons(using(a_pod("p"), "claim"))

    assert expected == found


@pytest.mark.parametrize(
    ("claim", "provisioner", "volumes", "expected"),
    [
        (a_claim(), "kubernetes.io/no-provisioner", [a_volume(nodeAffinity=on_host("a"))], {"b": NO_VOLUMES}),
        (a_claim(), "example.com/p", [a_volume(nodeAffinity=on_host("a"))], {}),
        (a_claim(size="2Gi"), "kubernetes.io/no-provisioner", [a_volume()], {"a": NO_VOLUMES, "b": NO_VOLUMES}),
        (
            a_claim(metadata={"annotations": {"volume.kubernetes.io/selected-node": "b"}}),
            "example.com/p",
            [],
            {"a": NO_VOLUMES},
        ),
    ],
)
def test_a_claim_that_waits_needs_a_volume_on_the_node(
    claim: Object, provisioner: str, volumes: list[Object], expected: dict[str, str]
) -> None:
    """One that is there or that can be made; a node that was chosen before stays chosen."""
    there = scene(nodes("a", "b"), claims=[claim], volumes=volumes, classes=[a_class(provisioner=provisioner, **WAITS)])

    assert expected == there.reasons(using(a_pod("p"), "claim"))


def test_two_claims_of_a_pod_need_two_volumes() -> None:
    """The small claim takes the small volume, so that the large one fits too."""
    volumes = [a_volume("small", "1Gi"), a_volume("large", "5Gi")]
    claims = [a_claim("much", "4Gi"), a_claim("little", "1Gi")]
    classes = [a_class(provisioner="kubernetes.io/no-provisioner", **WAITS)]

    enough = scene(nodes("a"), claims=claims, volumes=volumes, classes=classes)
    too_few = scene(nodes("a"), claims=claims, volumes=volumes[1:], classes=classes)

    assert ["a"] == enough.feasible(using(a_pod("p"), "much", "little"))
    assert {"a": NO_VOLUMES} == too_few.reasons(using(a_pod("p"), "much", "little"))


@pytest.mark.parametrize(
    ("limit", "expected"), [("5Gi", {}), ("1Gi", {"a": "node(s) did not have enough free storage"})]
)
def test_drivers_that_publish_their_space_must_have_some(limit: str, expected: dict[str, str]) -> None:
    """A CSIStorageCapacity of the class has to cover the node and the size."""
    driver = {"metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": True}}
    space = {
        "metadata": {"name": "c", "namespace": "default"},
        "storageClassName": "fast",
        "capacity": limit,
        "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": "a"}},
    }
    classes = [a_class(provisioner="csi.example.com", **WAITS)]

    there = scene(nodes("a"), claims=[a_claim(size="2Gi")], classes=classes, drivers=[driver], capacities=[space])

    assert expected == there.reasons(using(a_pod("p"), "claim"))


def test_topologies_of_the_class_bind() -> None:
    """Volumes are only made where the class allows it."""
    allowed = [{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["z1"]}]}]
    classes = [a_class(allowedTopologies=allowed, **WAITS)]

    there = scene([in_zone("a", "z1"), in_zone("b", "z2")], claims=[a_claim()], classes=classes)

    assert {"b": NO_VOLUMES} == there.reasons(using(a_pod("p"), "claim"))


def test_what_is_reserved_is_not_promised_twice() -> None:
    """Until the reservation is given back, the next pod finds no volume."""
    claims = [a_claim("one"), a_claim("two")]
    classes = [a_class(provisioner="kubernetes.io/no-provisioner", **WAITS)]
    there = scene(nodes("a"), claims=claims, volumes=[a_volume()], classes=classes)
    plugin = next(plugin for plugin in there.framework.plugins if isinstance(plugin, VolumeBinding))
    state, pod = there.state(), info(using(a_pod("p"), "one"))
    there.decide(pod.pod, state=state)

    plugin.reserve(state, pod, "a")
    reserved = there.reasons(using(a_pod("q"), "two"))
    plugin.unreserve(state, pod, "a")

    assert {"a": NO_VOLUMES} == reserved
    assert {} == there.reasons(using(a_pod("q"), "two"))


def test_an_assumption_ends_with_a_newer_version() -> None:
    """Whoever wrote it: what the server says wins."""
    key = ObjectKey("", "volume")
    lister = FakeLister([a_volume(metadata={"resourceVersion": "1"})])
    objects = AssumedObjects(lister)
    assumed = a_volume(claimRef=reference(), metadata={"resourceVersion": "1"})

    objects.assume(lister.objects[key], assumed)
    before = objects.get(key)
    lister.objects[key] = a_volume(metadata={"resourceVersion": "2"})

    assert assumed == before
    assert lister.objects[key] == objects.get(key)
    assert [lister.objects[key]] == objects.list()


@pytest.mark.parametrize(
    ("mine", "theirs", "is_refused"),
    [
        ({"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "d"}}, True),
        (
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            False,
        ),
        (
            {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}},
            {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}},
            True,
        ),
        ({"iscsi": {"iqn": "x"}}, {"iscsi": {"iqn": "y"}}, False),
        (
            {"rbd": {"monitors": ["a", "b"], "pool": "p", "image": "i"}},
            {"rbd": {"monitors": ["b"], "pool": "p", "image": "i"}},
            True,
        ),
        ({"nfs": {"server": "s", "path": "/"}}, {"nfs": {"server": "s", "path": "/"}}, False),
    ],
)
def test_a_disk_with_two_writers(mine: Object, theirs: Object, is_refused: bool) -> None:
    """Disks that only one may write to keep the second pod from the first one's node."""
    other = a_pod("other").on("a").spec(volumes=[{"name": "v", **theirs}])

    reasons = Scene(nodes("a", "b"), [other]).reasons(a_pod("p").spec(volumes=[{"name": "v", **mine}]))

    assert ({"a": "node(s) had no available disk"} if is_refused else {}) == reasons


def test_a_claim_for_one_pod_only() -> None:
    """While another pod has it, ReadWriteOncePod keeps every node away, and preemption may help."""
    claims = [bound(accessModes=["ReadWriteOncePod"])]
    other = using(a_pod("other").on("a"), "claim")

    there = scene(nodes("a", "b"), [other], claims=claims, volumes=[a_volume()])

    assert dict.fromkeys("ab", volume_restrictions.IN_USE.message) == there.reasons(using(a_pod("p"), "claim"))


@pytest.mark.parametrize(
    ("zone", "refused"),
    [("z1", ["b"]), ("z1__z2", []), ("z3", ["a", "b"])],
)
def test_labelled_volumes_stay_in_their_zones(zone: str, refused: list[str]) -> None:
    """Old labels of volumes mean the new ones of nodes; a node without zones takes any volume."""
    volume = a_volume(metadata={"labels": {"failure-domain.beta.kubernetes.io/zone": zone}})
    on = [in_zone("a", "z1"), in_zone("b", "z2"), a_node("nowhere")]

    reasons = scene(on, claims=[bound()], volumes=[volume]).reasons(using(a_pod("p"), "claim"))

    assert dict.fromkeys(refused, volume_zone.CONFLICT.message) == reasons


@pytest.mark.parametrize(("limit", "attached", "is_refused"), [(1, [], True), (2, [], False), (2, ["elsewhere"], True)])
def test_a_node_attaches_only_so_many_volumes(limit: int, attached: list[str], is_refused: bool) -> None:
    """Volumes of pods on the node count, and those that are attached to it for whatever reason."""

    def csi(name: str) -> Object:
        volume = a_volume(name, csi={"driver": "d", "volumeHandle": name})
        del volume["spec"]["hostPath"]
        return volume

    csi_node = {"metadata": {"name": "a"}, "spec": {"drivers": [{"name": "d", "allocatable": {"count": limit}}]}}
    attachments = [
        {
            "metadata": {"name": name},
            "spec": {"attacher": "d", "nodeName": "a", "source": {"persistentVolumeName": name}},
        }
        for name in attached
    ]
    there = scene(
        nodes("a", "b"),
        [using(a_pod("other").on("a"), "theirs")],
        claims=[bound("mine", "mine"), bound("theirs", "theirs")],
        volumes=[csi("mine"), csi("theirs"), csi("elsewhere")],
        csi_nodes=[csi_node],
        attachments=attachments,
    )

    reasons = there.reasons(using(a_pod("p"), "mine"))

    assert ({"a": node_volume_limits.EXCEEDED.message} if is_refused else {}) == reasons


@pytest.mark.parametrize(
    ("name", "namespace", "expected"),
    [("claim", "default", Hint.QUEUE), ("other", "default", Hint.SKIP), ("claim", "elsewhere", Hint.SKIP)],
)
def test_a_claim_wakes_only_its_pods(name: str, namespace: str, expected: Hint) -> None:
    """Other pods would be tried in vain."""
    plugin = next(p for p in Scene([]).framework.plugins if isinstance(p, VolumeBinding))
    hint = next(one.hint for one in plugin.events() if one.event.resource == "PersistentVolumeClaim")

    claim = a_claim(name, metadata={"namespace": namespace})

    assert expected == hint(info(using(a_pod("p"), "claim")), None, claim)
