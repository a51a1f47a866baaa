"""What `kubeloop why` says of a pod: who refuses it where, who wins, and the smallest change that helps."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from controllers.scheduler.extenders.chain import over_http
from controllers.scheduler.extenders.settings import settings_of
from controllers.scheduler.profile import Profile
from controllers.scheduler.why.cluster import Situation
from controllers.scheduler.why.explanation import Explanation, explain
from controllers.scheduler.why.report import as_json, as_text
from kubeloop.apimachinery.meta import Object
from kubeloop.testing.builders import PodBuilder, a_node, a_pod
from tests.unit.controllers.volumes.storage import a_claim, a_class, a_volume, using
from tests.unit.scheduler import devices
from tests.unit.scheduler.scene import Scene, in_zone, info, near, with_affinity


def explained(scene: Scene, pod: Object, placed_on: str = "") -> Explanation:
    return explain(Situation(scene.framework, scene.snapshot, info(pod), placed_on, scene.listings), Random(1))


def smallest(scene: Scene, pod: Object) -> list[str]:
    """The texts of the changes of the smallest remedy."""
    return [change.text for change in explained(scene, pod).remedies[0].changes]


def where(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def on_nodes(*expressions: dict[str, Any]) -> PodBuilder:
    """A pod that only goes where all of these hold."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return a_pod("p").spec(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


def starting(cpu: str, **how: str) -> dict[str, Any]:
    """An init container."""
    return {"name": f"init-{cpu}", "image": "x:1", "resources": {"requests": {"cpu": cpu}}, **how}


def test_every_refusal_of_a_node_is_told() -> None:
    """Not only the first, with which scheduling is content."""
    scene = Scene([a_node("a").tainted("team")])

    (node,) = explained(scene, a_pod("p").requests(cpu="9").node_selector(disk="ssd")).nodes

    assert ["TaintToleration", "NodeAffinity", "NodeResourcesFit"] == [status.plugin for status in node.refusals]


def test_a_pod_that_fits_has_a_winner_and_a_runner_up() -> None:
    """The points each plugin gave add up to what ranks the nodes."""
    scene = Scene([a_node("empty"), a_node("full")], [a_pod("other").requests(cpu="3").on("full")])

    told = as_json(explained(scene, a_pod("p").requests(cpu="1")))

    assert ["empty"] == told["winners"]
    assert "full" == told["runnerUp"]["name"]
    scores = {node["name"]: node for node in told["nodes"]}
    assert told["runnerUp"]["pointsBehind"] == scores["empty"]["score"] - scores["full"]["score"] > 0
    assert scores["empty"]["score"] == sum(scores["empty"]["scores"].values())
    assert [] == told["remedies"]


@pytest.mark.parametrize(
    ("node", "pod", "change", "command"),
    [
        (a_node("a").spec(unschedulable=True), a_pod("p"), "uncordon a", "kubectl uncordon a"),
        (a_node("a").tainted("team"), a_pod("p"), "let the pod tolerate the taint team:NoSchedule", ""),
        (
            a_node("a"),
            a_pod("p").node_selector(disk="ssd"),
            "label a with disk=ssd",
            "kubectl label node a disk=ssd",
        ),
        (a_node("a"), a_pod("p").requests(cpu="9"), "let the pod ask for 4 cpu (now 9) at most", ""),
        (a_node("a"), a_pod("p").requests(memory="9Gi"), "let the pod ask for 8Gi memory (now 9Gi) at most", ""),
        (a_node("a"), a_pod("p").spec(schedulingGates=[{"name": "x"}]), "remove the scheduling gate x", ""),
        (
            a_node("a").labels(old="x"),
            on_nodes(where("gen", "Gt", "3"), where("disk", "Exists"), where("zone", "In", "b", "c")),
            "label a with gen=4 disk= zone=b",
            "kubectl label node a gen=4 disk= zone=b",
        ),
        (a_node("a"), on_nodes(where("gen", "Lt", "0")), "drop the pod's required node affinity", ""),
        (
            a_node("a").labels(old="x"),
            on_nodes(where("old", "DoesNotExist")),
            "drop the pod's required node affinity",
            "",
        ),
        (
            a_node("a").labels(old="x"),
            a_pod("p").node_selector(old="y"),
            "drop old=y from the pod's nodeSelector",
            "",
        ),
        (
            a_node("a"),
            a_pod("p").requests(cpu="2").spec(initContainers=[starting("2500m", restartPolicy="Always")]),
            "let the pod ask for 4 cpu (now 4500m) at most",
            "",
        ),
        (
            a_node("a"),
            a_pod("p").spec(initContainers=[starting("3", restartPolicy="Always"), starting("2")]),
            "let the pod ask for 4 cpu (now 5) at most",
            "",
        ),
        (
            a_node("a"),
            a_pod("p").requests(cpu="1").spec(overhead={"cpu": "3500m"}),
            "let the pod ask for 4 cpu (now 4500m) at most",
            "",
        ),
        (
            a_node("a"),
            a_pod("p").requests(**{"hugepages-2Mi": "4Mi"}),
            "let the pod ask for 0 hugepages-2Mi (now 4Mi) at most",
            "",
        ),
    ],
)
def test_the_smallest_change_for_each_kind_of_refusal(node: Object, pod: Object, change: str, command: str) -> None:
    """And the command, where one carries it out."""
    (found,) = explained(Scene([node]), pod).remedies[0].changes

    assert (change, command) == (found.text, found.command)


