"""Each filter by a table: a pod, some nodes, and which of them refuse it for what reason."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.scheduler.plugins.dynamic_resources import DynamicResources
from kubeloop.apimachinery.meta import Object
from kubeloop.testing.builders import a_node, a_pod
from tests.unit.scheduler.scene import Scene, in_zone, info, near, nodes, with_affinity

SELECTOR = "node(s) didn't match Pod's node affinity/selector"
TAINT = "node(s) had untolerated taint(s)"


def host_port(port: int, protocol: str = "TCP", address: str = "") -> dict[str, Any]:
    ports = [{"containerPort": 80, "hostPort": port, "protocol": protocol, "hostIP": address}]
    return {"containers": [{"name": "c", "image": "web:1", "ports": ports}]}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


@pytest.mark.parametrize(
    ("toleration", "is_let_in"),
    [
        (None, False),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "value": "x"}, True),
        ({"key": "gpu", "value": "y"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_taints_and_tolerations(toleration: dict[str, str] | None, is_let_in: bool) -> None:
    """A NoSchedule taint keeps away every pod that does not tolerate its key, value and effect."""
    node = a_node("a").spec(taints=[{"key": "gpu", "value": "x", "effect": "NoSchedule"}])
    pod = a_pod("p").spec(tolerations=[toleration] if toleration else [])

    reasons = Scene([node]).reasons(pod)

    assert ({} if is_let_in else {"a": TAINT}) == reasons


def test_prefer_no_schedule_refuses_nobody() -> None:
    """PreferNoSchedule costs points, not the node."""
    scene = Scene([a_node("a").tainted("gpu", "PreferNoSchedule")])

    assert ["a"] == scene.feasible(a_pod("p"))


def test_a_cordoned_node_refuses() -> None:
    """spec.unschedulable refuses all but pods that tolerate the taint it stands for."""
    scene = Scene([a_node("a").spec(unschedulable=True), a_node("b")])

    assert {"a": "node(s) were unschedulable"} == scene.reasons(a_pod("p"))
    assert ["a", "b"] == scene.feasible(a_pod("p").tolerates("node.kubernetes.io/unschedulable"))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, ["a"]),
        ({"nodeSelector": {"disk": "none"}}, []),
        (
            {"affinity": required({"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["ssd"]}]})},
            ["b", "c"],
        ),
        ({"affinity": required({"matchExpressions": [{"key": "disk", "operator": "Exists"}]})}, ["a", "b"]),
        ({"affinity": required({"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["7"]}]})}, ["b"]),
        ({"affinity": required({"matchExpressions": [{"key": "cores", "operator": "Lt", "values": ["5"]}]})}, ["a"]),
        (
            {
                "affinity": required(
                    {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["c"]}]},
                )
            },
            ["a", "c"],
        ),
        ({"affinity": required({})}, []),
    ],
)
def test_node_selectors_and_affinity(spec: dict[str, Any], expected: list[str]) -> None:
    """nodeSelector and expressions are ANDed, terms are ORed, an empty term matches nothing."""
    scene = Scene([a_node("a").labels(disk="ssd", cores="4"), a_node("b").labels(disk="hdd", cores="8"), a_node("c")])

    assert expected == scene.feasible(a_pod("p").spec(**spec))


def test_affinity_to_names_looks_only_there() -> None:
    """A pod bound to names by matchFields is not tried elsewhere, and says which plugin saw to that."""
    pod = a_pod("p").spec(
        affinity=required({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]})
    )

    decision = Scene(nodes("a", "b")).decide(pod)

    expected = "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    assert decision.message.startswith(expected)


@pytest.mark.parametrize(
    ("taken", "wanted", "is_free"),
    [
        (host_port(80), host_port(80), False),
        (host_port(80), host_port(81), True),
        (host_port(80), host_port(80, "UDP"), True),
        (host_port(80, address="127.0.0.1"), host_port(80, address="127.0.0.2"), True),
        (host_port(80, address="127.0.0.1"), host_port(80), False),
        (host_port(80), host_port(80, address="127.0.0.1"), False),
    ],
)
def test_host_ports(taken: dict[str, Any], wanted: dict[str, Any], is_free: bool) -> None:
    """A host port is had once a node, protocol and address; 0.0.0.0 is every address."""
    scene = Scene(nodes("a"), [a_pod("q").spec(**taken).on("a")])

    reasons = scene.reasons(a_pod("p").spec(**wanted))

    assert ({} if is_free else {"a": "node(s) didn't have free ports for the requested pod ports"}) == reasons


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ({"cpu": "1"}, {}),
        ({"cpu": "1001m"}, {"a": "Insufficient cpu"}),
        ({"memory": "7Gi"}, {"a": "Insufficient memory"}),
        ({"cpu": "3", "memory": "7Gi"}, {"a": "Insufficient cpu, Insufficient memory"}),
        ({"example.com/gpu": "1"}, {"a": "Insufficient example.com/gpu"}),
        ({"ephemeral-storage": "1Gi"}, {"a": "Insufficient ephemeral-storage"}),
    ],
)
def test_resources(requests: dict[str, str], expected: dict[str, str]) -> None:
    """What is requested on the node counts, and every resource that is short is named."""
    scene = Scene(nodes("a"), [a_pod("q").requests(cpu="3", memory="2Gi").on("a")])

    assert expected == scene.reasons(a_pod("p").requests(**requests))


def test_too_many_pods() -> None:
    """A node takes as many pods as it says, even if they ask for nothing."""
    scene = Scene([a_node("a").capacity(pods="1")], [a_pod("q").on("a")])

    assert {"a": "Too many pods"} == scene.reasons(a_pod("p"))


def test_anti_affinity_both_ways() -> None:
    """A pod avoids those it wants far, and is avoided by those that want it far."""
    loner = with_affinity(a_pod("loner").labels(app="s"), "podAntiAffinity", near(app="s"))
    scene = Scene(nodes("a", "b"), [loner.copy().on("a")])

    by_its_own_wish = scene.reasons(with_affinity(a_pod("p").labels(app="s"), "podAntiAffinity", near(app="s")))
    by_the_others = scene.reasons(a_pod("q").labels(app="s"))

    assert {"a": "node(s) didn't match pod anti-affinity rules"} == by_its_own_wish
    assert {"a": "node(s) didn't satisfy existing pods anti-affinity rules"} == by_the_others


def test_affinity_wants_company_in_the_topology() -> None:
    """Required affinity is met on every node of the zone in which a matching pod runs."""
    scene = Scene(
        [in_zone("a", "east"), in_zone("b", "east"), in_zone("c", "west")], [a_pod("db").labels(app="db").on("a")]
    )
    pod = with_affinity(a_pod("p"), "podAffinity", near("topology.kubernetes.io/zone", app="db"))

    assert ["a", "b"] == scene.feasible(pod)
    assert {"c": "node(s) didn't match pod affinity rules"} == scene.reasons(pod)


def test_the_first_of_a_group_may_start() -> None:
    """A pod that wants to be near its own kind runs anywhere while there is none of its kind."""
    first = with_affinity(a_pod("p").labels(app="web"), "podAffinity", near(app="web"))
    stranger = with_affinity(a_pod("q"), "podAffinity", near(app="web"))

    assert ["a"] == Scene(nodes("a")).feasible(first)
    assert [] == Scene(nodes("a")).feasible(stranger)


def test_affinity_is_within_namespaces() -> None:
    """A term means the pod's own namespace, those it lists, or those whose labels it selects."""
    namespaces = [{"metadata": {"name": "other", "labels": {"team": "x"}}}, {"metadata": {"name": "default"}}]
    scene = Scene(nodes("a"), [a_pod("db").namespace("other").labels(app="db").on("a")], {"Namespace": namespaces})
    own = with_affinity(a_pod("p"), "podAffinity", near(app="db"))
    listed = with_affinity(a_pod("p"), "podAffinity", {**near(app="db"), "namespaces": ["other"]})
    selected = {**near(app="db"), "namespaceSelector": {"matchLabels": {"team": "x"}}}

    assert [] == scene.feasible(own)
    assert ["a"] == scene.feasible(listed)
    assert ["a"] == scene.feasible(with_affinity(a_pod("p"), "podAffinity", selected))


