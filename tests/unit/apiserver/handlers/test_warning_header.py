"""Warning headers carry any text safely."""

from __future__ import annotations

import pytest

from apiserver.handlers.response import warning_header


@pytest.mark.parametrize("character", ["\n", "\r", "\0", "\x7f", "\x1b"])
def test_control_characters_cannot_end_a_header(character: str) -> None:
    """A field name out of a body stands in the warning; the answer must go out whatever it is."""
    _, value = warning_header(f'unknown field "a{character}b"')

    assert b'299 - "unknown field \\"a b\\""' == value
