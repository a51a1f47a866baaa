"""Dropping what a structural schema does not know."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.schema.pruning import pruned
from kubeloop.apimachinery.meta import Object


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "object", "properties": {"a": {}}}, {"a": 1, "b": 2}, {"a": 1}),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"b": {"c": 1}}, {"b": {"c": 1}}),
        ({"type": "array", "items": {"type": "object"}}, [{"a": 1}, 2], [{}, 2]),
        ({"type": "object", "additionalProperties": True}, {"a": {"b": 1}, "c": 2}, {"a": {}, "c": 2}),
        ({"type": "object", "x-kubernetes-embedded-resource": True}, {"kind": "K", "b": 1}, {"kind": "K"}),
    ],
)
def test_pruning(schema: Object, value: Any, expected: Any) -> None:
    """What the schema does not know goes, unless it says that it may stay."""
    assert expected == pruned(value, schema)