def spread(max_skew: int = 1, key: str = "topology.kubernetes.io/zone", **more: Any) -> dict[str, Any]:
    constraint = {"maxSkew": max_skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": {"app": "s"}}, **more}]}


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        (spread(), ["c"]),
        (spread(2), ["a", "b", "c"]),
        (spread(2, minDomains=3), ["c"]),
        (spread(3, minDomains=3), ["a", "b", "c"]),
        (spread(key="rack"), []),
    ],
)
def test_topology_spread(constraint: dict[str, Any], expected: list[str]) -> None:
    """A domain may be ahead of the emptiest one by maxSkew; too few domains count as an empty one."""
    scene = Scene(
        [in_zone("a", "east"), in_zone("b", "east"), in_zone("c", "west")],
        [a_pod("q").labels(app="s").on("a"), a_pod("r").labels(app="s").on("b"), a_pod("t").labels(app="s").on("c")],
    )

    assert expected == scene.feasible(a_pod("p").labels(app="s").spec(**constraint))


def test_topology_spread_says_when_a_label_is_missing() -> None:
    """A node without the topology label is refused in words of its own."""
    scene = Scene(nodes("a"))

    reasons = scene.reasons(a_pod("p").labels(app="s").spec(**spread(key="rack")))

    assert {"a": "node(s) didn't match pod topology spread constraints (missing required label)"} == reasons


