"""Hashes of templates and revisions."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.hashing import controller_revision_hash, fnv32, fnv32a, pod_template_hash
from kubeloop.apimachinery.names import SAFE_ALPHABET

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.mark.parametrize(("data", "expected"), [(b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foobar", 0xBF9CF968)])
def test_the_sum_is_fnv_1a(data: bytes, expected: int) -> None:
    """The published test vectors of 32-bit FNV-1a hold."""
    assert expected == fnv32a(data)


@pytest.mark.parametrize(("data", "expected"), [(b"", 0x811C9DC5), (b"a", 0x050C5D7E), (b"foobar", 0x31F0B262)])
def test_the_sum_of_revisions_is_fnv_1(data: bytes, expected: int) -> None:
    """The published test vectors of 32-bit FNV-1 hold."""
    assert expected == fnv32(data)


def test_the_hash_of_a_revision_is_that_of_kubernetes() -> None:
    """As recorded from a StatefulSet of v1.36."""
    container = {"image": "example.com/app:1", "imagePullPolicy": "IfNotPresent", "name": "c", "resources": {}}
    container |= {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
    spec = {"automountServiceAccountToken": False, "containers": [container], "dnsPolicy": "ClusterFirst"}
    spec |= {"restartPolicy": "Always", "schedulerName": "default-scheduler", "securityContext": {}}
    spec |= {"terminationGracePeriodSeconds": 30}
    template = {"$patch": "replace", "metadata": {"labels": {"app": "web", "v": "2"}}, "spec": spec}

    assert "65d997cccb" == controller_revision_hash({"spec": {"template": template}}, 0)


def test_the_order_of_keys_does_not_count() -> None:
    """Equal templates have equal hashes."""
    turned = {"spec": TEMPLATE["spec"], "metadata": TEMPLATE["metadata"]}

    assert pod_template_hash(TEMPLATE) == pod_template_hash(turned)


def test_a_collision_gives_another_hash() -> None:
    """Each collision count leads to its own hash, as does each template."""
    hashes = [pod_template_hash(TEMPLATE, count) for count in (None, 0, 1)] + [pod_template_hash({})]

    assert 4 == len(set(hashes))
    assert controller_revision_hash(TEMPLATE) != controller_revision_hash(TEMPLATE, 0)


def test_hashes_look_like_those_of_kubernetes() -> None:
    """At most ten characters of the safe alphabet."""
    found = pod_template_hash(TEMPLATE)

    assert len(found) <= 10
    assert set(found) <= set(SAFE_ALPHABET)
