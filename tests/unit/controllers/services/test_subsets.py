"""Endpoints subsets in canonical form."""

import pytest

from controllers.services.subsets import repack
from kubeloop.apimachinery.meta import Object

A, B = {"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}
HTTP, DNS = {"port": 80, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}


@pytest.mark.parametrize(
    ("subsets", "expected"),
    [
        ([], []),
        (
            [{"addresses": [B], "ports": [HTTP]}, {"addresses": [A], "ports": [HTTP]}],
            [{"addresses": [A, B], "ports": [HTTP]}],
        ),
        (
            [{"addresses": [A], "ports": [HTTP]}, {"addresses": [A], "ports": [DNS]}],
            [{"addresses": [A], "ports": [HTTP, DNS]}],
        ),
        (
            [{"addresses": [A, B], "ports": [HTTP]}, {"addresses": [A], "ports": [DNS]}],
            [{"addresses": [A], "ports": [DNS]}, {"addresses": [A, B], "ports": [HTTP]}],
        ),
        (
            [{"addresses": [A], "ports": [HTTP]}, {"notReadyAddresses": [B], "ports": [HTTP]}],
            [{"addresses": [A], "notReadyAddresses": [B], "ports": [HTTP]}],
        ),
        (
            [{"addresses": [A], "ports": [HTTP]}, {"notReadyAddresses": [A], "ports": [HTTP]}],
            [{"notReadyAddresses": [A], "ports": [HTTP]}],
        ),
        ([{"addresses": [A], "ports": []}, {"addresses": [B]}], [{"addresses": [A, B]}]),
    ],
    ids=["none", "same ports", "same addresses", "both differ", "not ready apart", "not ready wins", "without ports"],
)
def test_repacking(subsets: list[Object], expected: list[Object]) -> None:
    """Addresses with the same ports share a subset, whatever the subsets were before."""
    packed = repack(subsets)

    assert (expected, expected) == (packed, repack(packed))
