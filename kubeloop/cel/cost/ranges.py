"""Ranges of sizes and costs, from the least to the most there can be. Sums and products stop at 2^64 - 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

MOST = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Range:
    """A size (of a text in characters, of a list or map in elements) or a cost in CEL's units."""

    least: int
    most: int

    @classmethod
    def exactly(cls, value: int) -> Range:
        return cls(value, value)

    def __add__(self, other: Range) -> Range:
        return Range(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def __mul__(self, other: Range) -> Range:
        return Range(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def scaled(self, factor: float) -> Range:
        """Times a factor, rounded up."""
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))

    def or_else(self, other: Range) -> Range:
        """Whatever either may be."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def _scaled(value: int, factor: float) -> int:
    product = float(value) * factor
    return MOST if product >= 2.0**64 else min(math.ceil(product), MOST)


UNKNOWN = Range(0, MOST)
NOTHING, ONE = Range.exactly(0), Range.exactly(1)
# Before anything was found; `or_else` makes it what is found first.
NONE_YET = Range(MOST, 0)
