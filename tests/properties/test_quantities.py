"""Quantities agree with exact fractions, however they are spelled."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kubeloop.apimachinery import quantity
from kubeloop.apimachinery.quantity import MILLI, QuantityError

FACTORS = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
    "e3": Fraction(1000),
    "E3": Fraction(1000),
    "e-3": Fraction(1, 1000),
    "e+6": Fraction(10**6),
}
DIGITS = st.text("0123456789", min_size=1, max_size=7)
SPELLED = st.tuples(
    st.sampled_from(("", "+", "-")),
    DIGITS,
    st.one_of(st.just(""), DIGITS.map(".{}".format)),
    st.sampled_from(sorted(FACTORS)),
)
TEXTS = SPELLED.map("".join)


def exactly(text: tuple[str, str, str, str]) -> Fraction:
    sign, whole, fraction, suffix = text
    amount = rounded(Fraction(whole + fraction) * FACTORS[suffix], NANO)
    if suffix.endswith("i"):
        amount = min(amount, Fraction(2**63 - 1))  # the only bound there is
    return -amount if sign == "-" else amount


def rounded(amount: Fraction, unit: Fraction) -> Fraction:
    """To a multiple of `unit`, away from zero."""
    sign = -1 if amount < 0 else 1
    return sign * math.ceil(abs(amount) / unit) * unit


NANO = Fraction(1, 10**9)


def amount_of(found: quantity.Quantity) -> Fraction:
    return Fraction(found.unscaled) * Fraction(10) ** found.exponent


@given(SPELLED)
def test_a_text_is_its_number(text: tuple[str, str, str, str]) -> None:
    """Exactly, but for what is finer than a billionth, which is rounded away from zero, and large binary ones."""
    assert exactly(text) == amount_of(quantity.parse("".join(text)))


@given(SPELLED)
def test_the_canonical_form(text: tuple[str, str, str, str]) -> None:
    """It is the same amount, of the same style, and canonical itself."""
    shown = quantity.canonical("".join(text))

    assert amount_of(quantity.parse("".join(text))) == amount_of(quantity.parse(shown))
    assert shown == quantity.canonical(shown)


@given(SPELLED, SPELLED)
def test_comparing(left: tuple[str, str, str, str], right: tuple[str, str, str, str]) -> None:
    """Quantities are ordered as their amounts are; equal ones hash alike."""
    a, b = quantity.parse("".join(left)), quantity.parse("".join(right))
    one, other = exactly(left), exactly(right)

    assert (one < other, one == other) == (a < b, a == b)
    if one == other:
        assert hash(a) == hash(b)


@given(SPELLED, SPELLED)
def test_sums_and_differences(left: tuple[str, str, str, str], right: tuple[str, str, str, str]) -> None:
    """They are exact, and what was added can be taken away again."""
    a, b = quantity.parse("".join(left)), quantity.parse("".join(right))

    assert amount_of(a) + amount_of(b) == amount_of(a + b)
    assert amount_of(a) - amount_of(b) == amount_of(a - b)
    assert (a + b) - b == a


@given(TEXTS)
def test_rounding(text: str) -> None:
    """Whole and thousandths are rounded away from zero, within 64 bits."""
    found = quantity.parse(text)
    exact = amount_of(found)
    assume(abs(exact) < 10**15)

    assert int(rounded(exact, Fraction(1))) == found.value()
    assert int(rounded(exact, Fraction(1, 1000)) * 1000) == found.milli_value()
    assert rounded(exact, Fraction(1, 1000)) == amount_of(found.round_up(MILLI))


@given(TEXTS, st.sampled_from(("x", " ", "--", "i", "KiB", "e", "1.", "mm", "Kii", "%")))
def test_what_is_no_quantity(text: str, spoiling: str) -> None:
    """A text with something else behind it is refused, in one of three ways, or is a quantity again."""
    try:
        again = quantity.canonical(text + spoiling)
    except QuantityError as error:
        assert str(error) in (quantity.WRONG_FORMAT, quantity.WRONG_NUMBER, quantity.WRONG_SUFFIX)
    else:
        assert again == quantity.canonical(again)


@pytest.mark.parametrize("text", ["", " 1", "1 ", "--", "+-1", "..", "1..2", "1.2.3", "Ei", "1e1e1", "0x1", "1_0", "١"])
def test_what_never_is_one(text: str) -> None:
    """Blanks, signs alone and other scripts' digits among them."""
    with pytest.raises(QuantityError):
        quantity.parse(text)