def test_a_node_that_needs_one_change_beats_one_that_needs_two() -> None:
    scene = Scene([a_node("a").tainted("team").spec(unschedulable=True), a_node("b").tainted("team")])

    assert "b" == explained(scene, a_pod("p")).remedies[0].node_name


def test_changes_are_put_together_where_one_is_not_enough() -> None:
    """Two plugins refuse the only node: both must be satisfied."""
    scene = Scene([a_node("a").tainted("team")])

    texts = smallest(scene, a_pod("p").requests(cpu="9"))

    assert ["let the pod tolerate the taint team:NoSchedule", "let the pod ask for 4 cpu (now 9) at most"] == texts


def test_a_full_node_is_emptied_by_as_few_pods_as_possible() -> None:
    """Where nothing is left to ask less of, the pod in the way is named; a DaemonSet's would come back."""
    daemon = a_pod("daemon").requests(cpu="2").on("a")
    daemon["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "d", "apiVersion": "apps/v1", "uid": "d"}]
    scene = Scene(
        [a_node("a")], [a_pod("small").requests(cpu="1").on("a"), daemon, a_pod("o").requests(cpu="1").on("a")]
    )

    assert ["remove pod default/o from a"] == smallest(scene, a_pod("p").requests(cpu="1"))


def test_pods_that_are_going_need_not_be_removed() -> None:
    """They are waited for, whatever else has to go."""
    others = [deleted(a_pod("going").requests(cpu="1").on("a")), a_pod("small").requests(cpu="1").on("a")]
    big = a_pod("big").requests(cpu="2").on("a")

    (change,) = explained(Scene([a_node("a")], [*others, big]), a_pod("p").requests(cpu="3")).remedies[0].changes

    assert "remove pod default/big from a and wait until pod default/going is gone from a" == change.text
    assert "kubectl delete pod -n default big" == change.command


def test_own_anti_affinity_can_be_dropped() -> None:
    other = a_pod("other").labels(app="db").on("a")
    pod = with_affinity(a_pod("p"), "podAntiAffinity", near(app="db"))

    assert ["drop the pod's required pod anti-affinity"] == smallest(Scene([a_node("a")], [other]), pod)


def test_of_several_spread_constraints_only_the_one_in_the_way_is_loosened() -> None:
    def constraint(key: str) -> dict[str, Any]:
        selector = {"matchLabels": {"app": "p"}}
        return {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}

    zone = "topology.kubernetes.io/zone"
    pod = (
        a_pod("p")
        .labels(app="p")
        .spec(topologySpreadConstraints=[constraint("kubernetes.io/hostname"), constraint(zone)])
    )
    placed = a_pod("first").labels(app="p").on("a1")
    scene = Scene([in_zone("a1", "a"), in_zone("a2", "a"), in_zone("b1", "b").spec(unschedulable=True)], [placed])

    texts = [remedy.text for remedy in explained(scene, pod.copy()).remedies]

    assert "uncordon b1" == texts[0]
    assert f"let the spread over {zone} be a wish (whenUnsatisfiable: ScheduleAnyway)" in texts


def test_a_change_that_does_not_help_is_not_told() -> None:
    """What no change that is known can mend has no remedy: devices that nobody has."""
    scene = Scene(
        [a_node("a").tainted("team")],
        others={"ResourceClaim": [devices.a_claim("gpu")], "DeviceClass": [devices.a_class()]},
    )

    explanation = explained(scene, a_pod("p").spec(resourceClaims=[{"name": "d", "resourceClaimName": "gpu"}]))

    assert () == tuple(explanation.remedies)
    assert "No single change" in as_text(explanation)


def test_what_refuses_only_once_the_pod_has_its_claims_is_changed_as_well() -> None:
    """Nodes are not even looked at before."""
    texts = smallest(Scene([a_node("a").tainted("team")]), using(a_pod("p"), "nope"))

    assert ["create the claim default/nope, with a volume", "let the pod tolerate the taint team:NoSchedule"] == texts


def test_without_any_node_one_is_to_be_added() -> None:
    assert ["add a node"] == smallest(Scene([]), a_pod("p"))


def test_preemption_is_told_with_its_victims() -> None:
    """And with which priority it would come about, where the pod has too little."""
    low = a_pod("low").requests(cpu="4").on("a").spec(priority=5)

    preempting = as_json(explained(Scene([a_node("a")], [low]), a_pod("p").requests(cpu="4").spec(priority=10)))
    too_low = explained(Scene([a_node("a")], [low]), a_pod("p").requests(cpu="4"))

    assert {"nodeName": "a", "victims": ["default/low"]} == preempting["preemption"]
    assert any("priority of 6 or more" in remedy.text for remedy in too_low.remedies)


def test_a_pod_that_runs_is_decided_anew() -> None:
    """What it occupies itself does not count against it."""
    text = as_text(explained(Scene([a_node("a")]), a_pod("p").requests(cpu="4"), placed_on="a"))

    assert text.startswith("pod default/p is on a. Decided anew without it, as the cluster is now, it would go to a.")


def test_equal_nodes_share_the_first_place() -> None:
    """Chance takes one of them, and that is said."""
    told = explained(Scene([a_node("a"), a_node("b")]), a_pod("p"))

    assert ["a", "b"] == as_json(told)["winners"]
    assert "equal: chance decides" in as_text(told)


ONLY_ONE = {"accessModes": ["ReadWriteOncePod"], "volumeName": "volume"}
HAS_A_VOLUME = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}


