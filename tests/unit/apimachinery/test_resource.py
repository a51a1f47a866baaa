"""Resources, and how one comes of a CustomResourceDefinition."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.apimachinery.resource import Resource


def a_definition(scope: str = "Namespaced") -> dict[str, Any]:
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "widgets", "kind": "Widget"},
            "scope": scope,
            "versions": [{"name": "v1beta1", "storage": False}, {"name": "v1", "storage": True}],
        },
    }


def test_a_definition_says_what_it_defines() -> None:
    """The version that is stored, unless another is asked for; the scope decides over namespaces."""
    assert Resource("example.com", "v1", "widgets", "Widget") == Resource.defined_by(a_definition())
    assert "v1beta1" == Resource.defined_by(a_definition(), "v1beta1").version
    assert not Resource.defined_by(a_definition("Cluster")).namespaced


def test_a_version_that_is_not_defined_is_refused() -> None:
    """The message names both."""
    with pytest.raises(ValueError, match=r"widgets\.example\.com has no version 'v2'"):
        Resource.defined_by(a_definition(), "v2")
