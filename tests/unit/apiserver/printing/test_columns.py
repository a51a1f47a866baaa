"""The cells of every kind, from small objects. Facts: pkg/printers/internalversion (v1.36)."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.printing.table import table
from apiserver.resources.columns import COLUMNS
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import parse_time

NOW = parse_time("2026-01-02T00:00:00Z")
CREATED = "2026-01-01T23:59:00Z"


def cells(group: str, kind: str, **fields: Any) -> list[Any]:
    metadata = {"name": "a", "creationTimestamp": CREATED, **fields.pop("metadata", {})}
    made = table(COLUMNS[group, kind], [{"metadata": metadata, **fields}], {}, NOW)
    return list(made["rows"][0]["cells"])


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_kind_bears_a_bookmark(kind: tuple[str, str]) -> None:
    """An object with nothing but metadata has a cell in every column."""
    made = table(COLUMNS[kind], [{"metadata": {"resourceVersion": "1"}}], {}, NOW)

    assert len(COLUMNS[kind]) == len(made["rows"][0]["cells"])


def _pod(**status: Any) -> Object:
    spec = {"containers": [{"name": "c"}, {"name": "d"}], "nodeName": "n"}
    return {"spec": spec, "status": {"phase": "Running", **status}}


def _container(name: str = "c", **fields: Any) -> Object:
    return {"name": name, "ready": False, "restartCount": 0, **fields}


RUNNING = {"state": {"running": {}}, "ready": True}
COMPLETED = {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
READY = [{"type": "Ready", "status": "True"}]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"phase": "Pending"}, ["0/2", "Pending", "0"]),
        ({"phase": "Failed", "reason": "Evicted"}, ["0/2", "Evicted", "0"]),
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
            ["0/2", "SchedulingGated", "0"],
        ),
        ({"containerStatuses": [_container(**RUNNING), _container("d", **RUNNING)]}, ["2/2", "Running", "0"]),
        (
            {"containerStatuses": [_container(state={"waiting": {"reason": "ImagePullBackOff"}})]},
            ["0/2", "ImagePullBackOff", "0"],
        ),
        (
            {"containerStatuses": [_container(state={"terminated": {"exitCode": 3}})]},
            ["0/2", "ExitCode:3", "0"],
        ),
        (
            {"containerStatuses": [_container(state={"terminated": {"exitCode": 0, "signal": 9}})]},
            ["0/2", "Signal:9", "0"],
        ),
        (
            {"containerStatuses": [_container(**COMPLETED), _container("d", **RUNNING)], "conditions": READY},
            ["1/2", "Running", "0"],
        ),
        ({"containerStatuses": [_container(**COMPLETED), _container("d", **RUNNING)]}, ["1/2", "NotReady", "0"]),
        (
            {
                "containerStatuses": [
                    _container(**COMPLETED),
                    _container("d", state={"terminated": {"exitCode": 1, "reason": "Error"}}),
                ]
            },
            ["0/2", "Error", "0"],
        ),
        (
            {
                "containerStatuses": [
                    _container(
                        restartCount=3, lastState={"terminated": {"finishedAt": "2026-01-01T23:55:00Z"}}, **RUNNING
                    )
                ]
            },
            ["1/2", "Running", "3 (5m ago)"],
        ),
    ],
)
def test_a_pod_in_one_word(status: Object, expected: list[str]) -> None:
    """Ready, Status and Restarts follow the containers, the first with something to say winning."""
    assert expected == cells("", "Pod", **_pod(**status))[1:4]


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([_container("i", state={"waiting": {"reason": "PodInitializing"}})], ["0/2", "Init:0/2", "0"]),
        ([_container("i", state={"waiting": {"reason": "CrashLoopBackOff"}})], ["0/2", "Init:CrashLoopBackOff", "0"]),
        ([_container("i", state={"terminated": {"exitCode": 2}})], ["0/2", "Init:ExitCode:2", "0"]),
        (
            [_container("s", started=True, **RUNNING), _container("i", restartCount=2)],
            ["1/2", "Init:1/2", "2"],
        ),
        ([_container("s", started=True, restartCount=1, **RUNNING)], ["1/2", "Pending", "1"]),
    ],
)
def test_a_pod_that_initialises(statuses: list[Object], expected: list[str]) -> None:
    """The first unfinished init container speaks for the pod; a sidecar counts as a container."""
    sidecar = {"name": "s", "restartPolicy": "Always"}
    spec = {"containers": [{"name": "c"}], "initContainers": [sidecar, {"name": "i"}]}

    shown = cells("", "Pod", spec=spec, status={"phase": "Pending", "initContainerStatuses": statuses})

    assert expected == shown[1:4]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"phase": "Running"}, "Terminating"),
        ({"phase": "Succeeded"}, "Succeeded"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
    ],
)
def test_a_pod_being_deleted(status: Object, expected: str) -> None:
    """Only pods that still run are Terminating; on a lost node nobody knows."""
    assert expected == cells("", "Pod", metadata={"deletionTimestamp": CREATED}, spec={}, status=status)[2]


def test_finished_pods_are_marked_completed() -> None:
    """kubectl's older printers hide rows by this condition."""
    made = table(COLUMNS["", "Pod"], [{"metadata": {}, "status": {"phase": "Failed"}}, {"metadata": {}}], {}, NOW)

    expected = [{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}]
    assert [expected, None] == [row.get("conditions") for row in made["rows"]]


