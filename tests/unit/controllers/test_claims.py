"""Finding the volume for a claim."""

from __future__ import annotations

import pytest

from controllers.claims import find_match, is_kept_for
from kubeloop.apimachinery.meta import Object, name_of
from tests.unit.controllers.volumes.storage import a_claim, a_volume, on_host, reference


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        ([a_volume("big", "5Gi"), a_volume("right", "3Gi"), a_volume("small", "1Gi")], "right"),
        ([a_volume("small", "1Gi")], None),
        ([a_volume("many", "2Gi", accessModes=["ReadWriteOnce", "ReadOnlyMany"]), a_volume("one", "9Gi")], "one"),
        ([a_volume("other", "2Gi", "slow")], None),
        ([a_volume("new", "2Gi", status={"phase": "Pending"})], None),
        ([a_volume("taken", "2Gi", claimRef=reference("other", "u"))], None),
        ([a_volume("going", "2Gi", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})], None),
        ([a_volume("block", "2Gi", volumeMode="Block")], None),
        ([a_volume("shared", "2Gi", accessModes=["ReadOnlyMany"])], None),
        ([a_volume("tuned", "2Gi", volumeAttributesClassName="gold")], None),
        ([a_volume("free", "2Gi"), a_volume("kept", "9Gi", "slow", claimRef=reference())], "kept"),
        ([a_volume("free", "2Gi"), a_volume("kept-too-small", "1Gi", claimRef=reference())], "free"),
    ],
)
def test_the_smallest_that_fits_is_taken(volumes: list[Object], expected: str | None) -> None:
    """Fewest access modes first, then size; what is kept for the claim beats all, whatever its class."""
    found = find_match(a_claim(size="2Gi"), volumes)

    assert expected == (name_of(found) if found else None)


def test_a_selector_narrows_the_choice() -> None:
    """Only volumes with the labels may be taken."""
    volumes = [a_volume("a"), a_volume("b", "2Gi", metadata={"labels": {"disk": "ssd"}})]

    found = find_match(a_claim(selector={"matchLabels": {"disk": "ssd"}}), volumes)

    assert found is not None and "b" == name_of(found)


def test_a_claim_that_waits_only_gets_what_is_kept_for_it() -> None:
    """Until there is a node, a claim of a delayed class takes no free volume."""
    kept = a_volume("kept", claimRef=reference())

    assert find_match(a_claim(), [a_volume()], is_delayed=True) is None
    assert kept == find_match(a_claim(), [a_volume(), kept], is_delayed=True)


def test_a_node_must_reach_its_volume() -> None:
    """With the labels of a node only reachable volumes count, and those already promised do not."""
    volumes = [a_volume("far", nodeAffinity=on_host("b")), a_volume("near", "2Gi", nodeAffinity=on_host("a"))]
    labels = {"kubernetes.io/hostname": "a"}

    found = find_match(a_claim(), volumes, is_delayed=True, node_labels=labels)
    again = find_match(a_claim(), volumes, is_delayed=True, node_labels=labels, excluded={"near"})

    assert found is not None and "near" == name_of(found)
    assert again is None


@pytest.mark.parametrize(("uid", "expected"), [("", True), ("u", True), ("v", False)])
def test_a_reference_without_a_uid_is_a_reservation(uid: str, expected: bool) -> None:
    """It keeps the volume for any claim of that name; with a uid for that very claim."""
    claim = a_claim(metadata={"uid": "u"})

    assert expected == is_kept_for(a_volume(claimRef=reference(uid=uid)), claim)
