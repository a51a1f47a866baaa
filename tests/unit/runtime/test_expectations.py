"""What a loop waits to see before it acts again."""

import random
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from kubeloop.apimachinery.meta import Object, ObjectKey
from kubeloop.apimachinery.resource import PODS, REPLICA_SETS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.reflector import Scope
from kubeloop.runtime.expectations import EXPIRY_SECONDS, Expectations
from kubeloop.testing.virtual_time import LoopClock, run
from tests.testkit.scripted import Script

KEY = ObjectKey("default", "web")


def a_child(name: str, owner: str, **metadata: object) -> Object:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "controller": True}
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "ownerReferences": [reference],
            **metadata,
        }
    }


def tell(children: Informer, child: Object) -> None:
    """As its reflector would."""
    children.notify([children.store.put(child)])


class ManualClock:
    """Stands still until told."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def test_creations_are_counted_down() -> None:
    """Two expected creations need two observations; a third is no harm."""
    expectations = Expectations(ManualClock())
    expectations.expect_creations(KEY, 2)

    answers = []
    for _ in range(3):
        answers.append(expectations.satisfied(KEY))
        expectations.creation_observed(KEY)

    assert [False, False, True] == answers
    assert expectations.satisfied(KEY)


def test_deletions_are_told_apart() -> None:
    """Seeing one deletion twice does not count for another; strangers do not count at all."""
    expectations = Expectations(ManualClock())
    expectations.expect_deletions(KEY, ["uid-1", "uid-2"])

    for uid in ("uid-1", "uid-1", "uid-3"):
        expectations.deletion_observed(KEY, uid)

    assert not expectations.satisfied(KEY)
    expectations.deletion_observed(KEY, "uid-2")
    assert expectations.satisfied(KEY)


@pytest.mark.parametrize(
    "forget_about_it",
    [lambda e, clock: e.forget(KEY), lambda e, clock: setattr(clock, "seconds", 1001 + EXPIRY_SECONDS)],
)
def test_nothing_waits_for_ever(forget_about_it: Callable[[Expectations, ManualClock], None]) -> None:
    """A forgotten owner waits for nothing, and a lost observation is given up after five minutes."""
    clock = ManualClock()
    expectations = Expectations(clock)
    expectations.expect_creations(KEY, 1)

    forget_about_it(expectations, clock)

    assert expectations.satisfied(KEY)


def test_an_expired_expectation_leaves_no_debt() -> None:
    """What expired unseen is not added to what is expected next."""
    clock = ManualClock()
    expectations = Expectations(clock)
    expectations.expect_creations(KEY, 5)
    clock.seconds += EXPIRY_SECONDS + 1

    expectations.expect_creations(KEY, 1)
    expectations.creation_observed(KEY)

    assert expectations.satisfied(KEY)


def test_keys_do_not_know_each_other() -> None:
    """One owner's expectation holds up no other owner."""
    expectations = Expectations(ManualClock())

    expectations.expect_creations(KEY, 1)

    assert expectations.satisfied(ObjectKey("default", "other"))


def test_an_informer_lowers_what_was_expected() -> None:
    """A child that appears is a creation seen, one that terminates a deletion; other owners' do not count."""
    seen: list[bool] = []

    async def main() -> None:
        expectations = Expectations(LoopClock())
        children = Informer(Api("http://x", Script([])), Scope(PODS), LoopClock(), random.Random(1))
        expectations.follow(children, REPLICA_SETS)

        def note() -> None:
            seen.append(expectations.satisfied(KEY))

        expectations.expect_creations(KEY, 1)
        tell(children, a_child("b", owner="other"))
        note()
        tell(children, a_child("a", owner="web"))
        note()
        expectations.expect_deletions(KEY, ["uid-a"])
        tell(children, a_child("a", owner="web", labels={"x": "y"}))
        note()
        tell(children, a_child("a", owner="web", deletionTimestamp="2026-01-01T00:00:00Z"))
        note()

    run(main())

    assert [False, True, False, True] == seen