def test_spread_counts_only_nodes_the_pod_may_use() -> None:
    """With nodeAffinityPolicy Honor a domain that the node selector rules out is not the emptiest one."""
    scene = Scene([in_zone("a", "east").labels(disk="ssd"), in_zone("b", "west")], [a_pod("q").labels(app="s").on("a")])
    pod = a_pod("p").labels(app="s").node_selector(disk="ssd")

    assert ["a"] == scene.feasible(pod.copy().spec(**spread()))
    assert [] == scene.feasible(pod.copy().spec(**spread(nodeAffinityPolicy="Ignore")))


def a_claim(name: str, device_class: str = "gpu", **fields: Any) -> Object:
    request = {"name": "r", "exactly": {"deviceClassName": device_class}}
    metadata = {"name": name, "namespace": "default", **fields}
    return {"kind": "ResourceClaim", "metadata": metadata, "spec": {"devices": {"requests": [request]}}}


CLASS = {"kind": "DeviceClass", "metadata": {"name": "gpu"}}
BY_NAME = {"name": "gpu", "resourceClaimName": "c"}
BY_TEMPLATE = {"name": "gpu", "resourceClaimTemplateName": "t"}


def test_claims_wait_for_drivers() -> None:
    """A pod with resource claims finds no device anywhere, and removing pods would not help."""
    scene = Scene(nodes("a"), others={"ResourceClaim": [a_claim("c")], "DeviceClass": [CLASS]})
    pod = a_pod("p").spec(resourceClaims=[BY_NAME])

    assert {"a": "cannot allocate all claims"} == scene.reasons(pod)
    expected = (
        "0/1 nodes are available: 1 cannot allocate all claims. still not schedulable, preemption: 0/1 nodes are "
        "available: 1 Preemption is not helpful for scheduling."
    )
    assert expected == scene.decide(pod).message


def test_claims_of_a_class_that_is_not_there() -> None:
    """Nothing can be allocated before the class exists, and that is what the pod is told."""
    scene = Scene(nodes("a"), others={"ResourceClaim": [a_claim("c", "tpu")], "DeviceClass": [CLASS]})

    message = scene.decide(a_pod("p").spec(resourceClaims=[BY_NAME])).message

    assert message.startswith("0/1 nodes are available: request r: device class tpu does not exist.")


@pytest.mark.parametrize(
    ("entry", "claims", "statuses", "why"),
    [
        (BY_NAME, [], [], 'could not find ResourceClaim "default/c"'),
        (BY_NAME, [a_claim("c", deletionTimestamp="2026-01-01T00:00:00Z")], [], 'resourceclaim "c" is being deleted'),
        (BY_NAME, [a_claim("c")], [], ""),
        (BY_TEMPLATE, [], [], 'pod "default/p": ResourceClaim not created yet'),
        (BY_TEMPLATE, [], [{"name": "gpu"}], ""),
        (
            BY_TEMPLATE,
            [a_claim("c")],
            [{"name": "gpu", "resourceClaimName": "c"}],
            "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)",
        ),
    ],
)
def test_a_pod_is_not_tried_before_its_claims_are_there(
    entry: Object, claims: list[Object], statuses: list[Object], why: str
) -> None:
    """They are made from templates after the pod; until then an attempt would be in vain."""
    scene = Scene(nodes("a"), others={"ResourceClaim": claims, "DeviceClass": [CLASS]})
    pod = a_pod("p").spec(resourceClaims=[entry])
    pod["status"] = {"resourceClaimStatuses": statuses}

    plugin = next(plugin for plugin in scene.framework.plugins if isinstance(plugin, DynamicResources))
    status = plugin.pre_enqueue(info(pod))

    assert why == ("" if status is None else status.message)


def test_a_pod_goes_where_the_kubelet_can_do_what_it_needs() -> None:
    """Only nodes that declare to restart all containers take a pod that relies on it."""
    able = a_node("b")
    able["status"]["declaredFeatures"] = ["RestartAllContainersOnContainerExits"]
    scene = Scene([a_node("a"), able])
    pod = a_pod("p")
    pod["spec"]["containers"][0]["restartPolicyRules"] = [{"action": "RestartAllContainers"}]

    assert ["b"] == scene.feasible(pod)
    assert {"a": "node(s) didn't match Pod's required features"} == scene.reasons(pod)


def test_each_pod_keeps_others_away_by_its_own_topology() -> None:
    """What a pod wants by zone and what another says about it by node are both looked at."""
    shy = with_affinity(a_pod("shy").labels(app="cache"), "podAntiAffinity", near(app="web"))
    scene = Scene([in_zone("a", "x"), in_zone("b", "x")], [a_pod("q").labels(app="db").on("b"), shy.on("a")])
    pod = with_affinity(a_pod("p").labels(app="web"), "podAffinity", near("topology.kubernetes.io/zone", app="db"))

    assert ["b"] == scene.feasible(pod)
    assert {"a": "node(s) didn't satisfy existing pods anti-affinity rules"} == scene.reasons(pod)
