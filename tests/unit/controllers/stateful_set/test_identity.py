"""What tells pods apart."""

from __future__ import annotations

import pytest

from controllers.stateful_set import identity
from tests.unit.controllers.stateful_set.sets import REVISIONS, a_set


@pytest.mark.parametrize(
    ("name", "ordinal", "is_member"),
    [
        ("web-0", 0, True),
        ("web-12", 12, True),
        ("web-2147483647", 2147483647, True),
        ("web-2147483648", -1, True),
        ("web", -1, False),
        ("web-x", -1, False),
        ("web-1-2", 2, False),
        ("other-1", 1, False),
    ],
)
def test_the_name_says_which_it_is(name: str, ordinal: int, is_member: bool) -> None:
    """The number after the last dash, if the rest is the set's name; a number beyond 32 bits is none."""
    pod = {"metadata": {"name": name}}

    assert (ordinal, is_member) == (identity.ordinal_of(pod), identity.is_member(a_set(), pod))


def test_a_new_pod_is_known_by_name() -> None:
    """Name, hostname and subdomain, and labels for name, index and revision."""
    pod = identity.new_pod(a_set(3), REVISIONS, 2)

    assert ("web-2", "web-2", "web") == (pod["metadata"]["name"], pod["spec"]["hostname"], pod["spec"]["subdomain"])
    assert {
        "app": "web",
        "statefulset.kubernetes.io/pod-name": "web-2",
        "apps.kubernetes.io/pod-index": "2",
        "controller-revision-hash": "web-new",
    } == pod["metadata"]["labels"]


def test_a_template_volume_gives_way_to_the_claim_of_its_name() -> None:
    """Other volumes stay."""
    claim = {"metadata": {"name": "data"}, "spec": {}}
    spec = a_set(1, volumeClaimTemplates=[claim])
    pod = identity.new_pod(spec, REVISIONS, 0)
    pod["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]

    changed = identity.with_identity(spec, pod)

    data = {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}
    assert [data, {"name": "tmp", "emptyDir": {}}] == changed["spec"]["volumes"]
    assert (False, True) == (identity.has_storage(spec, pod), identity.has_storage(spec, changed))
