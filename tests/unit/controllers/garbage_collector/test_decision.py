"""What becomes of an object, given its owners."""

from typing import Any

import pytest

from controllers.garbage_collector.decision import Delete, Keep, classify, decide
from kubeloop.apimachinery.meta import Object

THERE: Object = {"metadata": {"uid": "x"}}
WAITING: Object = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]}}
LEAVING: Object = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/x"]}}


@pytest.mark.parametrize(
    ("owners", "dependents", "finalizers", "expected"),
    [
        ([THERE], [], [], Keep()),
        ([LEAVING], [], [], Keep()),
        ([THERE, None, WAITING], [], [], Keep(("owner-1", "owner-2"))),
        ([None], [], [], Delete("Background")),
        ([None, None], [False], [], Delete("Background")),
        ([None], [], ["orphan"], Delete("Orphan")),
        ([None], [], ["foregroundDeletion"], Delete("Foreground")),
        ([WAITING], [], [], Delete("Background")),
        ([WAITING], [False], [], Delete("Foreground")),
        ([WAITING, None], [False, True], [], Delete("Foreground", unblock=True)),
    ],
)
def test_what_becomes_of_it(
    owners: list[Object | None], dependents: list[bool], finalizers: list[str], expected: Any
) -> None:
    """One owner that stays is enough; else it goes, in the foreground where its owner waits and it has dependents."""
    references = [({"uid": f"owner-{i}"}, owner) for i, owner in enumerate(owners)]

    decision = decide({"metadata": {"finalizers": finalizers}}, classify(references), dependents)

    assert expected == decision
