"""What a Stage may say, and how it is refused: with its name and the field."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kubelet_sim.stages.definition import definition
from kubelet_sim.stages.expression import StageError
from kubelet_sim.stages.reading import read
from kubelet_sim.stages.registry import StagesOfKind, draw
from kubelet_sim.stages.sources import read_text, stages_of, text_of_set
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.stage_sets import SETS
from kubeloop.apimachinery.times import parse_time
from tests.unit.kubelet_sim.stages.stage import a_document, a_stage, where
from tests.unit.kubelet_sim.test_nodes import pod_on

NOW = parse_time("2026-01-01T00:00:00Z")
POD = pod_on("node-0").annotations({"delay": "7s", "at": "2026-01-01T00:00:30Z", "weight": "5", "odd": "x", "no": ""})


def found_at(annotation: str) -> Object:
    return {"expressionFrom": f'.metadata.annotations["{annotation}"]'}


def test_stages_are_drawn_by_their_weights() -> None:
    """Where there are none, each is as likely."""
    weighted = [a_stage("often", weight=3), a_stage("rarely", weight=1), a_stage("never", weight=0)]
    rng = random.Random(1)

    drawn = Counter(draw(weighted, POD, rng).name for _ in range(400))
    equal = Counter(draw([a_stage("a"), a_stage("b")], POD, rng).name for _ in range(400))

    assert 250 < drawn["often"] < 350
    assert 0 == drawn["never"]
    assert 150 < equal["a"] < 250


@pytest.mark.parametrize(
    ("fields", "weight"),
    [
        ({"weight": 2}, 2),
        ({"weight": 2, "weightFrom": found_at("weight")}, 5),
        ({"weight": 2, "weightFrom": found_at("missing")}, 2),
        ({"weight": 2, "weightFrom": found_at("odd")}, None),
        ({"weightFrom": {"jq": {"expression": ".metadata.annotations | length"}}}, 5),
        ({"weightFrom": {"cel": {"expression": "int(self.metadata.annotations.weight) + 1"}}}, 6),
    ],
)
def test_weights_are_found_in_the_object(fields: Object, weight: int | None) -> None:
    """What is there, but no number, is no weight at all: such a stage is drawn only among its like."""
    stage = a_stage("s", **fields)

    assert weight == stage.weight.of(POD)
    other = a_stage("other", weight=0)
    assert weight is not None or "other" == draw([stage, other], POD, random.Random(1)).name


@pytest.mark.parametrize(
    ("delay", "least", "most"),
    [
        ({}, 0, 0),
        ({"durationMilliseconds": 1000}, 1, 1),
        ({"durationMilliseconds": 1000, "jitterDurationMilliseconds": 3000}, 1, 3),
        ({"durationMilliseconds": 5000, "jitterDurationMilliseconds": 2000}, 2, 2),
        ({"durationMilliseconds": 1, "durationFrom": found_at("delay")}, 7, 7),
        ({"durationFrom": found_at("at")}, 30, 30),
        ({"durationMilliseconds": 1000, "durationFrom": found_at("odd")}, 1, 1),
        ({"durationMilliseconds": 1000, "durationFrom": found_at("no")}, 0, 0),
        ({"durationMilliseconds": 1000, "jitterDurationFrom": found_at("at")}, 1, 30),
        ({"durationFrom": {"cel": {"expression": "duration('2s')"}}}, 2, 2),
        ({"durationFrom": {"jq": {"expression": ".metadata.annotations.delay"}}}, 7, 7),
    ],
)
def test_delays_are_as_in_kwok(delay: Object, least: float, most: float) -> None:
    """The jitter is the longest delay; what is found in the object goes before milliseconds."""
    seconds = a_stage(delay=delay).delay.seconds(POD, NOW, random.Random(1).random)

    assert least <= seconds <= most


def test_a_time_that_is_over_is_no_delay() -> None:
    """A stage that was due long ago comes at once."""
    late = parse_time("2027-01-01T00:00:00Z")

    assert 0 == a_stage(delay={"durationFrom": found_at("at")}).delay.seconds(POD, late, random.Random(1).random)


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ({}, True),
        ({"matchAnnotations": {"odd": "x"}}, True),
        ({"matchLabels": {"odd": "x"}}, False),
        (where(".spec.nodeName", "In", "node-0", "node-1"), True),
        (where(".spec.nodeName", "NotIn", "node-0"), False),
        (where(".spec.automountServiceAccountToken", "In", "false"), True),
        (where(".status.phase", "Exists"), False),
        (where('.status.conditions.[] | select( .type == "Ready" ) | .status', "NotIn", "True"), True),
        ({"matchExpressions": [{"jq": {"key": ".spec.nodeName", "operator": "Exists"}}]}, True),
        ({"matchExpressions": [{"cel": {"expression": "self.spec.nodeName == 'node-0'"}}]}, True),
        ({"matchExpressions": [{"cel": {"expression": "self.missing.more == 'node-0'"}}]}, False),
    ],
)
def test_selectors_choose_objects(selector: Object, matches: bool) -> None:
    """All that they ask for must hold; an empty one matches every object."""
    assert matches == bool(StagesOfKind([a_stage(selector=selector)]).matching(POD))


def test_without_a_selector_a_stage_is_for_nothing() -> None:
    """As in kwok: an empty one matches all, none at all matches none."""
    document = a_document()
    del document["spec"]["selector"]

    assert read(document) is None


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"delay": {"durationMilliseconds": "1s"}}, "spec.delay.durationMilliseconds: must be of type integer"),
        (
            {"delay": {"durationMilliseconds": -1}},
            "spec.delay.durationMilliseconds: must be greater than or equal to 0",
        ),
        ({"dealy": {}}, "spec.dealy: there is no such field"),
        ({"resourceRef": {}}, "spec.resourceRef.kind: is required"),
        ({"selector": where(".a", "Is", "b")}, r"matchExpressions\[0\].operator: 'Is' is none of In, NotIn"),
        ({"selector": where(".a", "In")}, r"matchExpressions\[0\]: operator In: needs values"),
        ({"selector": where(".a", "Exists", "b")}, "takes no values"),
        ({"selector": where(".a[", "Exists")}, r"spec.selector.matchExpressions\[0\]: '.a\[' is no jq expression"),
        ({"selector": {"matchExpressions": [{"cel": {"expression": "1 +"}}]}}, r"\[0\].cel: '1 \+' is no CEL"),
        ({"weightFrom": {"expressionFrom": "("}}, "spec.weightFrom: '\\(' is no jq expression"),
        ({"next": {"statusTemplate": "{{ nope }}"}}, "spec.next.statusTemplate: there is no function nope"),
        ({"next": {"patches": [{"template": "{{ if }}"}]}}, r"spec.next.patches\[0\].template"),
        ({"next": {"patches": [{"template": "", "type": "x"}]}}, r"patches\[0\].type: 'x' is none of json"),
        ({"steps": [{"apply": {"template": "{{ PodIPs }}"}}]}, r"spec.steps\[0\].apply.template: there is no function"),
        ({"resourceRef": {"kind": "Node"}, "next": {"statusTemplate": "{{ PodIP }}"}}, "no function PodIP"),
    ],
)
def test_a_stage_that_cannot_be_played_is_refused(spec: dict[str, Any], why: str) -> None:
    """With its name and the field."""
    with pytest.raises(StageError, match=f"stage 'odd': .*{why}"):
        read(a_document("odd", **spec))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("kind: Pod", "a document is no Stage"),
        ("kind: Stage\napiVersion: v1", "apiVersion 'v1'"),
        ("a: [", "yaml"),
    ],
)
def test_a_file_that_holds_other_things_is_refused(tmp_path: Path, text: str, why: str) -> None:
    """With the reason."""
    file = tmp_path / "stages.yaml"
    file.write_text(f"---\n{text}\n")

    with pytest.raises(StageError, match=why):
        stages_of([str(file)])


@pytest.mark.parametrize("name", SETS)
def test_the_built_in_sets_are_understood(name: str) -> None:
    """And what is printed of them is what is played."""
    played = [stage.name for stage in stages_of([name])]

    assert played == [stage.name for stage in read_text(text_of_set(name))]
    assert len(set(played)) == len(played)


def test_a_file_that_two_sets_share_is_played_once() -> None:
    """The nodes of general and chaos are the same."""
    both = [stage.name for stage in stages_of(["general", "chaos", "cluster"])]

    assert len(set(both)) == len(both)


def test_the_kind_is_kwoks() -> None:
    """So kwok's documents can be applied as they are, and ours be given to kwok."""
    spec = definition()["spec"]

    assert ("kwok.x-k8s.io", "Cluster", "Stage") == (spec["group"], spec["scope"], spec["names"]["kind"])
