"""How evictions and tokens are refused that contradict themselves or name nothing."""

from __future__ import annotations

from tests.testkit.exchange import Ask, exchange

NAMESPACE = "/api/v1/namespaces/default"
MADE = (
    Ask("POST", "/api/v1/namespaces", {"metadata": {"name": "default"}}),
    Ask("POST", f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}}),
    Ask(
        "POST", f"{NAMESPACE}/pods", {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    ),
)


def test_an_eviction_is_rehearsed_as_its_url_says() -> None:
    """Where its body says something else, neither is done."""
    eviction = {"metadata": {"name": "a"}, "deleteOptions": {"dryRun": ["x"]}}
    *_, refused, alone = exchange(
        *MADE,
        Ask("POST", f"{NAMESPACE}/pods/a/eviction?dryRun=All", eviction),
        Ask("POST", f"{NAMESPACE}/pods/a/eviction", eviction),
    )

    assert 500 == refused.status
    assert "Non-matching dry-run options in request and content: [All] and [x]" == refused.message
    assert 422 == alone.status


def test_a_token_is_bound_to_something_with_a_name() -> None:
    """A reference that lacks one leads nowhere, rather than to something that is missing."""
    asked = {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1"}}}
    *_, refused = exchange(*MADE, Ask("POST", f"{NAMESPACE}/serviceaccounts/default/token", asked))

    assert (400, "Name parameter required.") == (refused.status, refused.message)