def test_wide_cells_of_a_pod() -> None:
    """IP, node, nominated node and readiness gates, with <none> for what is missing."""
    spec = {"nodeName": "n", "readinessGates": [{"conditionType": "x"}, {"conditionType": "y"}]}
    status = {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "y", "status": "True"}]}

    assert ["10.0.0.1", "n", "<none>", "1/2"] == cells("", "Pod", spec=spec, status=status)[5:]


TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "j"}]}}


@pytest.mark.parametrize(
    ("group", "kind", "fields", "expected"),
    [
        (
            "apps",
            "Deployment",
            {
                "spec": {"replicas": 3, "template": TEMPLATE, "selector": {"matchLabels": {"b": "1", "a": "2"}}},
                "status": {"readyReplicas": 2, "updatedReplicas": 3},
            },
            ["a", "2/3", 3, 0, "60s", "c,d", "i,j", "a=2,b=1"],
        ),
        (
            "apps",
            "ReplicaSet",
            {"spec": {"replicas": 3, "template": TEMPLATE, "selector": {}}, "status": {"replicas": 2}},
            ["a", 3, 2, 0, "60s", "c,d", "i,j", "<none>"],
        ),
        (
            "apps",
            "StatefulSet",
            {"spec": {"replicas": 0, "template": TEMPLATE}, "status": {}},
            ["a", "0/0", "60s", "c,d", "i,j"],
        ),
        (
            "apps",
            "DaemonSet",
            {
                "spec": {
                    "template": {"spec": {"nodeSelector": {"z": "1"}}},
                    "selector": {"matchExpressions": [{"key": "k", "operator": "In", "values": ["b", "a"]}]},
                },
                "status": {
                    "desiredNumberScheduled": 5,
                    "currentNumberScheduled": 4,
                    "numberReady": 3,
                    "updatedNumberScheduled": 2,
                    "numberAvailable": 1,
                },
            },
            ["a", 5, 4, 3, 2, 1, "z=1", "60s", "", "", "k in (a,b)"],
        ),
        (
            "apps",
            "ControllerRevision",
            {
                "metadata": {
                    "ownerReferences": [
                        {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "w", "controller": True}
                    ]
                },
                "revision": 4,
            },
            ["a", "statefulset.apps/w", 4, "60s"],
        ),
        (
            "batch",
            "CronJob",
            {
                "spec": {
                    "schedule": "* * * * *",
                    "timeZone": "Europe/Oslo",
                    "suspend": False,
                    "jobTemplate": {"spec": {"template": TEMPLATE}},
                },
                "status": {"active": [{}], "lastScheduleTime": CREATED},
            },
            ["a", "* * * * *", "Europe/Oslo", "False", 1, "60s", "60s", "c,d", "i,j", "<none>"],
        ),
        (
            "",
            "Service",
            {
                "spec": {
                    "type": "NodePort",
                    "clusterIPs": ["10.0.0.1"],
                    "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
                    "selector": {"b": "x", "a": "y"},
                }
            },
            ["a", "NodePort", "10.0.0.1", "<none>", "80:30080/TCP,53/UDP", "60s", "a=y,b=x"],
        ),
        ("", "ConfigMap", {"data": {"a": "1"}, "binaryData": {"b": ""}}, ["a", 2, "60s"]),
        ("", "Secret", {"type": "Opaque"}, ["a", "Opaque", 0, "60s"]),
        (
            "",
            "ResourceQuota",
            {
                "status": {
                    "hard": {"pods": "10", "limits.cpu": "2", "requests.cpu": "1"},
                    "used": {"pods": "1", "limits.cpu": "500m"},
                }
            },
            ["a", "pods: 1/10, requests.cpu: 0/1", "limits.cpu: 500m/2", "60s"],
        ),
        (
            "",
            "PersistentVolume",
            {
                "spec": {
                    "capacity": {"storage": "5Gi"},
                    "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
                    "persistentVolumeReclaimPolicy": "Retain",
                    "claimRef": {"namespace": "x", "name": "y"},
                },
                "status": {"phase": "Bound"},
            },
            ["a", "5Gi", "RWO,RWX", "Retain", "Bound", "x/y", "", "<unset>", "", "60s", "<unset>"],
        ),
        (
            "",
            "PersistentVolumeClaim",
            {
                "spec": {"volumeName": "v", "storageClassName": "fast", "volumeMode": "Block"},
                "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOncePod"]},
            },
            ["a", "Bound", "v", "1Gi", "RWOP", "fast", "<unset>", "60s", "Block"],
        ),
        (
            "policy",
            "PodDisruptionBudget",
            {"spec": {"minAvailable": 0}, "status": {"disruptionsAllowed": 2}},
            ["a", "0", "N/A", 2, "60s"],
        ),
        (
            "rbac.authorization.k8s.io",
            "RoleBinding",
            {
                "roleRef": {"kind": "ClusterRole", "name": "view"},
                "subjects": [
                    {"kind": "User", "name": "alice"},
                    {"kind": "User", "name": "bob"},
                    {"kind": "Group", "name": "devs"},
                    {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
                ],
            },
            ["a", "ClusterRole/view", "60s", "alice, bob", "devs", "n/s"],
        ),
        (
            "certificates.k8s.io",
            "CertificateSigningRequest",
            {
                "spec": {"signerName": "s", "username": "alice", "expirationSeconds": 600},
                "status": {"conditions": [{"type": "Approved"}], "certificate": "eA=="},
            },
            ["a", "60s", "s", "alice", "10m", "Approved,Issued"],
        ),
        (
            "networking.k8s.io",
            "IngressClass",
            {
                "metadata": {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
                "spec": {"controller": "c", "parameters": {"kind": "P", "name": "x"}},
            },
            ["a (default)", "c", "P/x", "60s"],
        ),
        (
            "resource.k8s.io",
            "ResourceClaim",
            {"status": {"allocation": {}, "reservedFor": [{}]}},
            ["a", "allocated,reserved", "60s"],
        ),
        (
            "apiregistration.k8s.io",
            "APIService",
            {
                "spec": {"service": {"namespace": "n", "name": "s"}},
                "status": {"conditions": [{"type": "Available", "status": "False", "reason": "ServiceNotFound"}]},
            },
            ["a", "n/s", "False (ServiceNotFound)", "60s"],
        ),
        (
            "",
            "Node",
            {
                "metadata": {"labels": {"node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "x"}},
                "spec": {"unschedulable": True},
                "status": {
                    "conditions": [{"type": "Ready", "status": "Unknown"}],
                    "nodeInfo": {"kubeletVersion": "v1.36.0", "kernelVersion": "6", "architecture": "arm64"},
                    "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                },
            },
            [
                "a",
                "NotReady,SchedulingDisabled",
                "control-plane,x",
                "60s",
                "v1.36.0",
                "10.0.0.1",
                "<none>",
                "<unknown>",
                "6 (arm64)",
                "<unknown>",
            ],
        ),
    ],
)
def test_the_cells_of_a_kind(group: str, kind: str, fields: Object, expected: list[Any]) -> None:
    """One object of each kind with interesting cells."""
    assert expected == cells(group, kind, **fields)


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"completions": 3}, {"succeeded": 1}, ["Running", "1/3", ""]),
        ({"parallelism": 2}, {}, ["Running", "0/1 of 2", ""]),
        (
            {"completions": 1},
            {
                "succeeded": 1,
                "startTime": "2026-01-01T00:00:00Z",
                "completionTime": "2026-01-01T00:00:07Z",
                "conditions": [{"type": "Complete", "status": "True"}],
            },
            ["Complete", "1/1", "7s"],
        ),
        ({"completions": 1}, {"startTime": CREATED}, ["Running", "0/1", "60s"]),
        (
            {"completions": 1},
            {"conditions": [{"type": "Suspended", "status": "True"}, {"type": "Failed", "status": "False"}]},
            ["Suspended", "0/1", ""],
        ),
    ],
)
def test_the_state_of_a_job(spec: Object, status: Object, expected: list[str]) -> None:
    """Status, completions and duration."""
    assert expected == cells("batch", "Job", spec=spec, status=status)[1:4]


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"type": "ClusterIP", "externalIPs": ["1.1.1.1", "2.2.2.2"]}, {}, "1.1.1.1,2.2.2.2"),
        ({"type": "LoadBalancer"}, {}, "<pending>"),
        (
            {"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]},
            {"loadBalancer": {"ingress": [{"ip": "2.2.2.2"}, {"hostname": "h"}, {"ip": "1.1.1.1"}]}},
            "1.1.1.1,2.2.2.2,h,9.9.9.9",
        ),
        ({"type": "ExternalName", "externalName": "x.example.com"}, {}, "x.example.com"),
    ],
)
def test_where_a_service_is_reached(spec: Object, status: Object, expected: str) -> None:
    """External-IP depends on the type."""
    assert expected == cells("", "Service", spec=spec, status=status)[3]


