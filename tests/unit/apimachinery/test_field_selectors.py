"""Field selectors: text, matching, escapes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeloop.apimachinery import field_selectors
from kubeloop.apimachinery.selectors import SelectorError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("metadata.name=a", True),
        ("metadata.name==a", True),
        ("metadata.name!=a", False),
        ("spec.nodeName=", True),
        ("metadata.name=a,metadata.name=b", False),
        ("metadata.name=a,,", True),
    ],
)
def test_matching(text: str, expected: bool) -> None:
    """Terms are joined by and; a field the object lacks is empty."""
    assert expected == field_selectors.parse(text).matches({"metadata.name": "a"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nonsense", "invalid selector: 'nonsense'; can't understand 'nonsense'"),
        ("a=1,b in (c)", "invalid selector: 'a=1,b in (c)'; can't understand 'b in (c)'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\q", r"invalid field selector: invalid escape sequence: \q"),
        ("a=\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_malformed_text_is_refused(text: str, expected: str) -> None:
    """The message says what cannot be understood."""
    with pytest.raises(SelectorError) as refused:
        field_selectors.parse(text)

    assert expected == str(refused.value)


@given(st.text())
def test_any_value_can_be_escaped(value: str) -> None:
    """An escaped value means itself, whatever is in it."""
    selector = field_selectors.parse(f"a={field_selectors.escape(value)}")

    assert value == selector.exact_value("a")
    assert ("a",) == selector.fields
