"""Values are what frozen dataclasses are, but for who holds them so."""

from __future__ import annotations

from dataclasses import replace

from kubeloop.apimachinery.values import value


@value
class Spot:
    x: int
    y: int = 0


def test_values_are_told_apart_by_their_fields():
    """They compare and hash by them, so they can be keys."""
    assert Spot(1) == Spot(1, 0)
    assert Spot(1) != Spot(2)
    assert {Spot(1), Spot(1, 0), Spot(1, 2)} == {Spot(1), Spot(1, 2)}


def test_a_changed_value_is_another_one():
    """`replace` leaves the first as it was."""
    spot = Spot(1)

    moved = replace(spot, y=5)

    assert Spot(1, 5) == moved
    assert Spot(1, 0) == spot
