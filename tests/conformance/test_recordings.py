"""Every recording of the areas in must_pass.txt answers as real Kubernetes did, but for the known differences."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Condition

import pytest

from tests.conformance.held import AREAS, DIFFERENT, HELD
from tests.conformance.servers import Recording, Servers, recordings, servers

pytestmark = pytest.mark.e2e

COMPATIBILITY = Path(__file__).parents[2] / "docs/compatibility.md"
# Most of a recording's time is waiting for loops, so many are played at once.
AT_ONCE = 12


class Turns:
    """Many are at it with others, or one alone: that one waits for those who are at it, and nobody begins meanwhile."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._with_others = 0
        self._is_alone = False

    @contextmanager
    def with_others(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_alone)
            self._with_others += 1
        try:
            yield
        finally:
            with self._changed:
                self._with_others -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """For one thread only."""
        with self._changed:
            self._is_alone = True
            self._changed.wait_for(lambda: not self._with_others)
        try:
            yield
        finally:
            with self._changed:
                self._is_alone = False
                self._changed.notify_all()


class Player:
    """Plays all chosen recordings at once, in the order of the tests.

    Some look at a status in the very moment in which a loop is about to write the next: on a busy machine one that
    differs is played once more, by itself.
    """

    def __init__(self, playing: Servers, chosen: list[Recording], pool: ThreadPoolExecutor) -> None:
        self._playing = playing
        self._turns = Turns()
        self._played: dict[str, Future[list[str]]] = {
            recording.name: pool.submit(self._play_with_others, recording) for recording in chosen
        }

    def problems(self, recording: Recording) -> list[str]:
        if not self._played[recording.name].result():
            return []
        with self._turns.alone():
            return self._playing.play(recording)

    def _play_with_others(self, recording: Recording) -> list[str]:
        with self._turns.with_others():
            return self._playing.play(recording)


@pytest.fixture(scope="module")
def player(request: pytest.FixtureRequest) -> Iterator[Player]:
    calls = (getattr(item, "callspec", None) for item in request.session.items if item.path == request.path)
    chosen = [call.params["recording"] for call in calls if call is not None]
    with servers() as playing, ThreadPoolExecutor(AT_ONCE) as pool:
        yield Player(playing, chosen, pool)


TOGETHER = [recording for recording in HELD if not recording.serial]


@pytest.mark.parametrize("recording", TOGETHER, ids=lambda recording: recording.name)
def test_the_answers_are_those_of_real_kubernetes(player: Player, recording: Recording) -> None:
    """Nothing differs from what was recorded."""
    assert [] == player.problems(recording)


def test_the_areas_that_must_pass_exist() -> None:
    """A misspelt area would test nothing."""
    assert set(AREAS) <= {recording.area for recording in recordings()}


def test_what_differs_is_known_with_its_reason() -> None:
    """The list names recordings of areas that are held, and the documentation tells of each."""
    names = {recording.name for recording in recordings(AREAS)}
    assert set(DIFFERENT) <= names
    documented = COMPATIBILITY.read_text()
    assert [] == [name for name in DIFFERENT if f"`{name.partition('/')[2]}`" not in documented]