def test_long_lists_of_endpoints_are_cut() -> None:
    """Three endpoints are shown, the rest counted; IPv6 addresses stand in brackets."""
    addresses = [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]
    subsets = [{"addresses": addresses, "ports": [{"port": 80}, {"port": 81}]}, {"addresses": [{"ip": "10.0.0.3"}]}]

    shown = cells("", "Endpoints", subsets=subsets)[1]

    assert "10.0.0.1:80,[fd00::1]:80,10.0.0.1:81 + 2 more..." == shown


def test_slices_without_ports_or_endpoints_are_unset() -> None:
    """A slice shows <unset>, a nameless port without a number `*`, and one of all ports its empty name."""
    empty = cells("discovery.k8s.io", "EndpointSlice", addressType="IPv4")
    wild = cells("discovery.k8s.io", "EndpointSlice", addressType="IPv4", ports=[{}, {"name": "http"}])
    everything = cells("discovery.k8s.io", "EndpointSlice", addressType="IPv4", ports=[{"name": ""}])

    assert (["<unset>", "<unset>"], "*,http", "") == (empty[2:4], wild[2], everything[2])


def test_the_age_of_an_address_has_no_column() -> None:
    """Rows of IPAddresses have a cell more than the table defines columns, as upstream's do."""
    address = {"metadata": {"name": "203.0.113.1", "creationTimestamp": CREATED}, "spec": {}}

    made = table(COLUMNS["networking.k8s.io", "IPAddress"], [address], {}, NOW)

    assert ["Name", "ParentRef"] == [column["name"] for column in made["columnDefinitions"]]
    assert ["203.0.113.1", "<none>", "60s"] == made["rows"][0]["cells"]


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ([], "*"),
        ([None], "*"),
        (["a", None, "b"], "a,b"),
        (["a", "b", "c"], "a,b,c"),
        (["a", "b", "c", "d", None], "a,b,c + 2 more..."),
    ],
)
def test_the_hosts_of_an_ingress(hosts: list[str | None], expected: str) -> None:
    """Three hosts are shown; rules without a host are counted only."""
    rules = [{"host": host} if host else {} for host in hosts]

    assert expected == cells("networking.k8s.io", "Ingress", spec={"rules": rules})[2]


