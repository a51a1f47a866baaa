"""Field errors print values as Go prints them."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.apimachinery import field


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", '"a"'),
        ('say "hi"\n\\', r'"say \"hi\"\n\\"'),
        ("\x01\x7f", r'"\x01\x7f"'),
        ("ä\u2028", '"ä\\u2028"'),
        (True, "true"),
        (3, "3"),
        (None, "null"),
        (2.0, "2"),
        (0.5, "0.5"),
        (1e6, "1e+06"),
        (999999.5, "999999.5"),
        (0.00001, "1e-05"),
        (1234567.5, "1.2345675e+06"),
        ({"a": ["<", None]}, '{"a":["\\u003c",null]}'),
    ],
)
def test_values_are_quoted_in_the_words_of_go(value: Any, expected: str) -> None:
    """Text is quoted with %q, numbers plainly, everything else as encoding/json writes it."""
    assert expected == field.go_value(value)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (field.required("a"), "a: Required value"),
        (field.invalid("a", 0, "must be positive"), "a: Invalid value: 0: must be positive"),
        (field.not_supported("a", "x", ["A", "B"]), 'a: Unsupported value: "x": supported values: "A", "B"'),
        (field.too_long("a", 1), "a: Too long: may not be more than 1 byte"),
        (field.too_many("a", 3, 2), "a: Too many: 3: must have at most 2 items"),
        (field.too_few("a", 0, 1), "a: Too few: 0: must have at least 1 item"),
    ],
)
def test_errors_read_as_the_server_writes_them(error: field.FieldError, expected: str) -> None:
    """The path comes first, then the kind of error, the value and the detail."""
    assert expected == str(error)
