"""Numbers in texts, as Go's strconv reads them."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.numbers import NumError, parse_int, parse_uint


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("007", 7), ("18446744073709551615", 2**64 - 1), ("0" * 5000 + "1", 1)]
)
def test_unsigned(text: str, number: int) -> None:
    """Digits are a number, however many zeros lead."""
    assert number == parse_uint(text)


@pytest.mark.parametrize(("text", "number"), [("-9223372036854775808", -(2**63)), ("+5", 5), ("-0", 0)])
def test_signed(text: str, number: int) -> None:
    """A sign may stand in front of a signed one."""
    assert number == parse_int(text)


@pytest.mark.parametrize("text", ["", "-1", "+1", "1_0", "²", "٣", " 1", "0x1"])
def test_no_number(text: str) -> None:
    """Anything but ASCII digits is refused, whatever Python takes for a digit."""
    with pytest.raises(NumError, match=r"^strconv.ParseUint: parsing .*: invalid syntax$"):
        parse_uint(text)


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775809", "9" * 5000, "-" + "9" * 5000])
def test_too_large(text: str) -> None:
    """More than 64 bits is out of range, and thousands of digits are no error of ours."""
    with pytest.raises(NumError, match=f'^strconv.ParseInt: parsing "{text}": value out of range$'):
        parse_int(text)


def test_a_quoted_text_is_escaped() -> None:
    """What was sent is shown as Go quotes it."""
    with pytest.raises(NumError) as caught:
        parse_uint('"\n')

    assert 'strconv.ParseUint: parsing "\\"\\n": invalid syntax' == str(caught.value)
