"""Whether an applied configuration is of its type: strict about fields and keys, in structured merge's own words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.patch.server_side_apply.path_elements import step_text
from apiserver.patch.server_side_apply.shapes import DEDUCED, LIST, MAP, Shape, Unnamed
from apiserver.patch.values import go_text
from kubeloop.apimachinery.field import go_float, go_quote

_TWICE = "duplicate entries for key "
_Problem = tuple[str, str]  # path and what is wrong there


def problems_text(shape: Shape, value: Any, *, may_repeat: bool = False) -> str:
    """All that is wrong with a configuration, "" where nothing is.

    `may_repeat`: of an object that is there already, whose lists may have several items of one key.
    """
    problems = _problems(shape, value)
    found = [f"{path}: {why}" if path else why for path, why in problems if not (may_repeat and why.startswith(_TWICE))]
    if len(found) < 2:
        return "".join(found)
    return "\n  ".join(["errors:", *found])


def _problems(shape: Shape, value: Any) -> Iterator[_Problem]:
    form = shape.form
    if form == DEDUCED:
        form = MAP if isinstance(value, dict) else LIST if isinstance(value, list) else form
    if value is None:
        return
    if form == MAP:
        yield from _map_problems(shape, value)
    elif form == LIST:
        yield from _list_problems(shape, value)
    else:
        yield from _scalar_problems(shape.scalar, value)


def _map_problems(shape: Shape, value: Any) -> Iterator[_Problem]:
    if not isinstance(value, dict):
        yield "", f"expected map, got &{{{_printed(value)}}}"
        return
    for name, inner in value.items():
        of = shape.field(name)
        if of is None:
            yield f".{name}", "field not declared in schema"
            return  # what follows in this map is not looked at
        yield from _below(f".{name}", of, inner)


def _list_problems(shape: Shape, value: Any) -> Iterator[_Problem]:
    if not isinstance(value, list):
        yield "", f"expected list, got &{{{_printed(value)}}}"
        return
    has_names = shape.form == LIST and not shape.is_leaf
    items = shape.items if shape.form == LIST else shape
    seen = set()
    for i, item in enumerate(value):
        where = f"[{i}]"
        if has_names:
            try:
                step = shape.step(item)
            except Unnamed as error:
                yield "", f"element {i}: {error}"
                return
            where = step_text(step)
            if step in seen:
                yield "", f"{_TWICE}{where}"
            seen.add(step)
        yield from _below(where, items, item)


def _below(where: str, shape: Shape, value: Any) -> Iterator[_Problem]:
    for path, why in _problems(shape, value):
        yield where + path, why


def _scalar_problems(scalar: str, value: Any) -> Iterator[_Problem]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if scalar == "numeric" and not is_number:
        yield "", f"expected numeric (int or float), got {_go_type(value)}"
    elif scalar == "string" and not isinstance(value, str):
        yield "", f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
    elif scalar == "boolean" and not isinstance(value, bool):
        yield "", f"expected boolean, got &{{{_printed(value)}}}"
    elif isinstance(value, dict | list):
        yield "", f"expected any scalar, got &{{{_printed(value)}}}"


def _printed(value: Any) -> str:
    """As Go's %v, which sees every number of a configuration as a float."""
    return go_text(_floats(value))


def _floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _floats(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_floats(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _go_type(value: Any) -> str:
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    return "bool" if isinstance(value, bool) else "string"


def _go_syntax(value: Any) -> str:
    """As Go's %#v."""
    if isinstance(value, dict):
        inner = ", ".join(f"{go_quote(name)}:{_go_syntax(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "interface {}(nil)" if value is None else go_float(float(value))
