"""What the binder does about a claim, and about a volume."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.volumes import plan, reclaim
from controllers.volumes.plan import Become, Bind, Complain, Lose, Provision, Reclaim, TakeClass, Unbind, Wait, World
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.volumes.storage import a_claim, a_class, a_volume, reference

DONE = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}, "uid": "u"}
BY_US = {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}
WAITS = {"volumeBindingMode": "WaitForFirstConsumer"}
DEFAULT = {
    "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    "creationTimestamp": "2026-01-01T00:00:00Z",
}


@pytest.mark.parametrize(
    ("claim", "world", "expected"),
    [
        (a_claim(), World([a_volume()]), Bind(a_volume())),
        (a_claim(), World([a_volume()], [a_class(**WAITS)]), "WaitForFirstConsumer"),
        (a_claim(), World([], [a_class(**WAITS)], ["p"]), "waiting for pod p to be scheduled"),
        (a_claim(), World([], [a_class(**WAITS)], ["p", "q"]), "waiting for pods p,q to be scheduled"),
        (a_claim(storage_class=""), World([]), "no persistent volumes available for this claim and no storage class"),
        (a_claim(), World([]), 'storageclass.storage.k8s.io "fast" not found'),
        (a_claim(), World([], [a_class(provisioner="example.com/p")]), "external provisioner 'example.com/p'"),
        (a_claim(), World([], [a_class(provisioner="kubernetes.io/no-provisioner")]), "no volume plugin matched"),
        (
            a_claim(),
            World([], [a_class(provisioner="kubernetes.io/aws-ebs")]),
            "external provisioner 'ebs.csi.aws.com'",
        ),
        (a_claim(storage_class=None), World([], [a_class("standard", metadata=DEFAULT)]), TakeClass("standard")),
        (a_claim(storage_class=""), World([], [a_class("standard", metadata=DEFAULT)]), "no storage class is set"),
        (a_claim(volumeName="volume"), World([]), Wait()),
        (a_claim(volumeName="volume"), World([a_volume()]), Bind(a_volume())),
        (a_claim(volumeName="volume", size="2Gi"), World([a_volume()]), 'volume "volume": requested PV is too small'),
        (a_claim(volumeName="volume", storage_class="x"), World([a_volume()]), "storageClassName does not match"),
        (
            a_claim(volumeName="volume"),
            World([a_volume(claimRef=reference("other", "v"))]),
            'volume "volume" already bound to a different claim.',
        ),
        (a_claim(metadata=DONE), World([]), "lost reference to PersistentVolume"),
        (a_claim(metadata=DONE, volumeName="volume"), World([]), "Bound claim has lost its PersistentVolume"),
        (
            a_claim(metadata=DONE, volumeName="volume"),
            World([a_volume(claimRef=reference(uid="v"))]),
            "Two claims are bound to the same volume",
        ),
        (
            a_claim(metadata=DONE, volumeName="volume"),
            World([a_volume(claimRef=reference(uid="u"))]),
            Bind(a_volume(claimRef=reference(uid="u"))),
        ),
    ],
)
def test_what_to_do_about_a_claim(claim: Object, world: World, expected: plan.ClaimStep | str) -> None:
    """A volume, another state, or a wait that says for what."""
    step = plan.claim_step(claim, world)

    if isinstance(expected, str):
        assert isinstance(step, (Wait, Complain, Lose, Provision)) and step.notice is not None
        assert expected in f"{step.notice.reason}: {step.notice.message}"
    else:
        assert expected == step


def test_a_claim_that_we_bound_must_not_find_its_volume_taken() -> None:
    """That is an error which is tried again, not a mere wait."""
    claim = a_claim(volumeName="volume", metadata=BY_US)

    step = plan.claim_step(claim, World([a_volume(claimRef=reference("other", "v"))]))

    assert isinstance(step, Wait) and step.is_wrong


@pytest.mark.parametrize(
    ("volume", "claim", "expected"),
    [
        (a_volume(), None, Become("Available")),
        (a_volume(claimRef=reference()), None, Become("Available")),
        (a_volume(claimRef=reference(uid="u")), None, Reclaim()),
        (a_volume(claimRef=reference(uid="u")), a_claim(volumeName="volume"), Become("Bound")),
        (a_volume(claimRef=reference(uid="u")), a_claim(), plan.WakeClaim()),
        (a_volume(claimRef=reference(uid="u")), a_claim(volumeName="another"), Unbind()),
        (
            a_volume(
                claimRef=reference(uid="u"),
                persistentVolumeReclaimPolicy="Delete",
                metadata={"annotations": {"pv.kubernetes.io/provisioned-by": "example.com/p"}},
            ),
            a_claim(volumeName="another"),
            Reclaim(),
        ),
    ],
)
def test_a_volume_follows_its_claim(volume: Object, claim: Object | None, expected: plan.VolumeStep) -> None:
    """Available without one, Bound with one that agrees, given up or reclaimed otherwise."""
    assert expected == plan.volume_step(volume, claim)


def test_what_we_bound_we_free_and_what_was_kept_stays_kept() -> None:
    """A reservation of the user's loses the uid only."""
    ours = plan.unbound(a_volume(claimRef=reference(uid="u"), metadata=BY_US))
    theirs = plan.unbound(a_volume(claimRef=reference(uid="u")))

    assert ("claimRef" in ours["spec"], ours["metadata"]["annotations"]) == (False, {})
    assert reference() == theirs["spec"]["claimRef"]


