"""Quantities: spellings, amounts and arithmetic."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeloop.apimachinery import quantity
from kubeloop.apimachinery.quantity import MILLI, QuantityError, parse

DECIMAL_TEXTS = st.builds(
    lambda sign, number, suffix: f"{sign}{number}{suffix}",
    st.sampled_from(["", "-", "+"]),
    st.decimals(min_value=0, max_value=10**6, places=3, allow_nan=False).map(lambda number: f"{number:f}"),
    st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "e3", "E-3", "u"]),
)
ANY_TEXT = st.text(alphabet="0123456789.+-eEinumkKMGTP x", max_size=12)


def amount(text: str) -> Fraction:
    parsed = parse(text)
    return Fraction(parsed.unscaled) * Fraction(10) ** parsed.exponent


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", "0"),
        ("-0Mi", "0"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("0.5", "500m"),
        ("1.5k", "1500"),
        ("1000P", "1E"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.1Ki", "102400m"),
        ("1.5Ki", "1536"),
        ("1e4", "10e3"),
        ("100e1", "1e3"),
        ("5e-1", "500e-3"),
        ("01", "01"),
        ("5.", "5."),
        ("+1", "+1"),
        ("100.001", "100.001"),
        ("1e+3", "1e+3"),
        ("1E3", "1E3"),
        ("Gi", "0"),
        (".", "0"),
        ("-", "0"),
        ("e3", "0"),
        (" 1 ", "1"),
        ("8Ei", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775808"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
    ],
)
def test_spellings_the_server_answers_with(text: str, expected: str) -> None:
    """The largest suffix without a fraction, unless the spelling may stay; nothing is finer than a billionth."""
    assert expected == quantity.canonical(text)


@pytest.mark.parametrize(("text", "expected"), [("1n", "1m"), ("1500u", "2m"), ("-0.1n", "-1m"), ("1e-6", "1e-3")])
def test_resource_lists_round_up_to_thousandths(text: str, expected: str) -> None:
    """Rounding goes away from zero and keeps the style of the suffix."""
    assert expected == quantity.canonical(text, MILLI)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", quantity.WRONG_FORMAT),
        ("1 Gi", quantity.WRONG_FORMAT),
        ("1gi", quantity.WRONG_FORMAT),
        ("1.2.3", quantity.WRONG_FORMAT),
        ("1e3k", quantity.WRONG_FORMAT),
        ("٣", quantity.WRONG_FORMAT),
        ("1K", quantity.WRONG_SUFFIX),
        ("1e", quantity.WRONG_SUFFIX),
        ("--1", quantity.WRONG_SUFFIX),
        ("1e99999999999999999999", quantity.WRONG_SUFFIX),
        ("Ei", quantity.WRONG_NUMBER),
    ],
)
def test_what_is_no_quantity_is_refused(text: str, expected: str) -> None:
    """There are three messages: for the form, for the number and for the suffix."""
    with pytest.raises(QuantityError) as refused:
        parse(text)

    assert expected == str(refused.value)


@given(ANY_TEXT)
def test_any_text_is_a_quantity_or_refused(text: str) -> None:
    """Whatever is accepted can be written, read again, and means the same."""
    try:
        parsed = parse(text)
    except QuantityError:
        return

    if abs(parsed.exponent) < 18:
        assert parsed == parse(str(parsed))


@given(DECIMAL_TEXTS, DECIMAL_TEXTS)
def test_arithmetic_is_exact(left: str, right: str) -> None:
    """Sums, differences and comparisons are those of the exact numbers."""
    total, difference = parse(left) + parse(right), parse(left) - parse(right)

    assert amount(left) + amount(right) == Fraction(total.unscaled) * Fraction(10) ** total.exponent
    assert amount(left) - amount(right) == Fraction(difference.unscaled) * Fraction(10) ** difference.exponent
    assert (amount(left) < amount(right)) == (parse(left) < parse(right))
    assert (amount(left) == amount(right)) == (parse(left) == parse(right))


@given(DECIMAL_TEXTS)
def test_whole_numbers_are_rounded_away_from_zero(text: str) -> None:
    """value() and milli_value() are never nearer to zero than the amount, and less than one unit off."""
    for found, exact in ((quantity.value(text), amount(text)), (quantity.milli_value(text), amount(text) * 1000)):
        assert abs(exact) <= abs(found) < abs(exact) + 1


def test_a_sum_takes_the_style_of_its_first_amount() -> None:
    """Zero has no style of its own."""
    assert "1025Mi" == str(parse("1Gi") + parse("1Mi"))
    assert "1Mi" == str(parse("0") + parse("1Mi"))
    assert "1100m" == str(parse("1") + parse("100m"))


@pytest.mark.parametrize("text", ["1e2000000000", "-1e2000000000", "1e-2147483648"])
def test_absurd_exponents_cost_nothing(text: str) -> None:
    """An exponent of billions is read, compared, added and capped without being written out."""
    huge = parse(text)

    assert huge != parse("1")
    assert huge + parse("1") != parse("2")
    assert abs(huge.value()) in (1, 2**63 - 1)


def test_equal_amounts_hash_alike() -> None:
    """1, 1000m and 1e0 are one key."""
    assert 1 == len({parse("1"), parse("1000m"), parse("1e0")})
    assert quantity.is_equal("1Gi", "1073741824")
