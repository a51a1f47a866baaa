"""The cells many kinds have in common: names, ages, fields, containers, labels and selectors.

Column modules build their tuples from these. A function that returns a cell is named for what the cell shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apiserver.printing.durations import since
from apiserver.printing.table import Cell, Column
from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.selectors import from_label_selector

NONE = "<none>"
UNSET = "<unset>"


def field(*path: str, default: Any = "") -> Cell:
    """A field's value as it is; `default` where it or something on the way is absent."""

    def cell(obj: ReadOnlyObject, now: datetime) -> Any:
        value: Any = obj
        for step in path:
            value = value.get(step)
            if value is None:
                return default
        return value

    return cell


def text(*path: str, default: str = "") -> Cell:
    """A field's value as text; `default` where it is absent or empty."""
    value_of = field(*path, default="")

    def cell(obj: ReadOnlyObject, now: datetime) -> str:
        return str(value_of(obj, now)) or default

    return cell


def count(*path: str) -> Cell:
    """How many elements a list or map has."""
    value_of = field(*path, default=())
    return lambda obj, now: len(value_of(obj, now))


def joined(*path: str, default: str = "") -> Cell:
    """A list of strings with commas between; `default` where it is empty."""
    value_of = field(*path, default=())
    return lambda obj, now: ",".join(value_of(obj, now)) or default


def ago(*path: str, default: str = "<unknown>") -> Cell:
    """How long ago the instant in a field was; `default` where there is none."""
    value_of = field(*path, default=None)

    def cell(obj: ReadOnlyObject, now: datetime) -> str:
        instant = value_of(obj, now)
        return since(instant, now) if instant else default

    return cell


NAME = Column("Name", "string", field("metadata", "name"), format="name")
AGE = Column("Age", "string", ago("metadata", "creationTimestamp"))
CREATED_AT = Column("Created At", "date", field("metadata", "creationTimestamp", default="0001-01-01T00:00:00Z"))

# A kind the real server has no printer for, and a custom kind without columns of its own.
PLAIN_COLUMNS = (NAME, CREATED_AT)
CUSTOM_COLUMNS = (NAME, Column("Age", "date", ago("metadata", "creationTimestamp")))


def container_columns(*path: str) -> tuple[Column, Column]:
    """The wide columns with the names and images of the containers found under `path`."""
    containers_of = field(*path, default=())
    return (
        Column("Containers", "string", lambda obj, now: _listed(containers_of(obj, now), "name"), priority=1),
        Column("Images", "string", lambda obj, now: _listed(containers_of(obj, now), "image"), priority=1),
    )


def labels(*path: str) -> Cell:
    """A map of labels as `a=b,c=d`."""
    labels_of = field(*path, default=None)
    return lambda obj, now: format_labels(labels_of(obj, now))


def selector(*path: str, empty: str = NONE) -> Cell:
    """A metav1.LabelSelector as text; `empty` where it selects nothing or everything."""
    selector_of = field(*path, default=None)
    return lambda obj, now: str(from_label_selector(selector_of(obj, now))) or empty


def format_labels(pairs: Mapping[str, str] | None) -> str:
    if not pairs:
        return NONE
    return ",".join(f"{k}={pairs[k]}" for k in sorted(pairs))


def limited(shown: Sequence[str], total: int, separator: str = ",") -> str:
    """The first ones joined, and ` + 2 more...` where `total` is larger than their number."""
    listed = separator.join(shown)
    return f"{listed} + {total - len(shown)} more..." if total > len(shown) else listed


def _listed(elements: Sequence[Mapping[str, Any]], key: str) -> str:
    return ",".join(element.get(key, "") for element in elements)
