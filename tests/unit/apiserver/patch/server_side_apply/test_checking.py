"""What is said of a configuration that is not of its type."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.patch.server_side_apply.checking import problems_text
from apiserver.patch.server_side_apply.shapes import Shape
from apiserver.schema.nodes import TypeNode


@pytest.mark.parametrize(
    ("node", "value", "text"),
    [
        (TypeNode(type="string"), 1, "expected string, got &value.valueUnstructured{Value:1}"),
        (TypeNode(type="string", format="ipv4"), 1, ""),
        (TypeNode(type="string", format="ipv4"), [1], "expected any scalar, got &{[1]}"),
        (TypeNode(type="string", format="byte"), 1, "expected string, got &value.valueUnstructured{Value:1}"),
        (TypeNode(type="int-or-string"), {"a": 1}, ""),
        (
            TypeNode(type="int-or-string", go_type="intstr.IntOrString"),
            {"a": 1},
            "expected any scalar, got &{map[a:1]}",
        ),
    ],
)
def test_scalars(node: TypeNode, value: Any, text: str) -> None:
    """Text of some format may be any scalar; a custom resource's int-or-string has no type that is published."""
    assert text == problems_text(Shape(node), value)