@pytest.mark.parametrize(
    ("claims", "change"),
    [
        ([], "create the claim default/claim, with a volume"),
        ([a_claim(metadata={"deletionTimestamp": "t"})], "create the claim default/claim anew, with a volume"),
        ([a_claim(size="3Gi")], "give the claim default/claim a volume of 3Gi"),
        (
            [a_claim(storage_class="bare")],
            "give the claim default/claim a volume of 1Gi that a can reach",
        ),
        (
            [a_claim(volumeName="gone", metadata=HAS_A_VOLUME)],
            "create the claim default/claim anew: its volume gone is gone",
        ),
        (
            [a_claim(**ONLY_ONE, metadata=HAS_A_VOLUME)],
            "remove pod default/other from a",
        ),
    ],
)
def test_claims_get_their_volumes(claims: list[Object], change: str) -> None:
    """Or a pod goes that has what only one may have."""
    bare = a_class("bare", provisioner="kubernetes.io/no-provisioner", volumeBindingMode="WaitForFirstConsumer")
    others = {"PersistentVolumeClaim": claims, "PersistentVolume": [a_volume()], "StorageClass": [a_class(), bare]}
    scene = Scene([a_node("a")], [using(a_pod("other"), "claim").on("a")] if claims else [], others)

    assert [change] == smallest(scene, using(a_pod("p"), "claim"))


def test_a_node_with_too_many_volumes_is_relieved_of_one() -> None:
    """Of the least important pod that has any."""
    claims = [a_claim(name, volumeName=name, metadata=HAS_A_VOLUME) for name in ("one", "two")]
    disks = [a_volume(name, csi={"driver": "d", "volumeHandle": name}) for name in ("one", "two")]
    driver = {"name": "d", "nodeID": "a", "allocatable": {"count": 1}}
    limits = {"kind": "CSINode", "metadata": {"name": "a"}, "spec": {"drivers": [driver]}}
    others = {"PersistentVolumeClaim": claims, "PersistentVolume": disks, "CSINode": [limits]}
    scene = Scene([a_node("a")], [using(a_pod("q"), "one").on("a")], others)

    assert ["remove pod default/q from a"] == smallest(scene, using(a_pod("p"), "two"))


