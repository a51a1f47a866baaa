"""Objects as a `meta.k8s.io` Table or as PartialObjectMetadata: what `kubectl get` asks for.

The store and the watch handler call `table` and `partial_metadata`; which columns a kind has is data in
`apiserver/resources/<family>/columns.py`. Negotiation (which `Accept` means a Table) is the handlers' business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubeloop.apimachinery.errors import BadRequest
from kubeloop.apimachinery.field import go_value
from kubeloop.apimachinery.meta import ReadOnlyObject

GROUP = "meta.k8s.io"
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
INCLUDE_OBJECT = ("Metadata", "Object", "None")

Cell = Callable[[ReadOnlyObject, datetime], Any]
Convert = Callable[[ReadOnlyObject], ReadOnlyObject]
Show = Callable[[ReadOnlyObject], ReadOnlyObject | None]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a kind. `priority` 1 is shown by `-o wide` only.

    `cell` computes the value from an object in the version it is stored in, and from now; it must bear an object with
    nothing but metadata (the bookmarks of a watch). At most one column of a kind has `row_conditions` (the Completed
    mark of finished pods) and at most one has `order`, by which the rows of a list are sorted instead of by name.
    One that is not `defined` is in the rows alone: what upstream prints without telling of it.
    """

    name: str
    type: str
    cell: Cell
    format: str = ""
    priority: int = 0
    description: str = ""
    row_conditions: Callable[[ReadOnlyObject], Sequence[Mapping[str, str]]] | None = None
    order: Callable[[ReadOnlyObject], Any] | None = None
    defined: bool = True

    def definition(self) -> dict[str, Any]:
        """The TableColumnDefinition."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def table(
    columns: Sequence[Column],
    objects: Sequence[ReadOnlyObject],
    list_meta: Mapping[str, Any],
    now: datetime,
    *,
    include_object: str = "",
    version: str = "v1",
    headers: bool = True,
    convert: Convert | None = None,
) -> dict[str, Any]:
    """The Table of `objects` in `version` (v1 or v1beta1).

    Cells and metadata are those of the objects as they are stored, as in the real server, which prints its internal
    version; `convert` brings an object that is shown whole (include_object "Object") into the version asked for.

    `list_meta` is the list's metadata, or `{"resourceVersion": …}` of the one object. `headers=False` leaves the column
    definitions null: every event of a watch but the first. With include_object "Object" the objects must carry kind
    and apiVersion. Raises BadRequest where include_object is none of INCLUDE_OBJECT nor empty.
    """
    check_include_object(include_object)
    order = next((column.order for column in columns if column.order), None)
    shown = _shown_as(include_object, version, convert)
    return {
        "kind": "Table",
        "apiVersion": f"{GROUP}/{version}",
        "metadata": dict(list_meta),
        "columnDefinitions": [column.definition() for column in columns if column.defined] if headers else None,
        "rows": _rows(columns, sorted(objects, key=order) if order else objects, now, shown),
    }


def check_include_object(include_object: str) -> None:
    """Refuse a value of ?includeObject= that nobody knows, in the real server's words."""
    if include_object and include_object not in INCLUDE_OBJECT:
        raise BadRequest(
            f"Unable to convert to Table as requested: includeObject: Invalid value: {go_value(include_object)}: "
            "must be 'Metadata', 'Object', 'None', or empty"
        )


def partial_metadata(obj: ReadOnlyObject, version: str = "v1") -> dict[str, Any]:
    """An object's metadata alone."""
    metadata = obj.get("metadata") or {}
    if TEMPLATE_GENERATION in (metadata.get("annotations") or ()):
        metadata = _without_template_generation(metadata)
    return {"kind": "PartialObjectMetadata", "apiVersion": f"{GROUP}/{version}", "metadata": metadata}


def _without_template_generation(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """A DaemonSet's old field lives on as an annotation of the whole object only."""
    rest = {name: text for name, text in metadata["annotations"].items() if name != TEMPLATE_GENERATION}
    return {key: value for key, value in {**metadata, "annotations": rest}.items() if key != "annotations" or rest}


def partial_metadata_list(
    objects: Iterable[ReadOnlyObject], list_meta: Mapping[str, Any], version: str = "v1"
) -> dict[str, Any]:
    """The metadata of every object of a list."""
    items = [partial_metadata(obj, version) for obj in objects]
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"{GROUP}/{version}",
        "metadata": dict(list_meta),
        "items": items or None,  # null for none: the real server appends to a nil slice
    }


def _rows(
    columns: Sequence[Column], objects: Sequence[ReadOnlyObject], now: datetime, shown: Show
) -> list[dict[str, Any]]:
    cells = [column.cell for column in columns]
    conditions_of = next((column.row_conditions for column in columns if column.row_conditions), None)
    rows: list[dict[str, Any]] = []
    for obj in objects:
        row: dict[str, Any] = {"cells": [cell(obj, now) for cell in cells]}
        if conditions_of is not None and (conditions := conditions_of(obj)):
            row["conditions"] = conditions
        row["object"] = shown(obj)
        rows.append(row)
    return rows


def _shown_as(include_object: str, version: str, convert: Convert | None) -> Show:
    if include_object == "Object":
        return convert or (lambda obj: obj)
    return (lambda obj: None) if include_object == "None" else (lambda obj: partial_metadata(obj, version))
