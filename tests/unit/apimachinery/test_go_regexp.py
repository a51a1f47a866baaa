"""Regular expressions are refused in Go's words and match as Go's do."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.go_regexp import PatternError, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("[", "missing closing ]: `[`"),
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("a{3,1}", "invalid repeat count: `{3,1}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
    ],
)
def test_reasons(pattern: str, reason: str) -> None:
    """What Go would not compile is refused, and so is what only Perl knows."""
    with pytest.raises(PatternError) as refusal:
        compile_pattern(pattern)

    assert f"error parsing regexp: {reason}" == str(refusal.value)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^[a-z]*$", "abc", True),
        ("^[a-z]*$", "abc\n", False),
        ("^[[:alpha:]_]+$", "a_B", True),
        (r"^\d+$", "٣", False),
        ("[^]a]", "b", True),
        ("[^]a]", "]", False),
        (r"a\z", "ba", True),
    ],
)
def test_meaning(pattern: str, text: str, matches: bool) -> None:
    """`$` is the very end, classes are ASCII, POSIX classes are known."""
    actual = compile_pattern(pattern).search(text) is not None

    assert matches == actual
