"""The recordings that mind the nodes or change them, one after the other on a stack of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.held import HELD
from tests.conformance.servers import Recording, Servers, servers
from tests.testkit.eventually import eventually

pytestmark = pytest.mark.e2e

SERIAL = [recording for recording in HELD if recording.serial]


@pytest.fixture(scope="module")
def playing() -> Iterator[Servers]:
    with servers() as running:
        yield running


@pytest.mark.parametrize("recording", SERIAL, ids=lambda recording: recording.name)
def test_the_answers_are_those_of_real_kubernetes(playing: Servers, recording: Recording) -> None:
    """Nothing differs from what was recorded, once nothing of the one before is left: a pod that goes lets others be
    tried anew."""
    eventually(lambda: not playing.leftovers(), "what the recording before left is gone")

    assert [] == playing.play(recording)
