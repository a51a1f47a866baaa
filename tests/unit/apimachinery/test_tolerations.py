"""Taints, and who puts up with them."""

from typing import Any

import pytest

from kubeloop.apimachinery.tolerations import tolerates, untolerated_taint, used_tolerations

TAINT = {"key": "k", "value": "v", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "value": "v", "operator": "Equal", "effect": "NoExecute"}, True),
        ({"key": "k", "value": "w"}, False),
        ({"key": "k"}, False),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "j", "operator": "Exists"}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "k", "value": "v", "operator": "Lt"}, False),
    ],
)
def test_matching(toleration: dict[str, Any], expected: bool) -> None:
    """Key and value, or Exists; what is empty matches all."""
    assert expected == tolerates(toleration, TAINT)


def test_a_preference_keeps_nobody_away() -> None:
    """Only NoSchedule and NoExecute do; the first that is not tolerated is named."""
    taints = [{"key": "a", "effect": "PreferNoSchedule"}, TAINT, {"key": "b", "effect": "NoSchedule"}]

    assert TAINT == untolerated_taint([], taints)


def test_each_taint_uses_its_first_toleration() -> None:
    """None where a taint has none."""
    first, second = {"key": "k", "operator": "Exists", "tolerationSeconds": 5}, {"operator": "Exists"}

    assert [first, second] == used_tolerations([first, second], [TAINT, {"key": "b", "effect": "NoExecute"}])
    assert used_tolerations([first], [TAINT, {"key": "b", "effect": "NoExecute"}]) is None
