"""The claims of a StatefulSet's pods and their owners."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.stateful_set import claims
from controllers.stateful_set.identity import claim_name
from controllers.stateful_set.model import SetSpec
from controllers.stateful_set.plan import plan
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.stateful_set.sets import REVISIONS, a_member, a_set
from tests.unit.controllers.workloads import NOW, seconds_ago

TEMPLATE = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
RETAIN, DELETE = "Retain", "Delete"
SET = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "set", "controller": True}
POD = {"apiVersion": "v1", "kind": "Pod", "name": "web-0", "uid": "uid-0", "controller": True}
OTHER = {"apiVersion": "example.com/v1", "kind": "Backup", "name": "b", "uid": "b", "controller": True}


def with_claims(when_deleted: str = RETAIN, when_scaled: str = RETAIN, replicas: int = 1, **fields: Any) -> SetSpec:
    policy = {"whenDeleted": when_deleted, "whenScaled": when_scaled}
    return a_set(replicas, volumeClaimTemplates=[TEMPLATE], persistentVolumeClaimRetentionPolicy=policy, **fields)


def a_claim(*owners: Object, **metadata: Any) -> Object:
    return {"metadata": {"name": "data-web-0", "namespace": "default", "ownerReferences": list(owners), **metadata}}


def kinds(claim: Object) -> list[str]:
    return [reference["kind"] for reference in claim["metadata"]["ownerReferences"]]


@pytest.mark.parametrize(
    ("when_deleted", "when_scaled", "replicas", "expected"),
    [
        (RETAIN, RETAIN, 1, []),
        (RETAIN, RETAIN, 0, []),
        (DELETE, RETAIN, 1, ["StatefulSet"]),
        (DELETE, RETAIN, 0, ["StatefulSet"]),
        (RETAIN, DELETE, 1, []),
        (RETAIN, DELETE, 0, ["Pod"]),
        (DELETE, DELETE, 1, ["StatefulSet"]),
        (DELETE, DELETE, 0, ["Pod"]),
    ],
)
@pytest.mark.parametrize("present", [[], [SET], [POD], [SET, POD]])
def test_the_policy_says_who_owns_a_claim(
    when_deleted: str, when_scaled: str, replicas: int, expected: list[str], present: list[Object]
) -> None:
    """Whoever owned it before, and once put right it stays."""
    spec = with_claims(when_deleted, when_scaled, replicas)
    pod = a_member(spec, 0, "R")

    work = claims.work(spec, pod, {"data-web-0": a_claim(*present)})

    found = list(work.mended) or [a_claim(*present)]
    assert [expected] == [kinds(claim) for claim in found]
    assert (expected == [owner["kind"] for owner in present]) == (not work.mended)
    assert claims.have_right_owners(spec, pod, {"data-web-0": found[0]})


@pytest.mark.parametrize(
    ("owners", "is_conflict", "expected"),
    [
        ([OTHER], True, []),
        ([OTHER, SET], True, [["Backup"]]),
        ([{**SET, "uid": "earlier"}], True, []),
        ([{**POD, "uid": "earlier"}], True, []),
        ([{**SET, "controller": False}], False, [["StatefulSet"]]),
        ([{**OTHER, "controller": False}], False, [["Backup", "StatefulSet"]]),
    ],
)
def test_other_owners_are_respected(owners: list[Object], is_conflict: bool, expected: list[list[str]]) -> None:
    """Another's claim, or an earlier set's, is not taken over, and ours beside it is withdrawn."""
    spec = with_claims(DELETE)

    work = claims.work(spec, a_member(spec, 0, "R"), {"data-web-0": a_claim(*owners)})

    assert (is_conflict, expected) == (bool(work.conflicting), [kinds(claim) for claim in work.mended])


def test_a_claim_of_the_last_pod_of_that_name_is_waited_for() -> None:
    """It is about to be collected: a pod made now would lose it."""
    spec, retaining = with_claims(when_scaled=DELETE), with_claims()
    known = {"data-web-0": a_claim({**POD, "uid": "earlier"})}

    decided = [plan(each, REVISIONS, [], known, NOW).phases for each in (spec, retaining)]

    assert ([()], "create") == (list(decided[0]), decided[1][0][0].verb)


def test_claims_are_made_with_the_pod() -> None:
    """Named after template, set and ordinal; labelled with the selector besides their own labels."""
    labelled = {"metadata": {"name": "logs", "labels": {"of": "web"}}, "spec": {}}
    spec = a_set(1, volumeClaimTemplates=[TEMPLATE, labelled])

    ((step,),) = plan(spec, REVISIONS, [], {}, NOW).phases

    made = {claim["metadata"]["name"]: claim["metadata"]["labels"] for claim in step.claims.missing}
    assert {"data-web-0": {"app": "web"}, "logs-web-0": {"app": "web", "of": "web"}} == made
    assert [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}},
        {"name": "logs", "persistentVolumeClaim": {"claimName": "logs-web-0"}},
    ] == step.pod["spec"]["volumes"]


@pytest.mark.parametrize(
    ("state", "known", "expected"),
    [
        ("P", {}, (1, 0)),
        ("P", {"data-web-0": a_claim(deletionTimestamp=seconds_ago(1))}, (0, 1)),
        ("R", {}, None),
    ],
)
def test_a_pending_pod_gets_a_lost_claim_back(state: str, known: Any, expected: tuple[int, int] | None) -> None:
    """One that is being deleted first has to go; a running pod needs none."""
    spec = with_claims()

    steps = [step for phase in plan(spec, REVISIONS, [a_member(spec, 0, state)], known, NOW).phases for step in phase]

    found = [(len(step.claims.missing), len(step.claims.leaving)) for step in steps]
    assert ([] if expected is None else [expected]) == found


def test_claims_of_surplus_pods_change_hands_before_the_pods_go() -> None:
    """Else the collector would not know whose they were."""
    spec = with_claims(DELETE, DELETE, replicas=0)
    pod = a_member(spec, 0, "R")

    phases = plan(spec, REVISIONS, [pod], {"data-web-0": a_claim(SET)}, NOW).phases

    assert ["mend claims", "delete"] == [step.verb for phase in phases for step in phase]


def test_claims_of_a_later_template_of_one_name_count() -> None:
    """As the API server lets two of one name pass."""
    twin = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadOnlyMany"]}}
    spec = a_set(1, volumeClaimTemplates=[TEMPLATE, twin])

    assert [("data-web-0", ["ReadOnlyMany"])] == [
        (claim_name(spec, TEMPLATE, 0), claim["spec"]["accessModes"]) for claim in claims.wanted(spec, 0)
    ]
