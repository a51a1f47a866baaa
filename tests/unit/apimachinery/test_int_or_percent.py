"""Numbers and percentages."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery import int_or_percent


@pytest.mark.parametrize(
    ("value", "round_up", "expected"),
    [(3, True, 3), ("25%", True, 3), ("25%", False, 2), ("0%", True, 0), ("100%", False, 10), ("150%", False, 15)],
)
def test_percentages_are_scaled(value: int | str, round_up: bool, expected: int) -> None:
    """Of ten replicas a quarter is two or three, as the caller wants it rounded."""
    assert expected == int_or_percent.scaled(value, 10, round_up=round_up)


@pytest.mark.parametrize("value", ["3", "x%", "%", ""])
def test_other_text_is_refused(value: str) -> None:
    """Text without a percent sign is no number."""
    with pytest.raises(ValueError, match="invalid value for IntOrString"):
        int_or_percent.scaled(value, 10, round_up=True)


def test_percentages_are_recognised() -> None:
    """Only digits and a percent sign make a percentage."""
    assert [True, False, False] == [int_or_percent.is_percent(value) for value in ("25%", 25, "x")]
    assert 25 == int_or_percent.percent("25%")
