"""The whole decision about a Deployment."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from controllers.deployment.model import Rollout, SetState
from controllers.deployment.plan import Plan, new_status, plan
from controllers.deployment.revisions import set_name
from kubeloop.apimachinery.hashing import pod_template_hash
from kubeloop.apimachinery.meta import Object, annotations_of, labels_of, owner_references_of
from tests.unit.controllers.workloads import NOW, a_deployment, a_pod, a_replica_set, a_template, seconds_ago

REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED, MAX = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"


def sized(replicas: int, revision: str = "1") -> dict[str, str]:
    return {DESIRED: str(replicas), MAX: str(replicas + 1), REVISION: revision}


def decide(deployment: Object, *sets: Object, pods: Mapping[str, list[Object]] | None = None) -> Plan:
    return plan(Rollout.of(deployment), [SetState.of(each) for each in sets], pods or {}, NOW)


def status_of(deployment: Object, *sets: Object) -> Object:
    return new_status(Rollout.of(deployment), decide(deployment, *sets), NOW)


def steps(decided: Plan) -> dict[str, Any]:
    """What a plan does, by name."""
    done = {
        "create": decided.create.name if decided.create else "",
        "annotate": decided.annotate.name if decided.annotate else "",
        "scale": {scale.name: scale.replicas for scale in decided.scales},
        "delete": list(decided.deletes),
    }
    return {step: value for step, value in done.items() if value}


def test_a_new_deployment_gets_a_replica_set_of_its_full_size() -> None:
    """Nothing is there to be replaced, so no surge is minded; name, hash, owner and annotations follow from it."""
    deployment = a_deployment(3, annotations={"team": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"})

    created = decide(deployment).create

    assert created is not None
    template_hash = pod_template_hash(a_template())
    assert f"web-{template_hash}" == created.name
    assert {"app": "web", "pod-template-hash": template_hash} == labels_of(created.obj)
    assert {"team": "x", DESIRED: "3", MAX: "4", REVISION: "1"} == annotations_of(created.obj)
    assert [("Deployment", "web", True)] == [
        (r["kind"], r["name"], r["controller"]) for r in owner_references_of(created.obj)
    ]
    assert (3, 3) == (created.replicas, created.obj["spec"]["replicas"])
    selected = created.obj["spec"]["selector"]["matchLabels"]
    assert {"app": "web", "pod-template-hash": template_hash} == selected


@pytest.mark.parametrize(
    ("strategy", "old", "pods", "expected"),
    [
        ("RollingUpdate", a_replica_set("old", 3, annotations=sized(3)), [], {"create": "new"}),
        ("Recreate", a_replica_set("old", 3, annotations=sized(3)), [], {"scale": {"old": 0}}),
        ("Recreate", a_replica_set("old", 0, status={"replicas": 1}), [], {}),
        ("Recreate", a_replica_set("old", 0), [a_pod(deleted=True)], {}),
        (
            "Recreate",
            a_replica_set("old", 0),
            [a_pod(phase="Failed")],
            {
                "create": "new",
            },
        ),
        ("Recreate", a_replica_set("old", 0), [], {"create": "new"}),
    ],
    ids=["rolling", "recreate", "not counted out yet", "a pod on its way out", "a pod that is done", "all gone"],
)
def test_a_new_template(strategy: str, old: Object, pods: list[Object], expected: dict[str, Any]) -> None:
    """RollingUpdate begins at once, Recreate when the last old pod is gone."""
    deployment = a_deployment(3, "2", strategy=strategy)

    decided = steps(decide(deployment, old, pods={"old": pods}))

    name = set_name("web", pod_template_hash(a_template("2")))
    assert expected == {**decided, **({"create": "new"} if decided.get("create") == name else {})}


@pytest.mark.parametrize(
    ("deployment", "sets", "expected"),
    [
        (a_deployment(3), [a_replica_set("new", 3, annotations=sized(3))], {}),
        (a_deployment(5), [a_replica_set("new", 3, annotations=sized(3))], {"scale": {"new": 5}}),
        (
            a_deployment(3, "2", paused=True),
            [a_replica_set("old", 2, annotations=sized(2))],
            {"scale": {"old": 3}},
        ),
        (a_deployment(3, "2", paused=True), [a_replica_set("old", 3, annotations=sized(3))], {}),
        (
            {**a_deployment(5), "metadata": {**a_deployment(5)["metadata"], "deletionTimestamp": seconds_ago(1)}},
            [a_replica_set("new", 3, annotations=sized(3))],
            {},
        ),
        (
            a_deployment(3, "1"),
            [
                a_replica_set("old", 3, "2", annotations=sized(3, "2")),
                a_replica_set("new", 0, annotations=sized(3, "1"), age=100),
            ],
            {"annotate": "new", "scale": {"new": 1}},
        ),
    ],
    ids=["at rest", "scaled", "paused and scaled", "paused", "being deleted", "back to an earlier template"],
)
def test_what_is_done(deployment: Object, sets: list[Object], expected: dict[str, Any]) -> None:
    """Scaling comes before rolling, pausing stops rolling but not scaling, deletion stops both."""
    assert expected == steps(decide(deployment, *sets))


def test_going_back_keeps_the_earlier_revision_in_the_history() -> None:
    """The ReplicaSet gone back to becomes the newest revision, and the Deployment is told of it."""
    old = a_replica_set("old", 3, "2", annotations=sized(3, "2"))
    new = a_replica_set("new", 0, annotations={**sized(3), "note": "kept"}, age=100)

    decided = decide(a_deployment(3, annotations={"change-cause": "undo"}), old, new)

    assert decided.annotate is not None
    assert {"change-cause": "undo", "note": "kept", REVISION: "3", HISTORY: "1"} == {
        k: v for k, v in decided.annotate.annotations.items() if k not in (DESIRED, MAX)
    }
    assert "3" == decided.revision


@pytest.mark.parametrize("count", [0, 1, 7])
def test_a_collision_count_makes_another_name(count: int) -> None:
    """Each count gives the template another hash."""
    plain, counted = a_deployment(3), a_deployment(3, status={"collisionCount": count})

    names = {decided.create.name for deployment in (plain, counted) if (decided := decide(deployment)).create}

    assert 2 == len(names)


@pytest.mark.parametrize(
    ("limit", "complete", "expected"),
    [(1, True, ["r1"]), (0, True, ["r1", "r2"]), (2, True, []), (2**31 - 1, True, []), (0, False, [])],
)
def test_old_replica_sets_are_cleaned_up(limit: int, complete: bool, expected: list[str]) -> None:
    """Beyond the limit the lowest revisions go, once the rollout is complete."""
    done = {"updatedReplicas": 3, "replicas": 3, "availableReplicas": 3, "observedGeneration": 1}
    deployment = a_deployment(3, "9", revisionHistoryLimit=limit, status=done if complete else {})
    new = a_replica_set("new", 3, "9", annotations=sized(3, "5"), age=0)
    old = [a_replica_set(f"r{i}", 0, str(i), annotations=sized(3, str(i)), age=500 - i) for i in (2, 1)]

    assert expected == list(decide(deployment, new, *old).deletes)


def test_a_plan_carried_out_leaves_nothing_to_do() -> None:
    """Deciding again from the outcome of a plan decides nothing: a reconcile may be repeated."""
    deployment = a_deployment(3)
    created = decide(deployment).create
    assert created is not None
    outcome = replace(created, obj={**created.obj, "metadata": {**created.obj["metadata"], "uid": "new"}})

    assert {} == steps(decide(deployment, outcome.obj))


def test_counters_and_conditions_of_a_first_rollout() -> None:
    """Before any pod is there, the Deployment progresses and is unavailable, in this order."""
    status = status_of(a_deployment(2))

    assert (2, 0, 0) == (status["unavailableReplicas"], status["replicas"], status["terminatingReplicas"])
    told = [(c["type"], c["status"], c["reason"]) for c in status["conditions"]]
    assert [
        ("Progressing", "True", "NewReplicaSetCreated"),
        ("Available", "False", "MinimumReplicasUnavailable"),
    ] == told


PROGRESSING = {
    "type": "Progressing",
    "status": "True",
    "reason": "ReplicaSetUpdated",
    "message": "m",
    "lastUpdateTime": seconds_ago(100),
    "lastTransitionTime": seconds_ago(500),
}


@pytest.mark.parametrize(
    ("stored", "available", "deadline", "paused", "expected"),
    [
        ({"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 2}, 3, 600, False, "complete"),
        ({"replicas": 3, "updatedReplicas": 3}, 2, 600, False, "progress"),
        ({"replicas": 3, "updatedReplicas": 3, "readyReplicas": 2, "availableReplicas": 2}, 2, 600, False, "same"),
        ({"replicas": 3, "updatedReplicas": 3, "readyReplicas": 2, "availableReplicas": 2}, 2, 99, False, "overdue"),
        ({"replicas": 3, "updatedReplicas": 3, "readyReplicas": 2, "availableReplicas": 2}, 2, None, False, "none"),
        ({"replicas": 3, "updatedReplicas": 3, "readyReplicas": 2, "availableReplicas": 2}, 2, 99, True, "paused"),
    ],
)
def test_progress(stored: Object, available: int, deadline: int | None, paused: bool, expected: str) -> None:
    """Complete, on its way, the same as before, overdue, not asked for, or not judged while paused."""
    status = {**stored, "conditions": [PROGRESSING]}
    deployment = a_deployment(3, status=status, progressDeadlineSeconds=deadline, paused=paused)

    told = status_of(deployment, a_replica_set("new", 3, available=available, annotations=sized(3)))

    by_reason = {
        "NewReplicaSetAvailable": "complete",
        "ReplicaSetUpdated": "progress",
        "ProgressDeadlineExceeded": "overdue",
        "DeploymentPaused": "paused",
    }
    found = [c for c in told["conditions"] if c["type"] == "Progressing"]
    names = ["same" if c == PROGRESSING else by_reason[c["reason"]] for c in found] or ["none"]
    assert [expected] == names


def test_a_failure_of_the_replica_set_is_handed_on() -> None:
    """ReplicaFailure of the new ReplicaSet becomes the Deployment's, and goes when it goes."""
    failure = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": "no",
        "lastTransitionTime": seconds_ago(9),
    }
    failing = a_replica_set("new", 3, available=0, annotations=sized(3), status={"conditions": [failure]})

    told = status_of(a_deployment(3), failing)["conditions"]
    later = status_of(a_deployment(3, status={"conditions": told}), a_replica_set("new", 3, annotations=sized(3)))

    assert [{**failure, "lastUpdateTime": seconds_ago(9)}] == [c for c in told if c["type"] == "ReplicaFailure"]
    assert [] == [c for c in later["conditions"] if c["type"] == "ReplicaFailure"]


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([{"terminatingReplicas": 2}, {"terminatingReplicas": 1}], 3),
        ([{"terminatingReplicas": 2}, {"terminatingReplicas": None, "observedGeneration": 0}], 2),
        ([{"terminatingReplicas": 2}, {"terminatingReplicas": None}], None),
    ],
    ids=["added up", "a new one has none", "one that does not tell"],
)
def test_terminating_replicas(statuses: list[Object], expected: int | None) -> None:
    """Known only if every ReplicaSet that was looked at tells."""
    sets = []
    for i, fields in enumerate(statuses):
        replica_set = a_replica_set(f"r{i}", 0, str(i), age=100 - i)
        replica_set["status"] |= fields
        replica_set["status"] = {k: v for k, v in replica_set["status"].items() if v is not None}
        sets.append(replica_set)

    assert expected == status_of(a_deployment(0, "0"), *sets).get("terminatingReplicas")
