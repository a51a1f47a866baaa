"""One stack for all clients: as in a cluster, they come over TLS and have to say who they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubeloop.cli.options import UpOptions
from tests.testkit.stack import Stack


@pytest.fixture(scope="package")
def stack() -> Iterator[Stack]:
    """Ends with this folder, which is a package for just that."""
    with Stack(UpOptions(nodes=2, secure=True)) as running:
        yield running
