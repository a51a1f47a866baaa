"""Owner references that are named twice."""

from tests.testkit.exchange import Ask, exchange

MAPS = "/api/v1/namespaces/default/configmaps"
OWNER = {"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": "1"}
NAMED_ALIKE = {**OWNER, "name": "t"}
FOUND = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)


def test_each_is_kept_once() -> None:
    """Whoever repeats himself is told; another reference with the same uid is none of it."""
    owned = {"name": "a", "ownerReferences": [OWNER, NAMED_ALIKE, OWNER, OWNER]}
    created, replaced, patched = exchange(
        Ask("POST", MAPS, {"metadata": owned}),
        Ask("PUT", f"{MAPS}/a", {"metadata": owned}),
        Ask("PATCH", f"{MAPS}/a", {"metadata": {"ownerReferences": [OWNER, OWNER]}}),
    )

    assert created.body["metadata"]["ownerReferences"] == [OWNER, NAMED_ALIKE]
    assert patched.body["metadata"]["ownerReferences"] == [OWNER]
    early, late = FOUND.format("", "1, 1"), FOUND.format(" after mutating admission happens", "1")
    assert (created.warnings, replaced.warnings, patched.warnings) == ([early], [early], [late])