@pytest.mark.parametrize(
    ("policy", "source", "made_by", "expected"),
    [
        ("Retain", {"hostPath": {"path": "/x"}}, "", reclaim.Keep()),
        ("Delete", {"hostPath": {"path": "/tmp/x"}}, "", reclaim.Delete()),
        (
            "Delete",
            {"hostPath": {"path": "/x"}},
            "",
            "host_path deleter only supports /tmp/.+ but received provided /x",
        ),
        ("Delete", {"csi": {"driver": "d"}}, "", reclaim.Keep()),
        ("Delete", {"hostPath": {"path": "/x"}}, "example.com/p", reclaim.Keep()),
        (
            "Delete",
            {"nfs": {"path": "/x"}},
            "",
            'volume plugin for volume "volume": no deletable volume plugin matched',
        ),
        ("Delete", {"local": {"path": "/x"}}, "", 'volume plugin for volume "volume": no volume plugin matched'),
        ("Recycle", {"nfs": {"path": "/x"}}, "", reclaim.Recycle()),
        ("Recycle", {"local": {"path": "/x"}}, "", "No recycler plugin found for the volume!"),
    ],
)
def test_a_released_volume_by_its_policy(
    policy: str, source: Object, made_by: str, expected: reclaim.Reclamation | str
) -> None:
    """Retained ones stay, others are deleted or recycled where something here can; failures say why."""
    metadata: dict[str, Any] = {"annotations": {"pv.kubernetes.io/provisioned-by": made_by}} if made_by else {}
    volume = a_volume(metadata=metadata, persistentVolumeReclaimPolicy=policy)
    del volume["spec"]["hostPath"]
    volume["spec"] |= source

    found = reclaim.reclamation(volume)

    if isinstance(expected, str):
        assert isinstance(found, reclaim.Fail) and expected in found.notice.message
    else:
        assert expected == found


def test_the_newest_default_class_wins() -> None:
    """Of equally old ones the first by name."""
    old, new = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    marked = DEFAULT["annotations"]

    def at(name: str, created: str) -> Object:
        return a_class(name, metadata={"annotations": marked, "creationTimestamp": created})

    assert at("b", new) == plan.default_class([at("a", old), at("c", new), at("b", new), a_class("plain")])
    assert plan.default_class([a_class("plain")]) is None
