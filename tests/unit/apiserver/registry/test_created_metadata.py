"""What a new object may say of itself, by the way it is made."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testkit.asking import Answer, Asking, on_a_server

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}


def lease(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a", **metadata}}


def asked(request: str, body: Any, **headers: str) -> Answer:
    async def scenario(asking: Asking) -> Answer:
        return await asking(request, body, **headers)

    return on_a_server(scenario)


@pytest.mark.parametrize(
    ("request_line", "content_type", "is_kept"),
    [
        (f"POST {LEASES}", "application/json", False),
        (f"PUT {LEASES}/a", "application/json", True),
        (f"PATCH {LEASES}/a?fieldManager=m", "application/apply-patch+yaml", True),
    ],
)
def test_marks_of_a_deletion_in_a_new_object(request_line: str, content_type: str, is_kept: bool) -> None:
    """A POST wipes them, PUT and apply leave them, as upstream does."""
    answer = asked(request_line, lease(**DELETED), content_type=content_type)

    assert (201, is_kept) == (answer.status, DELETED.items() <= answer.json["metadata"].items())


@pytest.mark.parametrize(("query", "code", "version"), [("?dryRun=All", 201, "7"), ("", 500, None)])
def test_the_version_a_new_object_is_sent_with(query: str, code: int, version: str | None) -> None:
    """Storage minds it; a dry run does not get there and gives it back."""
    answer = asked(f"POST {LEASES}{query}", lease(resourceVersion="7"))

    assert (code, version) == (answer.status, answer.json["metadata"].get("resourceVersion"))