def test_a_topology_label_that_no_node_has() -> None:
    """It is made up: any value makes a domain."""
    constraint = {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}

    (change,) = (
        explained(Scene([a_node("a")]), a_pod("p").spec(topologySpreadConstraints=[constraint])).remedies[0].changes
    )

    assert ("label a with rack=a", "kubectl label node a rack=a") == (change.text, change.command)


def test_what_is_scarce_and_what_is_not_there_at_all() -> None:
    """Both in one change, as one plugin refuses for both."""
    pod = a_pod("p").requests(**{"cpu": "9", "example.com/gpu": "1"})

    assert ["let the pod ask for 4 cpu (now 9) at most, and let a offer 1 example.com/gpu"] == smallest(
        Scene([a_node("a")]), pod
    )


def last_said(pod: PodBuilder, reason: str, message: str) -> Object:
    """The pod, with what the scheduler said of it after its last attempt."""
    pod["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": reason, "message": message}],
    }
    return pod


def deleted(pod: PodBuilder) -> Object:
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return pod


FITS = Scene([a_node("a")])
OF_OLD = "0/1 nodes are available: 1 Insufficient cpu."


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        (
            last_said(a_pod("p"), "Unschedulable", OF_OLD),
            f"not tried it again yet: its PodScheduled condition says: {OF_OLD}",
        ),
        (last_said(a_pod("p"), "SchedulerError", "no disk"), "the scheduler's last attempt failed: no disk"),
        (
            last_said(a_pod("p").requests(cpu="9"), "Unschedulable", OF_OLD),
            f"The last time the scheduler tried it, it said: {OF_OLD}",
        ),
        (a_pod("p"), "the scheduler has said nothing of it yet"),
        (deleted(a_pod("p")), "it is being deleted"),
        ({**a_pod("p"), "status": {"phase": "Failed"}}, "it has ended (Failed)"),
    ],
)
def test_what_the_scheduler_said_last_is_told_where_it_said_something_else(pod: Object, said: str) -> None:
    """Otherwise a Pending pod that "would go to a" is a riddle."""
    told = explained(FITS, pod)

    assert said in told.contradiction
    assert said in as_text(told)
    assert told.contradiction == as_json(told)["contradiction"]


def test_the_scheduler_is_not_quoted_where_it_says_the_same() -> None:
    """Nor of a pod that has a node, or that a gate holds back."""
    large = a_pod("p").requests(cpu="9")
    same = explained(FITS, last_said(large, "Unschedulable", explained(FITS, large).message))
    gated = explained(FITS, last_said(a_pod("p").spec(schedulingGates=[{"name": "x"}]), "SchedulingGated", "blocked"))

    assert ["", "", ""] == [told.contradiction for told in (same, gated, explained(FITS, a_pod("p"), placed_on="a"))]


def promised(pod: PodBuilder) -> Object:
    pod["status"] = {**pod.get("status", {}), "nominatedNodeName": "a"}
    return pod


def test_a_pod_that_is_promised_a_node_is_about_to_get_it() -> None:
    """That the scheduler has said nothing of it yet would be wrong: it may be at the pod's volumes."""
    told = explained(FITS, promised(a_pod("p")))

    assert "" == told.contradiction
    assert "about to be bound to a (nominatedNodeName)" in as_text(told)


def test_a_pod_that_waits_for_others_to_go_knows_them() -> None:
    """Whom its preemption has removed, and who takes time to stop."""
    victim = deleted(a_pod("victim").requests(cpu="4").on("a"))
    text = as_text(explained(Scene([a_node("a")], [victim]), promised(a_pod("p").requests(cpu="4").spec(priority=9))))

    assert "a is promised to it (nominatedNodeName), once default/victim is gone." in text
    assert "Smallest change: wait until pod default/victim is gone from a." in text


def test_in_a_large_cluster_the_best_node_may_not_be_seen() -> None:
    """The scheduler scores some of the nodes that fit, `why` all of them; that is said."""
    many = explained(Scene([a_node(f"n{number}") for number in range(300)]), a_pod("p"))
    few = explained(Scene([a_node(f"n{number}") for number in range(99)]), a_pod("p"))

    assert "content with the first 144 of the 300 nodes that fit" in as_text(many)
    assert (144, 99) == (as_json(many)["nodesToScore"], as_json(few)["nodesToScore"])
    assert "content with" not in as_text(few)


