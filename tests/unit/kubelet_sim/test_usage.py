"""What containers use: the grammar of usage and load, and the amounts that follow."""

from __future__ import annotations

import pytest

from kubelet_sim import usage
from kubelet_sim.annotations import BehaviourError
from kubeloop.apimachinery.meta import Object


def a_container(**resources: Object) -> Object:
    return {"name": "c", "resources": resources}


def cpu(text: str, container: Object | None = None) -> usage.Curve:
    return usage.own_usage(container or a_container(), {"kubeloop.io/cpu-usage": text}, "cpu")


@pytest.mark.parametrize(
    ("text", "start", "end", "average"),
    [
        ("250m", 0, 15, 0.25),
        ("100m@0s,800m@2m", 0, 0, 0.1),
        ("100m@0s,800m@2m", 60, 60, 0.45),
        ("100m@0s,800m@2m", 0, 120, 0.45),
        ("100m@0s,800m@2m", 120, 500, 0.8),
        ("100m@1m", 0, 10, 0.1),
        ("0@10s,1@10s", 0, 20, 0.5),
        ("0@10s,1@10s", 0, 10, 0),
        ("0@10s,1@10s", 10, 20, 1),
        ("0@0s,1@10s,0@20s", 5, 15, 0.75),
    ],
)
def test_a_curve_is_averaged_over_a_window(text: str, start: float, end: float, average: float) -> None:
    """Straight lines between the points, level around them, jumps where two have one time."""
    assert cpu(text).average(start, end) == pytest.approx(average)


def test_percentages_are_of_the_request() -> None:
    """And so is what nobody said: a tenth of the CPU, half of the memory."""
    container = a_container(requests={"cpu": "500m", "memory": "64Mi"})
    assert cpu("150%", container).average(0, 0) == 0.75
    assert usage.own_usage(container, {}, "cpu").average(0, 0) == 0.05
    assert usage.own_usage(container, {}, "memory").average(0, 0) == 32 * 2**20
    assert usage.own_usage(a_container(), {}, "cpu").average(0, 0) == 0.001


def test_an_annotation_may_name_its_container() -> None:
    """The one that does wins over the one for all."""
    said = {"kubeloop.io/cpu-usage": "1", "kubeloop.io/cpu-usage.c": "2"}
    assert usage.own_usage(a_container(), said, "cpu").average(0, 0) == 2


def test_nobody_uses_more_than_his_limit() -> None:
    """Whatever the annotation says."""
    container = a_container(limits={"cpu": "200m"})
    assert usage.limited(container, "cpu", 1.5) == 0.2
    assert usage.limited(container, "memory", 1.5) == 1.5


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("much", "'much' is no amount: write a quantity such as 250m or 64Mi, or 50% of the request"),
        ("-1", "'-1' is less than nothing"),
        ("50%", "'50%' of what? The container requests none"),
        ("1e9999", "'1e9999' is more than any machine has"),
        ("2Ei", "'2Ei' is more than any machine has"),
        ("1,2", "'1' has no time: write a curve as 100m@0s,800m@2m"),
        ("1@0s,2", "'2' has no time: write a curve as 100m@0s,800m@2m"),
        ("1@1m,2@5s", "'2@5s' comes after 60s: write a curve as 100m@0s,800m@2m"),
        ("1@soon", "invalid duration 'soon': write it as 15s, 1m30s or 500ms"),
    ],
)
def test_what_cannot_be_meant_is_told_of(text: str, why: str) -> None:
    """The annotation is named, and what would do."""
    with pytest.raises(BehaviourError) as caught:
        cpu(text)
    assert str(caught.value) == f"annotation kubeloop.io/cpu-usage: {why}"
