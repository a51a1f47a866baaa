"""Flow schemas, priority levels and runtime classes."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.meta import Object
from tests.testkit.kinds import KindOnTrial

SCHEMAS = KindOnTrial("flowcontrol.apiserver.k8s.io/v1", "FlowSchema")
LEVELS = KindOnTrial("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration")
RUNTIMES = KindOnTrial("node.k8s.io/v1", "RuntimeClass")

GROUP: Object = {"kind": "Group", "group": {"name": "g"}}
ANY_PATH: Object = {"verbs": ["*"], "nonResourceURLs": ["*"]}
QUEUING = "spec.limited.limitResponse.queuing"


def schema(**rule: object) -> Object:
    rules = [{"subjects": [GROUP], "nonResourceRules": [ANY_PATH], **rule}]
    return {"spec": {"priorityLevelConfiguration": {"name": "x"}, "rules": rules}}


def queuing(**numbers: int) -> Object:
    response = {"type": "Queue", "queuing": numbers}
    return {"spec": {"type": "Limited", "limited": {"limitResponse": response}}}


@pytest.mark.parametrize(
    ("rule", "refusals"),
    [
        ({}, []),
        ({"subjects": []}, ["spec.rules[0].subjects: Required value: subjects must contain at least one value"]),
        (
            {"subjects": [{**GROUP, "user": {"name": "u"}}]},
            ["spec.rules[0].subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'"],
        ),
        (
            {"subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": "*"}}]},
            [
                "spec.rules[0].subjects[0].serviceAccount.namespace: Required value: "
                "must specify namespace for service account"
            ],
        ),
        (
            {"nonResourceRules": [{"verbs": ["*", "get"], "nonResourceURLs": ["/a*"]}]},
            [
                'spec.rules[0].nonResourceRules[0].verbs: Invalid value: ["*","get"]: '
                "if '*' is present, must not specify other verbs",
                'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a*": '
                "wildcard can only do suffix matching",
            ],
        ),
    ],
)
def test_rules_of_flow_schemas(rule: Object, refusals: list[str]) -> None:
    """Rules name whom and what they are about."""
    actual = SCHEMAS.create_errors(schema(**rule))

    assert refusals == actual


def test_the_servers_own_schemas_are_fixed() -> None:
    """Precedence 1 and what the mandatory schemas say are the server's."""
    body: Object = {"spec": {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 1}}

    other = SCHEMAS.create_errors(body)
    own = SCHEMAS.create_errors({**body, "metadata": {"name": "exempt"}})

    reason = "only the schema named 'exempt' may have matchingPrecedence 1"
    spec = (
        '{"PriorityLevelConfiguration":{"Name":"exempt"},"MatchingPrecedence":1,'
        '"DistinguisherMethod":null,"Rules":null}'
    )
    assert [f"spec.matchingPrecedence: Invalid value: 1: {reason}"] == other
    assert [f"spec: Invalid value: {spec}: spec of 'exempt' must equal the fixed value"] == own


@pytest.mark.parametrize(
    ("body", "refusals"),
    [
        (queuing(), []),
        (
            queuing(queues=4),
            [f"{QUEUING}.handSize: Invalid value: 8: should not be greater than queues (4)"],
        ),
        (
            queuing(queues=1024, handSize=7),
            [
                f"{QUEUING}.handSize: Invalid value: 7: required entropy bits of deckSize 1024 and handSize 7 "
                "should not be greater than 60"
            ],
        ),
        (
            {"spec": {"type": "Exempt"}},
            ["spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'"],
        ),
        ({"metadata": {"name": "exempt"}, "spec": {"type": "Exempt", "exempt": {"lendablePercent": 5}}}, []),
    ],
)
def test_priority_levels(body: Object, refusals: list[str]) -> None:
    """Type and parts agree, and hands fit their deck."""
    actual = LEVELS.create_errors(body)

    assert refusals == actual


def test_defaults_of_priority_levels() -> None:
    """Shares of zero are meant, queues of zero are not."""
    limited = LEVELS.created(queuing(queues=0))["spec"]["limited"]

    assert {"queues": 64, "handSize": 8, "queueLengthLimit": 50} == limited["limitResponse"]["queuing"]
    assert (30, 0) == (limited["nominalConcurrencyShares"], limited["lendablePercent"])


def test_status_keeps_the_metadata() -> None:
    """Labels written with a status are ignored."""
    old = SCHEMAS.created(schema())

    new = SCHEMAS.changed(old, {"metadata": {"labels": {"a": "b"}}, "status": {"conditions": []}}, "status")

    assert "labels" not in new["metadata"]


@pytest.mark.parametrize(
    ("body", "refusals"),
    [
        ({"handler": "h"}, []),
        ({}, ["handler: Required value"]),
        (
            {"handler": "h", "overhead": {"podFixed": {"cpu": "-1"}}},
            ['overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
        ),
        (
            {"handler": "h", "scheduling": {"tolerations": [{"key": "k", "operator": "Exists"}] * 2}},
            [
                'scheduling.tolerations[1]: Duplicate value: {"Key":"k","Operator":"Exists","Value":"","Effect":"",'
                '"TolerationSeconds":null}'
            ],
        ),
    ],
)
def test_runtime_classes(body: Object, refusals: list[str]) -> None:
    """A class names its handler; what it costs and tolerates makes sense."""
    actual = RUNTIMES.create_errors(body)

    assert refusals == actual


def test_a_runtime_class_keeps_its_handler() -> None:
    """Pods were started with it."""
    old = RUNTIMES.created({"handler": "h"})

    assert ['handler: Invalid value: "i": field is immutable'] == RUNTIMES.change_errors(old, {"handler": "i"})


def test_the_overhead_of_a_runtime_is_not_rounded() -> None:
    """Amounts of a RuntimeClass stay as they are, unlike those of a pod."""
    actual = RUNTIMES.created({"handler": "h", "overhead": {"podFixed": {"cpu": "100u"}}})

    assert actual["overhead"] == {"podFixed": {"cpu": "100u"}}