URL = "http://extender.test"


def extended() -> Scene:
    """With an extender for pods that want its resource."""
    managed = [{"name": "example.com/foo", "ignoredByScheduler": True}]
    extenders = over_http([settings_of({"urlPrefix": URL, "filterVerb": "filter", "managedResources": managed})])
    profile = Profile(args={"NodeResourcesFit": {"ignoredResources": ["example.com/foo"]}})
    return Scene([a_node("a")], profile=profile, extenders=extenders)


def test_extenders_that_have_a_say_are_named() -> None:
    """They are not asked: that takes a service, and may have effects."""
    wanting = explained(extended(), a_pod("p").requests(**{"example.com/foo": "1"}))
    other = explained(extended(), a_pod("q"))

    assert f"HTTP extenders have a say, too, and are not asked here: {URL}." in as_text(wanting)
    assert ([URL], []) == tuple(as_json(told)["extendersNotAsked"] for told in (wanting, other))


def test_what_an_extender_said_is_quoted() -> None:
    """It is no sign that the scheduler has not come to the pod again."""
    said = "0/1 nodes are available: 1 too old."
    pod = last_said(a_pod("p").requests(**{"example.com/foo": "1"}), "Unschedulable", said)

    assert f"The last time the scheduler tried it, it said: {said}" == explained(extended(), pod).contradiction


WITH_PORT: dict[str, Any] = {"containers": [{"name": "c", "image": "web:1", "ports": [{"hostPort": 80}]}]}


def test_what_a_kubelet_says_of_its_node_is_not_relabelled() -> None:
    """A pod that names a host by its label is not helped by giving another node that name."""
    scene = Scene([a_node("a"), a_node("b")], [a_pod("q").spec(**WITH_PORT).on("a")])
    pod = a_pod("p").node_selector(**{"kubernetes.io/hostname": "a"}).spec(**WITH_PORT)

    told = [[change.text for change in remedy.changes] for remedy in explained(scene, pod).remedies]

    assert not any("label b" in text for changes in told for text in changes)
    assert ["drop kubernetes.io/hostname=a from the pod's nodeSelector"] in told


def test_labels_that_an_affinity_wants() -> None:
    """A node is labelled with the first value that would do."""
    expressions = [{"key": "disk", "operator": "In", "values": ["ssd", "nvme"]}]
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}

    assert ["label a with disk=ssd"] == smallest(Scene([a_node("a")]), a_pod("p").spec(affinity=affinity))


def test_a_resource_that_no_node_has() -> None:
    """It can be told of in the status of a node, as device plugins do."""
    told = as_json(explained(Scene([a_node("a")]), a_pod("p").requests(**{"example.com/gpu": "2"})))

    (change,) = told["remedies"][0]["changes"]
    assert "let a offer 2 example.com/gpu" == change["text"]
    assert change["command"].startswith("kubectl patch node a --subresource=status --type=merge -p ")


def test_resources_that_the_profile_ignores_are_not_short() -> None:
    """What NodeResourcesFit does not look at needs no remedy, though a node has none of it."""
    profile = Profile(args={"NodeResourcesFit": {"ignoredResources": ["example.com/gpu"]}})
    scene = Scene([a_node("a")], profile=profile)

    assert ["let the pod ask for 4 cpu (now 9) at most"] == smallest(
        scene, a_pod("p").requests(**{"cpu": "9", "example.com/gpu": "1"})
    )


def test_pods_kept_apart_by_labels_of_namespaces() -> None:
    """Anti-affinity by namespaceSelector is understood when pods to remove are looked for."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {},
        "namespaceSelector": {"matchLabels": {"t": "x"}},
    }
    shy = with_affinity(a_pod("shy").namespace("other"), "podAntiAffinity", term)
    namespace = {"kind": "Namespace", "metadata": {"name": "default", "labels": {"t": "x"}}}
    scene = Scene([a_node("a")], [shy.on("a")], others={"Namespace": [namespace]})

    assert ["remove pod other/shy from a"] == smallest(scene, a_pod("p"))
