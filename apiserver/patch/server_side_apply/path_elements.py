"""The steps of field paths: how list items are named, how steps are ordered and how errors show them."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any

import orjson

from kubeloop.apimachinery.field import go_float, go_quote

FIELD, KEY, VALUE, INDEX = "f:", "k:", "v:", "i:"

# Items are named alike over and over, conditions by their types and containers by their names: of texts up to this
# length the most recent 10,000 are remembered.
_LONGEST_REMEMBERED = 200

# What Go's encoding/json escapes in strings besides what JSON asks for.
ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def go_json(value: Any) -> str:
    """A scalar as Go's encoding/json writes it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return format(Decimal(repr(value)).quantize(1), "f")  # the shortest digits, then zeros: 18446744073709552000
    text = orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_SUBCLASS).decode()
    return text.translate(ESCAPED) if isinstance(value, str) else text


def key_step(keys: dict[str, Any]) -> str:
    """The step of a list item with these keys, which are sorted."""
    inner = ",".join([f'"{name}":{go_json(value)}' for name, value in keys.items()])
    return f"k:{{{inner}}}"


def single_key_step(name: str, value: Any) -> str:
    """The same of an item with one key."""
    if type(value) is str and len(value) <= _LONGEST_REMEMBERED:
        return _text_key_step(name, value)
    return f'k:{{"{name}":{go_json(value)}}}'


@lru_cache(maxsize=10_000)
def _text_key_step(name: str, value: str) -> str:
    return f'k:{{"{name}":{go_json(value)}}}'


def value_step(value: Any) -> str:
    """The step of an item of a set."""
    return VALUE + go_json(value)


def is_step(step: str) -> bool:
    """Whether this is a kind of step we know; later versions may have others, which are ignored."""
    return step[:2] in (FIELD, KEY, VALUE, INDEX)


def respelled(step: str) -> str:
    """A step in the one spelling we compare by. Raises ValueError."""
    if step.startswith(INDEX):
        return f"{INDEX}{int(step[2:])}"
    if step.startswith(KEY):
        keys = orjson.loads(step[2:])
        if not isinstance(keys, dict):
            raise ValueError(f"no keys of a list item: {step}")
        return key_step({name: keys[name] for name in sorted(keys)})
    return value_step(orjson.loads(step[2:])) if step.startswith(VALUE) else step


def order_of(step: str) -> tuple[Any, ...]:
    """What steps are sorted by: the set's own mark, fields by name, items by their keys' values."""
    return _remembered_order(step) if len(step) <= _LONGEST_REMEMBERED else _order_of(step)


def _order_of(step: str) -> tuple[Any, ...]:
    kind = step[:2]
    if kind == KEY:
        keys = orjson.loads(step[2:])
        return (2, *((name, _scalar_order(value)) for name, value in keys.items()))
    if kind == VALUE:
        return (3, _scalar_order(orjson.loads(step[2:])))
    if kind == INDEX:
        return (4, int(step[2:]))
    return (1 if kind == FIELD else 0, step)


_remembered_order = lru_cache(maxsize=10_000)(_order_of)


def _scalar_order(value: Any) -> tuple[int, Any]:
    """Numbers, then text, then booleans."""
    if isinstance(value, bool):
        return (3, value)
    if isinstance(value, int | float):
        return (1, value)
    return (2, value) if isinstance(value, str) else (4, "")


def path_text(path: tuple[str, ...]) -> str:
    """`.spec.ports[port=80,protocol="TCP"]`."""
    return "".join(map(step_text, path))


def step_text(step: str) -> str:
    kind, rest = step[:2], step[2:]
    if kind == KEY:
        return "[" + ",".join(f"{name}={_value_text(value)}" for name, value in orjson.loads(rest).items()) + "]"
    if kind == VALUE:
        return f"[={_value_text(orjson.loads(rest))}]"
    return f"[{rest}]" if kind == INDEX else f".{rest}"


def _value_text(value: Any) -> str:
    """A scalar, unless a configuration with a wrong type for a key, or foreign entries, are shown as they are."""
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ",".join(map(_value_text, value)) + "]"
    if isinstance(value, dict):
        return "".join(f"{name}={_value_text(value[name])}" for name in sorted(value))
    return "null" if value is None else go_float(value)
