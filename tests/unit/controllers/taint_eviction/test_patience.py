"""How long pods put up with taints."""

import math
from typing import Any

import pytest

from controllers.taint_eviction.patience import no_execute_taints, seconds_to_stay

TAINTS = [{"key": "a", "value": "x", "effect": "NoExecute"}, {"key": "b", "effect": "NoExecute"}]


def tolerating(key: str, seconds: int | None = None, **fields: str) -> dict[str, Any]:
    limit = {} if seconds is None else {"tolerationSeconds": seconds}
    return {"key": key, "operator": "Exists", "effect": "NoExecute", **limit, **fields}


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        ([], 0),
        ([tolerating("a")], 0),
        ([tolerating("a"), tolerating("b")], math.inf),
        ([tolerating("")], math.inf),
        ([tolerating("a", 30), tolerating("b")], 30),
        ([tolerating("a", 30), tolerating("b", 20)], 20),
        ([tolerating("a", 0), tolerating("b")], 0),
        ([tolerating("a", -5), tolerating("b")], 0),
        ([tolerating("a", 30), tolerating("b", 20), tolerating("b", 10), tolerating("c", 1)], 20),
        ([tolerating("a", 30, operator="Equal", value="y"), tolerating("")], math.inf),
    ],
)
def test_the_least_patient_toleration_decides(tolerations: list[dict[str, Any]], expected: float) -> None:
    """Of those that are needed: for each taint the first that matches."""
    assert expected == seconds_to_stay(tolerations, TAINTS)


def test_without_taints_everybody_stays() -> None:
    """Also pods without tolerations, and on nodes whose taints are for new pods only."""
    taints = no_execute_taints({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})

    assert math.inf == seconds_to_stay([], taints)
