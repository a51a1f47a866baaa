"""One stack for all clients: as in a cluster, they come over TLS and have to say who they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeloop.cli.options import UpOptions
from tests.testkit.helm import Helm
from tests.testkit.stack import Kubectl, Stack


@pytest.fixture(scope="package")
def stack() -> Iterator[Stack]:
    """Ends with this folder, which is a package for just that."""
    with Stack(UpOptions(nodes=2, secure=True)) as running:
        yield running


@pytest.fixture
def helm(kubectl: Kubectl, tmp_path: Path) -> Helm:
    """Finds the charts of this folder by their names."""
    return Helm(kubectl, cwd=Path(__file__).parent / "charts", home=tmp_path / "helm")
