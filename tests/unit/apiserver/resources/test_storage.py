"""Volumes, claims, classes and drivers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kubeloop.apimachinery.meta import Object, deep_copy
from tests.testkit.kinds import CREATED, KindOnTrial

STORAGE = "storage.k8s.io/v1"
VOLUMES = KindOnTrial("v1", "PersistentVolume")
CLAIMS = KindOnTrial("v1", "PersistentVolumeClaim")
CLASSES = KindOnTrial(STORAGE, "StorageClass")
ATTRIBUTES = KindOnTrial(STORAGE, "VolumeAttributesClass")
DRIVERS = KindOnTrial(STORAGE, "CSIDriver")
NODES = KindOnTrial(STORAGE, "CSINode")
CAPACITIES = KindOnTrial(STORAGE, "CSIStorageCapacity")
ATTACHMENTS = KindOnTrial(STORAGE, "VolumeAttachment")
LATER = datetime(2026, 1, 2, 4, 0, 0, tzinfo=UTC)


def volume(**spec: Any) -> Object:
    return {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **spec}}


def claim(**spec: Any) -> Object:
    return {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}}


def affinity(key: str) -> Object:
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "Exists"}]}]}}


@pytest.mark.parametrize(
    ("spec", "refusals"),
    [
        ({"hostPath": {"path": "/x"}}, []),
        ({}, ["spec: Required value: must specify a volume type"]),
        (
            {"hostPath": {"path": "/x"}, "nfs": {"server": "s", "path": "/p"}},
            ["spec.nfs: Forbidden: may not specify more than 1 volume type"],
        ),
        ({"local": {"path": "/d"}}, ["spec.nodeAffinity: Required value: Local volume requires node affinity"]),
        ({"local": {"path": "/d"}, "nodeAffinity": affinity("k")}, []),
        ({"csi": {}}, ["spec.csi.driver: Required value", "spec.csi.volumeHandle: Required value"]),
        (
            {"hostPath": {"path": "//"}, "persistentVolumeReclaimPolicy": "Recycle"},
            ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
        ),
        (
            {"hostPath": {"path": "/x"}, "volumeAttributesClassName": "c"},
            ["spec.csi: Required value: has to be specified when using volumeAttributesClassName"],
        ),
        (
            {"hostPath": {"path": "/x"}, "capacity": {"storage": "0"}},
            ['spec.capacity[storage]: Invalid value: "0": must be greater than zero'],
        ),
        (
            {"hostPath": {"path": "/x"}, "capacity": {"cpu": "1"}},
            ['spec.capacity: Unsupported value: {"cpu":"1"}: supported values: "storage"'],
        ),
        (
            {"glusterfs": {"endpoints": "e", "path": "p", "endpointsNamespace": ""}},
            [
                'spec.glusterfs.endpointsNamespace: Invalid value: "": '
                "if the endpointnamespace is set, it must be a valid namespace name"
            ],
        ),
    ],
)
def test_what_a_volume_says(spec: Object, refusals: list[str]) -> None:
    """A volume has exactly one source, a size, and what its source needs."""
    actual = VOLUMES.create_errors(volume(**spec))

    assert refusals == actual


def test_volume_defaults() -> None:
    """A volume is pending since it was created, whatever status was sent; its source gets defaults too."""
    body = {**volume(hostPath={"path": "/x"}), "status": {"phase": "Bound"}}

    created = VOLUMES.created(body)

    assert {"phase": "Pending", "lastPhaseTransitionTime": CREATED} == created["status"]
    assert {"path": "/x", "type": ""} == created["spec"]["hostPath"]
    assert ("Retain", "Filesystem") == tuple(
        created["spec"][name] for name in ("persistentVolumeReclaimPolicy", "volumeMode")
    )


@pytest.mark.parametrize(
    ("old", "change", "fields"),
    [
        ({}, {"hostPath": {"path": "/y"}}, ["spec.persistentvolumesource"]),
        ({}, {"volumeMode": "Block"}, ["volumeMode"]),
        ({}, {"capacity": {"storage": "1Mi"}, "claimRef": {"name": "c"}, "storageClassName": "s"}, []),
        ({}, {"nodeAffinity": affinity("k")}, []),
        ({"nodeAffinity": affinity("k")}, {"nodeAffinity": affinity("l")}, ["nodeAffinity"]),
        (
            {"nodeAffinity": affinity("failure-domain.beta.kubernetes.io/zone")},
            {"nodeAffinity": affinity("topology.kubernetes.io/zone")},
            [],
        ),
    ],
)
def test_what_may_change_about_a_volume(old: Object, change: Object, fields: list[str]) -> None:
    """Source, mode and affinity stay; an affinity may come later, or name its labels anew."""
    stored = VOLUMES.created(volume(hostPath={"path": "/x"}, **old))

    errors = VOLUMES.change_errors(stored, {"spec": change})

    assert fields == [error.partition(":")[0] for error in errors]


def test_the_time_of_a_phase() -> None:
    """A new phase gets the time of the change, an unchanged one keeps its own."""
    old = VOLUMES.created(volume(hostPath={"path": "/x"}))
    bound = VOLUMES.changed(old, {"status": {"phase": "Bound"}}, "status")
    same = VOLUMES.changed(old, {"status": {"phase": "Pending", "lastPhaseTransitionTime": None}}, "status")

    for new in (bound, same):
        VOLUMES.strategy.stamp_update(new, old, LATER)

    times = [new["status"]["lastPhaseTransitionTime"] for new in (bound, same)]
    assert ["2026-01-02T04:00:00Z", CREATED] == times


def test_a_claims_sources_agree() -> None:
    """What one of both source fields says the other says too; what cannot fill a volume is dropped."""
    mirrored = CLAIMS.created(claim(dataSource={"kind": "PersistentVolumeClaim", "name": "a"}))["spec"]
    dropped = CLAIMS.created(claim(dataSource={"kind": "Pod", "name": "a"}))["spec"]

    assert mirrored["dataSource"] == mirrored["dataSourceRef"]
    assert ("dataSource" in dropped, "dataSourceRef" in dropped) == (False, False)


IMMUTABLE_SPEC = (
    "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims"
)


@pytest.mark.parametrize(
    ("phase", "change", "refusals"),
    [
        ("Pending", {"resources": {"requests": {"storage": "2Gi"}}}, [IMMUTABLE_SPEC]),
        ("Bound", {"resources": {"requests": {"storage": "2Gi"}}}, []),
        ("Bound", {"resources": {"requests": {"storage": "1024Mi"}}}, []),
        (
            "Bound",
            {"resources": {"requests": {"storage": "500Mi"}}},
            ["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"],
        ),
        ("Bound", {"resources": {"limits": {"storage": "5Gi"}}}, [IMMUTABLE_SPEC]),
        ("Pending", {"volumeName": "v"}, []),
        ("Bound", {"volumeAttributesClassName": "fast"}, []),
        ("Pending", {"volumeAttributesClassName": "fast"}, [IMMUTABLE_SPEC]),
        ("Pending", {"storageClassName": "s"}, []),
    ],
)
def test_what_may_change_about_a_claim(phase: str, change: Object, refusals: list[str]) -> None:
    """Volume and class may be named once; a bound claim may ask for more, and for other attributes."""
    old = CLAIMS.created(claim())
    old["status"] = {"phase": phase, "capacity": {"storage": "1Gi"}}

    errors = [error.partition("\n@@ ")[0] for error in CLAIMS.change_errors(old, {"spec": change})]

    assert refusals == errors


@pytest.mark.parametrize(
    ("fields", "refusals"),
    [
        ({}, []),
        ({"provisioner": ""}, ["provisioner: Required value"]),
        ({"parameters": {"": "x"}}, ['parameters: Invalid value: "": field can not be empty.']),
        ({"parameters": {str(i): "" for i in range(513)}}, ["parameters: Too long: may not be more than 512 bytes"]),
        (
            {"reclaimPolicy": "Recycle"},
            ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'],
        ),
        (
            {"allowedTopologies": [{"matchLabelExpressions": [{"key": "a", "values": ["b", "b"]}]}] * 2},
            [
                'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "b"',
                'allowedTopologies[1].matchLabelExpressions[0].values[1]: Duplicate value: "b"',
                'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
            ],
        ),
    ],
)
def test_storage_classes(fields: Object, refusals: list[str]) -> None:
    """A class names a provisioner; its terms of topology differ."""
    actual = CLASSES.create_errors({"provisioner": "example.com/p", **fields})

    assert refusals == actual


def test_classes_keep_their_parameters() -> None:
    """Other parameters are another class."""
    storage = CLASSES.created({"provisioner": "example.com/p", "parameters": {"a": "b"}})
    attributes = ATTRIBUTES.created({"driverName": "d.example.com", "parameters": {"a": "b"}})

    errors = [
        *CLASSES.change_errors(storage, {"parameters": {"a": "c"}}),
        *ATTRIBUTES.change_errors(attributes, {"parameters": {"a": "c"}}),
    ]

    expected = [
        'parameters: Invalid value: {"a":"c"}: field is immutable',
        "parameters: Forbidden: updates to parameters are forbidden.",
    ]
    assert expected == errors


def test_drivers() -> None:
    """A driver gets its modes, and a generation when its spec changes; how it attaches stays."""
    old = DRIVERS.created({})

    changed = DRIVERS.changed(old, {"spec": {"podInfoOnMount": True}})
    errors = DRIVERS.change_errors(old, {"spec": {"attachRequired": False}})

    assert ["Persistent"] == old["spec"]["volumeLifecycleModes"]
    assert (None, 1) == (old["metadata"].get("generation"), changed["metadata"].get("generation"))
    assert ["spec.attachedRequired: Invalid value: false: field is immutable"] == errors


def test_drivers_of_a_node() -> None:
    """A driver that stays keeps all but how many volumes it takes."""
    driver: Object = {"name": "d.example.com", "nodeID": "n", "topologyKeys": ["k"], "allocatable": {"count": 5}}
    old = NODES.created({"spec": {"drivers": [driver]}})
    counted, moved = deep_copy(driver), deep_copy(driver)
    counted["allocatable"]["count"], moved["nodeID"] = 6, "m"

    fine = NODES.change_errors(old, {"spec": {"drivers": [counted]}})
    errors = NODES.change_errors(old, {"spec": {"drivers": [moved]}})

    printed = '{"Name":"d.example.com","NodeID":"m","TopologyKeys":["k"],"Allocatable":null}'
    assert ([], [f"spec.drivers: Invalid value: {printed}: field is immutable"]) == (fine, errors)


def test_capacities() -> None:
    """Amounts are not negative, and old labels are warned of."""
    body: Object = {
        "storageClassName": "s",
        "capacity": "-1",
        "nodeTopology": {"matchLabels": {"beta.kubernetes.io/os": "linux"}},
    }

    errors, warnings = CAPACITIES.create_errors(body), CAPACITIES.strategy.warnings(CAPACITIES.created(body))

    assert ['capacity: Invalid value: "-1": must be greater than or equal to 0'] == errors
    text = 'deprecated since v1.14; use "kubernetes.io/os" instead'
    assert [f"nodeTopology.matchLabels.beta.kubernetes.io/os: {text}"] == list(warnings)


INLINE: Object = {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d", "volumeHandle": "h"}}


@pytest.mark.parametrize(
    ("source", "refusals"),
    [
        ({"persistentVolumeName": "v"}, []),
        ({"inlineVolumeSpec": INLINE}, []),
        (
            {},
            ["spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"],
        ),
        (
            {"inlineVolumeSpec": {**INLINE, "capacity": {"storage": "1"}, "storageClassName": "s"}},
            [
                "spec.source.inlineVolumeSpec.capacity: Forbidden: "
                "may not be specified in the context of inline volumes",
                "spec.source.inlineVolumeSpec.storageClassName: Forbidden: "
                "may not be specified in the context of inline volumes",
            ],
        ),
    ],
)
def test_attachments(source: Object, refusals: list[str]) -> None:
    """An attachment names one source; an inline one says little but its driver."""
    actual = ATTACHMENTS.create_errors({"spec": {"attacher": "d", "nodeName": "n", "source": source}})

    assert refusals == actual


def test_a_flex_volume_is_never_one_source_too_many() -> None:
    """Of two sources of a volume the second is refused, but for a flexVolume, which is looked at all the same."""
    body = {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1"},
            "hostPath": {"path": "/a"},
            "flexVolume": {},
            "csi": {},
        }
    }

    actual = VOLUMES.create_errors(body)

    assert [
        "spec.flexVolume.driver: Required value",
        "spec.csi: Forbidden: may not specify more than 1 volume type",
    ] == actual


@pytest.mark.parametrize(("terms", "count"), [(1, 1), (2, 5)])
def test_terms_without_labels_repeat_each_other(terms: int, count: int) -> None:
    """An empty term is refused even where it stands alone: once for each term, and once for each before it."""
    actual = CLASSES.create_errors({"provisioner": "p", "allowedTopologies": [{} for _ in range(terms)]})

    assert count == len(actual)
    assert {line.partition(": ")[2] for line in actual} == {'Duplicate value: ""'}


def test_what_may_not_change_is_quoted_in_order() -> None:
    """Parameters are printed sorted, a selector in the order of its fields."""
    of_class = CLASSES.created({"provisioner": "p"})
    of_capacity = CAPACITIES.created({"storageClassName": "s"})

    parameters = CLASSES.change_errors(of_class, {"parameters": {"b": "1", "a": "2"}})
    topology = CAPACITIES.change_errors(
        of_capacity, {"nodeTopology": {"matchExpressions": [{"operator": "Exists", "key": "k"}]}}
    )

    assert ['parameters: Invalid value: {"a":"2","b":"1"}: field is immutable'] == parameters
    printed = '{"matchExpressions":[{"key":"k","operator":"Exists"}]}'
    assert [f"nodeTopology: Invalid value: {printed}: field is immutable"] == topology


def test_a_local_volume_asks_for_its_node_before_other_sources_are_refused() -> None:
    """The node of a local volume is part of its source, if it is the one that counts; capacities are sorted."""
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1", "pods": "1"}}
    first = {**spec, "local": {"path": "/a"}, "csi": {}}
    second = {**spec, "hostPath": {"path": "/a"}, "local": {"path": "/a"}}

    capacity = 'spec.capacity: Unsupported value: {"pods":"1","storage":"1"}: supported values: "storage"'
    surplus = "Forbidden: may not specify more than 1 volume type"
    assert [
        capacity,
        "spec.nodeAffinity: Required value: Local volume requires node affinity",
        f"spec.csi: {surplus}",
    ] == VOLUMES.create_errors({"spec": first})
    assert [capacity, f"spec.local: {surplus}"] == VOLUMES.create_errors({"spec": second})


def test_an_inline_volume_gets_the_defaults_of_its_source_and_is_quoted_in_full() -> None:
    """All but the fields of the volume itself; the spec is quoted as Go's struct."""
    spec = {"attacher": "d", "nodeName": "n", "source": {"inlineVolumeSpec": {"csi": {}}}}
    inline = {"accessModes": ["ReadWriteOnce"], "rbd": {"monitors": ["m"], "image": "i"}}
    old = ATTACHMENTS.created({"spec": spec})

    errors = ATTACHMENTS.change_errors(old, {"spec": {**spec, "source": {"inlineVolumeSpec": inline}}})

    assert '"RBDPool":"rbd","RadosUser":"admin","Keyring":"/etc/ceph/keyring"' in errors[-1]
    assert errors[-1].startswith(
        'spec: Invalid value: {"Attacher":"d","Source":{"PersistentVolumeName":null,'
        '"InlineVolumeSpec":{"Capacity":null,"GCEPersistentDisk":null,'
    )
