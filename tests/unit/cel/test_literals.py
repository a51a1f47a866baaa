"""Literals that no type has room for, and expressions that no stack has room for."""

from __future__ import annotations

import pytest

from kubeloop.cel.environment import Environment
from kubeloop.cel.syntax import CompileError
from kubeloop.cel.values import EvaluationError


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("9223372036854775808", "invalid int literal"),
        ("-9223372036854775809", "invalid int literal"),
        ("9" * 5000, "invalid int literal"),
        ("0x10000000000000000", "invalid int literal"),
        ("18446744073709551616u", "invalid uint literal"),
        ("1e999", "invalid double literal"),
        (r"'\U00110000'", "invalid unicode code point"),
        (r"'\ud800'", "invalid unicode code point"),
    ],
)
def test_what_no_type_holds(source: str, why: str) -> None:
    """Numbers beyond 64 bits and points beyond Unicode are refused where they stand, as cel-go does."""
    with pytest.raises(CompileError, match=f"^ERROR: <input>:1:1: {why}\n"):
        Environment({}).compile(source)


@pytest.mark.parametrize(
    ("source", "value"),
    [("-9223372036854775808", -(2**63)), ("18446744073709551615u", 2**64 - 1), (r"'\U0001F9E8'", "\U0001f9e8")],
)
def test_the_largest_that_fit(source: str, value: object) -> None:
    """The last ones that have room are read."""
    assert value == Environment({}).compile(source).evaluate({})


@pytest.mark.parametrize(
    "source",
    [
        "(" * 3000,
        "!" * 3000 + "true",
        "-" * 3000 + "1",
        "[" * 90 + "]" * 90,
        "1 + " * 3000 + "1",
        "true && " * 3000 + "true",
    ],
)
def test_endless_expressions(source: str) -> None:
    """However deep an expression nests, and however long a chain is, it is refused or evaluated: nothing else."""
    try:
        Environment({}).compile(source).evaluate({})
    except (CompileError, EvaluationError) as refused:
        assert "ERROR" in str(refused) or "limit" in str(refused)
