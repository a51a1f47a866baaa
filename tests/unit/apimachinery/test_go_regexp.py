"""Regular expressions are refused in Go's words and match as Go's do."""

from __future__ import annotations

import subprocess
import sys

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
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"\Qa\E\C", r"invalid escape sequence: `\C`"),
        (r"[\C]", r"invalid escape sequence: `\C`"),
        ("é[b", "missing closing ]: `[b`"),
        ("a*?+", "invalid nested repetition operator: `*?+`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("((a{100}){100}){100}", "invalid repeat count: `{100}`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"\pX", r"invalid character class range: `\pX`"),
        ("(?<=a)", "invalid or unsupported Perl syntax: `(?<=`"),
        ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        (r"\pL{1000}" * 30, "expression too large: `" + r"\pL{1000}" * 30 + "`"),
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
        (r"a\z", "a\n", False),
        (r"^[[:^alpha:]]$", "1", True),
        (r"^\p{Greek}+$", "αβ", True),
        (r"^\Qa.b\E$", "a.b", True),
        (r"^\Qa.b\E$", "axb", False),
        (r"\\C", r"\C", True),
        (r"\Q\C\E", r"\C", True),
        ("a{,2}", "a{,2}", True),
        ("^.$", "é", True),
        ("^.$", "\n", False),
        ("(?i)^É$", "é", True),
        ("^a$", "\ud800", False),
    ],
)
def test_meaning(pattern: str, text: str, matches: bool) -> None:
    """`$` is the very end, classes are ASCII, POSIX classes are known."""
    actual = compile_pattern(pattern).matches(text)

    assert matches == actual


@pytest.mark.timeout(60)
@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(a*)*b$", "^(.*a){20}$"])
def test_time(pattern: str) -> None:
    """No pattern takes time that grows exponentially with the text."""
    actual = compile_pattern(pattern).matches("a" * 4000 + "!")

    assert False is actual


@pytest.mark.parametrize(
    ("pattern", "text", "first", "found"),
    [
        ("[0-9]+", "a1b22", "1", ["1", "22"]),
        ("x", "abc", None, []),
        ("a*", "baac", "", ["", "aa", ""]),
        ("é.", "aéxéy", "éx", ["éx", "éy"]),
        ("", "é", "", ["", ""]),
        ("a|ab", "ab", "a", ["a"]),
    ],
)
def test_find(pattern: str, text: str, first: str | None, found: list[str]) -> None:
    """The leftmost match is found, and an empty one right behind another does not count."""
    compiled = compile_pattern(pattern)

    actual = (compiled.find(text), list(compiled.find_all(text)))

    assert (first, found) == actual


def test_is_loaded_late() -> None:
    """A server that is asked for no pattern does not load the library."""
    program = "import sys, apiserver.main; print([m for m in sys.modules if m.partition('.')[0] in ('re2', '_re2')])"

    actual = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "[]\n" == actual.stdout
