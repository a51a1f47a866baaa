"""Containers whose user cannot be what they are told."""

from __future__ import annotations

import pytest

from kubelet_sim.security import root_error
from kubeloop.apimachinery.meta import Object
from tests.unit.kubelet_sim.played_pod import a_container, a_pod

IMAGE_IS_REFUSED = 'container has runAsNonRoot and image will run as root (pod: "p_default(uid-1)", container: c)'
ROOT_IS_REFUSED = 'container\'s runAsUser breaks non-root policy (pod: "p_default(uid-1)", container: c)'


@pytest.mark.parametrize(
    ("of_pod", "of_container", "why"),
    [
        ({}, {"runAsNonRoot": True, "runAsUser": 0}, ROOT_IS_REFUSED),
        ({"runAsUser": 0}, {"runAsNonRoot": True}, ROOT_IS_REFUSED),
        ({"runAsUser": 0, "runAsNonRoot": True}, {"runAsUser": 1000}, ""),
        ({"runAsNonRoot": True}, {"runAsNonRoot": False, "runAsUser": 0}, ""),
        ({"runAsNonRoot": True}, {}, ""),  # its image says who it is
    ],
)
def test_a_container_that_must_not_be_root_and_is_told_to_be_never_starts(
    of_pod: Object, of_container: Object, why: str
) -> None:
    """What the container says goes before what the pod says."""
    container = a_container(securityContext=of_container)

    assert why == root_error(a_pod(container, securityContext=of_pod), container)


@pytest.mark.parametrize(
    ("image", "user", "why"),
    [
        ("nginx", None, IMAGE_IS_REFUSED),
        ("docker.io/library/redis:7@sha256:" + 64 * "a", None, IMAGE_IS_REFUSED),
        ("nginx", 101, ""),
        ("bitnami/nginx", None, ""),
        ("registry.local/nginx", None, ""),
        ("memcached", None, ""),
        ("NGINX", None, ""),  # cannot be read
    ],
)
def test_images_that_everybody_knows_run_as_root(image: str, user: int | None, why: str) -> None:
    """Where nobody says otherwise; of others nothing is known."""
    said: Object = {"runAsNonRoot": True} | ({"runAsUser": user} if user else {})
    container = {"name": "c", "image": image, "securityContext": said}

    assert why == root_error(a_pod(container), container)
