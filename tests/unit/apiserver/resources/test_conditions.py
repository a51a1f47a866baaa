"""Conditions in the modern form."""

from __future__ import annotations

import pytest

from apiserver.resources.conditions import check_conditions
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.meta import Object

CONDITION: Object = {"type": "T", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("change", "refusals"),
    [
        ({}, []),
        ({"observedGeneration": -1}, ["Invalid value: -1: must be greater than or equal to zero"]),
        ({"reason": ""}, ["Required value"]),
        (
            {"type": ""},
            [
                'Invalid value: "": name part must be non-empty',
                "Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must "
                "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
                "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ],
        ),
    ],
)
def test_what_a_condition_says(change: Object, refusals: list[str]) -> None:
    """An empty type is an ill-formed one, not one that is missing."""
    errors: list[FieldError] = []

    check_conditions([{**CONDITION, **change}], "status.conditions", errors)

    assert refusals == [error.body for error in errors]