def test_the_metrics_of_an_autoscaler() -> None:
    """Two metrics are shown as measured/wanted, the rest counted."""
    metrics = [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 60}}},
        {"type": "Pods", "pods": {"target": {"averageValue": "10"}}},
        {"type": "Object", "object": {"target": {"value": "1"}}},
    ]
    measured = [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 45}}}]
    spec = {"scaleTargetRef": {"kind": "D", "name": "d"}, "metrics": metrics, "maxReplicas": 5}

    shown = cells("autoscaling", "HorizontalPodAutoscaler", spec=spec, status={"currentMetrics": measured})

    assert ["a", "D/d", "cpu: 45%/60%, <unknown>/10 + 1 more...", "<unset>", 5, 0, "60s"] == shown


@pytest.mark.parametrize(
    ("current", "shown"),
    [({"value": "3"}, "3/7"), ({"averageValue": "3"}, "<nil>/7"), (None, "<unknown>/7")],
)
def test_a_metric_that_was_measured_otherwise(current: dict[str, str] | None, shown: str) -> None:
    """A value is asked for and an average was measured: the real server prints a nil pointer."""
    metrics = [{"type": "External", "external": {"target": {"value": "7"}}}]
    measured = [{"type": "External", "external": {"current": current}}] if current else []
    spec = {"metrics": metrics, "maxReplicas": 5}

    assert shown == cells("autoscaling", "HorizontalPodAutoscaler", spec=spec, status={"currentMetrics": measured})[2]


