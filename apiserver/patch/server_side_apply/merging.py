"""Merging an applied configuration into an object: what it states wins, what it leaves out stays."""

from __future__ import annotations

from typing import Any

from apiserver.patch.server_side_apply.shapes import DEDUCED, LIST, MAP, Shape

ABSENT: Any = object()


def merge(shape: Shape, live: Any, applied: Any) -> Any:
    """The two values in one. ABSENT stands for a value that is not there."""
    if applied is ABSENT or live is ABSENT:
        return live if applied is ABSENT else applied
    form = MAP if shape.form == DEDUCED and isinstance(applied, dict) else shape.form
    if shape.is_leaf or form == DEDUCED or (not live and not applied):
        return applied
    if form == LIST:
        return _lists(shape, live or [], applied or [])
    return _maps(shape, live if isinstance(live, dict) else {}, applied or {})


def _maps(shape: Shape, live: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    merged = dict(live)
    for name, value in applied.items():
        inner = shape.field(name)
        if inner is not None:
            merged[name] = merge(inner, live.get(name, ABSENT), value)
    return merged


def _lists(shape: Shape, live: list[Any], applied: list[Any]) -> list[Any]:
    """Items of both lists, by name: in the order applied, those only the object has where they stood among them."""
    left, right = [shape.step(item) for item in live], [shape.step(item) for item in applied]
    live_items = _unique(left, live)
    applied_items = dict(zip(right, applied, strict=True))
    shared = iter([step for step in right if step in live_items])
    wanted = next(shared, None)
    taken: set[str] = set()
    merged: list[Any] = []

    def take(ours: Any, theirs: Any) -> None:
        merged.append(merge(shape.items, ours, theirs))

    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and j < len(right):
            step = left[i]
            if step == right[j]:
                taken.add(step)
                take(live_items[step], applied_items[step])
                i, j, wanted = i + 1, j + 1, next(shared, None)
                continue
            if step in applied_items and wanted is not None and wanted != step:
                i += 1  # shared, but not the one whose turn it is: it comes where the configuration has it
                continue
        if i < len(left):
            step = left[i]
            if step not in applied_items:
                take(live[i], ABSENT)
                i += 1
                continue
            if step in taken:
                i += 1
        if j < len(right):
            step = right[j]
            taken.add(step)
            take(live_items.get(step, ABSENT), applied_items[step])
            j += 1
            if wanted == step:
                wanted = next(shared, None)
    return merged


def _unique(steps: list[str], items: list[Any]) -> dict[str, Any]:
    """Items by name; duplicates are not merged with anything."""
    found: dict[str, Any] = {}
    for step, item in zip(steps, items, strict=True):
        found[step] = None if step in found else item
    return found
