"""Go's durations."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.go_duration import duration_error, duration_seconds, duration_text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("5s", 5),
        ("1m0s", 60),
        ("1h15m30.5s", 4530.5),
        ("-2m", -120),
        ("+.5s", 0.5),
        ("100ms", 0.1),
        ("1.s", 1),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    """Numbers with units, one after the other."""
    assert "" == duration_error(text)
    assert seconds == pytest.approx(duration_seconds(text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", 'invalid duration ""'),
        ("abc", 'invalid duration "abc"'),
        ("5", 'missing unit in duration "5"'),
        ("5x", 'unknown unit "x" in duration "5x"'),
        ("5s3", 'missing unit in duration "5s3"'),
        (".s", 'invalid duration ".s"'),
        ("-", 'invalid duration "-"'),
    ],
)
def test_what_is_no_duration(text: str, said: str) -> None:
    """In Go's words."""
    assert said == duration_error(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.25, "250ms"),
        (-1.5, "-1.5s"),
        (60, "1m0s"),
        (90.5, "1m30.5s"),
        (3600, "1h0m0s"),
        (86_461, "24h1m1s"),
    ],
)
def test_durations_are_spelled_as_go_does(seconds: float, text: str) -> None:
    """The largest unit that is needed, and all below it."""
    assert text == duration_text(seconds)
    assert seconds == duration_seconds(text)