ABOUT = {"type": "Normal", "reason": "R", "involvedObject": {"kind": "Pod", "name": "p"}, "message": " hello "}


@pytest.mark.parametrize(
    "fields",
    [
        {
            "source": {"component": "c", "host": "h"},
            "firstTimestamp": "2026-01-01T23:58:00Z",
            "lastTimestamp": CREATED,
            "count": 3,
        },
        {
            "reportingComponent": "c",
            "reportingInstance": "h",
            "eventTime": "2026-01-01T23:58:00.000000Z",
            "series": {"count": 3, "lastObservedTime": "2026-01-01T23:59:00.000000Z"},
        },
    ],
)
def test_old_and_new_events_read_alike(fields: Object) -> None:
    """Events of the new API say when and how often in a series; both versions share the columns."""
    expected = ["60s", "Normal", "R", "pod/p", "", "c, h", "hello", "2m", 3, "a"]

    assert expected == cells("", "Event", **ABOUT, **fields) == cells("events.k8s.io", "Event", **ABOUT, **fields)


def test_flow_schemas_are_listed_by_precedence() -> None:
    """The table orders them as they are tried, not by name."""
    schemas = [{"metadata": {"name": name}, "spec": {"matchingPrecedence": n}} for name, n in (("a", 9), ("b", 1))]

    made = table(COLUMNS["flowcontrol.apiserver.k8s.io", "FlowSchema"], schemas, {}, NOW)

    assert ["b", "a"] == [row["cells"][0] for row in made["rows"]]


def test_a_binding_by_selector_shows_go_s_struct() -> None:
    """paramRef with a selector is printed as the real server does."""
    reference = {"selector": {"matchLabels": {"a": "b"}}}

    shown = cells("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", spec={"paramRef": reference})

    expected = "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}"
    assert expected == shown[2]
