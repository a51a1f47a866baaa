"""The time a client gives its request."""

import pytest

from tests.testkit.exchange import Ask, exchange

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(
    ("timeout", "why"),
    [("x", 'invalid duration "x"'), ("5", 'missing unit in duration "5"'), ("5d", 'unknown unit "d" in duration "5d"')],
)
def test_a_timeout_must_be_a_duration(timeout: str, why: str) -> None:
    """0, none and a real one are fine."""
    refused, *fine = exchange(
        Ask("GET", f"{MAPS}?timeout={timeout}"), *(Ask("GET", f"{MAPS}?timeout={good}") for good in ("", "0", "1h30m"))
    )

    assert refused.message == f"invalid timeout specified in the request URL - time: {why}"
    assert [answer.status for answer in fine] == [200, 200, 200]
