"""Deployments and their kin: defaults, generations, selectors that stay, and statuses that add up."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import KindOnTrial

DEPLOYMENTS = KindOnTrial("apps/v1", "Deployment")
REPLICA_SETS = KindOnTrial("apps/v1", "ReplicaSet")
STATEFUL_SETS = KindOnTrial("apps/v1", "StatefulSet")
DAEMON_SETS = KindOnTrial("apps/v1", "DaemonSet")
CONTROLLERS = KindOnTrial("v1", "ReplicationController")

TEMPLATE: Object = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "n:1"}]}}


def workload(**spec: object) -> Object:
    return {"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE, **spec}}


@pytest.mark.parametrize(
    ("kind", "defaults"),
    [
        (
            DEPLOYMENTS,
            {
                "replicas": 1,
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
                },
                "revisionHistoryLimit": 10,
                "progressDeadlineSeconds": 600,
            },
        ),
        (REPLICA_SETS, {"replicas": 1}),
        (
            DAEMON_SETS,
            {
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
                "revisionHistoryLimit": 10,
            },
        ),
        (
            STATEFUL_SETS,
            {
                "replicas": 1,
                "serviceName": "",
                "podManagementPolicy": "OrderedReady",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "revisionHistoryLimit": 10,
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            },
        ),
    ],
)
def test_a_workload_gets_its_defaults(kind: KindOnTrial, defaults: Object) -> None:
    """What a workload says nothing about is filled in, beside the defaults of its template."""
    created = kind.created(workload())["spec"]

    actual = {name: value for name, value in created.items() if name not in ("selector", "template")}

    assert defaults == actual
    assert created["template"]["spec"]["restartPolicy"] == "Always"


def test_a_replication_controller_takes_its_selector_from_the_template() -> None:
    """The old kind needs no selector: its template's labels stand in, and label it too."""
    created = CONTROLLERS.created({"spec": {"template": TEMPLATE}})

    actual = created["spec"]["selector"], created["metadata"]["labels"]

    assert ({"app": "a"}, {"app": "a"}) == actual


def test_the_selector_has_to_select_the_template() -> None:
    """Labels of the template that the selector does not match are refused."""
    body = workload(selector={"matchLabels": {"app": "b"}})

    actual = DEPLOYMENTS.create_errors(body)

    reason = '{"app":"a"}: `selector` does not match template `labels`'
    assert [f"spec.template.metadata.labels: Invalid value: {reason}"] == actual


def test_the_selector_stays() -> None:
    """A Deployment's selector cannot be changed, even together with its template."""
    old = DEPLOYMENTS.created(workload())
    labels = {"b": "b", "app": "a"}

    actual = DEPLOYMENTS.change_errors(
        old, {"spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}}
    )

    assert ['spec.selector: Invalid value: {"matchLabels":{"app":"a","b":"b"}}: field is immutable'] == actual


@pytest.mark.parametrize(
    ("change", "generation"),
    [
        ({"spec": {"replicas": 2}}, 2),
        ({"metadata": {"labels": {"a": "b"}}}, 1),
        ({"status": {"replicas": 5}}, 1),
        ({"spec": {"replicas": 1}}, 1),
    ],
)
def test_the_generation_counts_changes_of_the_spec(change: Object, generation: int) -> None:
    """Only a change of the spec is a new generation; a status sent along is ignored."""
    old = REPLICA_SETS.created(workload())

    actual = REPLICA_SETS.changed(old, change)

    assert generation == actual["metadata"]["generation"]
    assert {"replicas": 0} == actual["status"]


def test_another_spelling_of_an_amount_is_no_change() -> None:
    """`1000m` instead of `1` leaves the generation alone."""
    body = workload()
    container = {"name": "c", "image": "n:1", "resources": {"requests": {"cpu": "1"}}}
    old = DEPLOYMENTS.created(
        {**body, "spec": {**body["spec"], "template": {**TEMPLATE, "spec": {"containers": [container]}}}}
    )
    same = [{**old["spec"]["template"]["spec"]["containers"][0], "resources": {"requests": {"cpu": "1000m"}}}]

    actual = DEPLOYMENTS.changed(old, {"spec": {"template": {"spec": {"containers": same}}}})

    assert actual["metadata"]["generation"] == 1


def test_a_status_has_to_add_up() -> None:
    """No more pods are ready than there are, and no more available than ready."""
    old = REPLICA_SETS.created(workload())

    actual = REPLICA_SETS.change_errors(
        old, {"status": {"replicas": 1, "readyReplicas": 2, "availableReplicas": 3}}, "status"
    )

    expected = [
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
    ]
    assert expected == actual


def test_a_status_with_a_negative_total_is_refused_whatever_it_leaves_out() -> None:
    """Absent counts read as zero, which is more than a negative total."""
    old = REPLICA_SETS.created(workload())

    actual = REPLICA_SETS.change_errors(old, {"status": {"replicas": -1}}, "status")

    expected = [
        "status.replicas: Invalid value: -1: must be greater than or equal to 0",
        "status.fullyLabeledReplicas: Invalid value: 0: cannot be greater than status.replicas",
        "status.readyReplicas: Invalid value: 0: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 0: cannot be greater than status.replicas",
    ]
    assert expected == actual


def test_little_of_a_stateful_set_may_change() -> None:
    """A StatefulSet's service stays; its replicas may change."""
    old = STATEFUL_SETS.created(workload(serviceName="s"))

    refusals = STATEFUL_SETS.change_errors(old, {"spec": {"serviceName": "t"}})
    none = STATEFUL_SETS.change_errors(old, {"spec": {"replicas": 3}})

    reason = (
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
        "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
    )
    assert [f"spec: Forbidden: {reason}"] == refusals
    assert [] == none


def test_workloads_always_restart_their_pods() -> None:
    """A template whose pods end is refused."""
    body = workload(template={**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}})

    actual = DEPLOYMENTS.create_errors(body)

    assert ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'] == actual


