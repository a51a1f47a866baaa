"""Owner references that are named twice."""

from typing import Any

from apiserver.registry.options import Warnings
from apiserver.registry.owner_references import drop_repeated_owners
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


def test_many_are_looked_at_once_each() -> None:
    """Nobody holds the server up by an object with very many owners: they are not compared each with each."""
    compared = 0

    class Reference(dict[str, Any]):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return super().__eq__(other)

    obj = {"metadata": {"ownerReferences": [Reference(OWNER, uid=str(i % 500)) for i in range(1000)]}}
    drop_repeated_owners(obj, Warnings())
    assert (len(obj["metadata"]["ownerReferences"]), compared) == (500, 0)
