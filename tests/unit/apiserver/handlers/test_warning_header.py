"""Warnings carry text that clients and webhooks sent: it must neither end the header nor fill it."""

from __future__ import annotations

import pytest

from apiserver.handlers.warning_headers import MAX_CHARACTERS, MAX_CUT_CHARACTERS, warning_headers


def texts(*warnings: str) -> list[str]:
    return [value.decode() for _, value in warning_headers(warnings)]


@pytest.mark.parametrize("character", ["\r", "\n", "\0", "\t", "\x7f"])
def test_a_warning_with_control_characters_is_left_out(character: str) -> None:
    """The real server drops it, and the others stay."""
    assert texts(f'unknown field "a{character}b"', "fine") == ['299 - "fine"']


def test_a_warning_is_quoted() -> None:
    """Quotes and backslashes are escaped, everything else stays as it is."""
    assert texts('unknown field "ä\\"') == ['299 - "unknown field \\"ä\\\\\\""']


def test_long_warnings_are_cut_once_there_are_too_many() -> None:
    """Up to the limit nothing is cut; beyond it everything is, and what then goes over the limit is left out."""
    long = "x" * 1000
    assert texts(*[long] * 4) == [f'299 - "{long}"'] * 4
    cut = f'299 - "{long[:MAX_CUT_CHARACTERS]}"'
    assert texts(*[long] * 5, "short") == [*[cut] * 5, '299 - "short"']
    assert texts(*[long] * 50) == [cut] * (MAX_CHARACTERS // MAX_CUT_CHARACTERS)
