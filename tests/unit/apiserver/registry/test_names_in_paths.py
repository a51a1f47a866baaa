"""Names in URLs that no object can have."""

import pytest

from tests.testkit.exchange import Ask, exchange

PATH = "/api/v1/namespaces/default/configmaps/a%25b"


@pytest.mark.parametrize(
    "ask",
    [
        Ask("GET", PATH),
        Ask("PUT", PATH, {"metadata": {"name": "a%b"}}),
        Ask("PATCH", PATH, {}),
        Ask("DELETE", PATH),
    ],
    ids=lambda ask: ask.method,
)
def test_they_are_no_names(ask: Ask) -> None:
    """Whether such an object exists is not even looked for."""
    refused = exchange(ask)[0]

    assert (refused.status, refused.message) == (400, "Name parameter invalid: \"a%b\": may not contain '%'")
