"""`kubeloop demo`, which checks itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.testkit.command import kubeloop

pytestmark = pytest.mark.e2e


def test_the_demo_converges_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """It ends with 0, says what which loop did at each step, and removes its data."""
    done = kubeloop("demo", TMPDIR=str(tmp_path))

    assert 0 == done.returncode, done.stdout + done.stderr
    for said in (
        "1. kubectl apply -f examples/web/web.yaml",
        "The Deployment loop made the ReplicaSet web-",
        "The ReplicaSet loop saw 2 pods where 3 are wanted",
        "The supervisor started the ReplicaSet loop again as process",
        "moved the replicas over step by step, never fewer than ",  # 4; 5 where the moments with 4 were short
        "Everything converged",
    ):
        assert said in done.stdout
    assert [] == list(tmp_path.iterdir())