@pytest.mark.parametrize(
    ("rolling", "refusals"),
    [
        ({"maxUnavailable": "5", "maxSurge": 0}, ['maxUnavailable: Invalid value: "5": a valid percent string must']),
        (
            {"maxUnavailable": "x", "maxSurge": 0},
            [
                'maxUnavailable: Invalid value: "x": a valid percent string must',
                "maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
            ],
        ),
        (
            {"maxUnavailable": "0%", "maxSurge": "0%"},
            ["maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
        ),
    ],
)
def test_text_that_spells_a_number_counts_as_one(rolling: Object, refusals: list[str]) -> None:
    """A number in quotes is refused, but it is not none at all."""
    body = workload(updateStrategy={"type": "RollingUpdate", "rollingUpdate": rolling})

    actual = DAEMON_SETS.create_errors(body)

    at = "spec.updateStrategy.rollingUpdate."
    assert len(refusals) == len(actual)
    assert all(found.startswith(at + expected) for found, expected in zip(actual, refusals, strict=True))


def test_selectors_are_quoted_in_the_order_of_their_fields() -> None:
    """However a client orders a selector, a refusal prints labels sorted and first, and each expression alike."""
    selector = {
        "matchExpressions": [{"values": ["x"], "operator": "Near", "key": "app"}],
        "matchLabels": {"b": "1", "a": "2"},
    }

    actual = DEPLOYMENTS.create_errors(workload(selector=selector))

    printed = '{"matchLabels":{"a":"2","b":"1"},"matchExpressions":[{"key":"app","operator":"Near","values":["x"]}]}'
    assert f"spec.selector: Invalid value: {printed}: invalid label selector" in actual


def test_a_daemon_set_is_warned_of_its_template_where_that_changed() -> None:
    """Another change of its spec warns of nothing."""
    template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "nodeSelector": {"beta.kubernetes.io/os": "linux"}}}
    old = DAEMON_SETS.created(workload())
    changed = DAEMON_SETS.changed(old, {"spec": {"template": template}})
    paused = DAEMON_SETS.changed(changed, {"spec": {"minReadySeconds": 1}})

    warned = DAEMON_SETS.strategy.update_warnings(changed, old, "")
    silent = DAEMON_SETS.strategy.update_warnings(paused, changed, "")

    assert len(warned) == 1
    assert not silent


@pytest.mark.parametrize(
    ("kind", "field", "printed"),
    [
        (DEPLOYMENTS, "strategy", '{"Type":"A","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":0}}'),
        (DAEMON_SETS, "updateStrategy", '{"Type":"A","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":0}}'),
        (STATEFUL_SETS, "updateStrategy", '{"Type":"A","RollingUpdate":{"Partition":0,"MaxUnavailable":null}}'),
    ],
)
def test_an_unknown_strategy_is_quoted_with_an_empty_rolling_update(
    kind: KindOnTrial, field: str, printed: str
) -> None:
    """What the rolling update leaves out is quoted as zero."""
    actual = kind.create_errors(workload(**{field: {"type": "A", "rollingUpdate": {}}}))

    assert any(printed in error for error in actual)


def test_a_rolling_update_that_is_not_wanted_has_zeros() -> None:
    """Upstream's internal type knows no unset numbers."""
    strategy = {"type": "OnDelete", "rollingUpdate": {}}
    created = DAEMON_SETS.created(workload(updateStrategy=strategy))

    assert {"maxSurge": 0, "maxUnavailable": 0} == created["spec"]["updateStrategy"]["rollingUpdate"]
