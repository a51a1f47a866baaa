"""Prometheus' text format, for what is counted where a request must not wait: plain numbers, put into words when asked.

A part of a process that counts keeps its own numbers and hands out Families; whoever serves /metrics gathers them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"

_ESCAPED = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: `name + suffix`, its labels, its value."""

    labels: Mapping[str, str]
    value: float
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """What belongs to one name."""

    name: str
    kind: str
    help: str
    samples: Sequence[Sample] = field(default=())


class Histogram:
    """Observations sorted into buckets; `bounds` are the upper ends, the last bucket has none."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        # Nearly everything timed is over within the first bound.
        self.counts[0 if value <= self.bounds[0] else bisect_left(self.bounds, value)] += 1
        self.total += value

    def samples(self, labels: Mapping[str, str], bounds: Sequence[float] | None = None) -> Iterator[Sample]:
        """The lines of this histogram, or of a coarser one whose `bounds` are among its own."""
        shown = set(self.bounds if bounds is None else bounds)
        count = 0
        for bound, more in zip(self.bounds, self.counts, strict=False):
            count += more
            if bound in shown:
                yield Sample({**labels, "le": number(bound)}, count, "_bucket")
        count += self.counts[-1]
        yield Sample({**labels, "le": "+Inf"}, count, "_bucket")
        yield Sample(labels, self.total, "_sum")
        yield Sample(labels, count, "_count")


def text(families: Iterable[Family]) -> str:
    """The exposition of all families, sorted by name; those without samples are left out."""
    return "".join(_family(one) for one in sorted(families, key=lambda family: family.name) if one.samples)


def number(value: float) -> str:
    """As Go writes it: whole numbers without a fraction."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _family(family: Family) -> str:
    described = family.help.replace("\\", "\\\\").replace("\n", "\\n")
    lines = [f"# HELP {family.name} {described}", f"# TYPE {family.name} {family.kind}"]
    lines += [f"{family.name}{one.suffix}{_labels(one.labels)} {number(one.value)}" for one in family.samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    # Go sorts labels by name, but for `le`, which it writes last.
    names = sorted(labels, key=lambda name: (name == "le", name))
    return "{" + ",".join(f'{name}="{labels[name].translate(_ESCAPED)}"' for name in names) + "}"
