"""List, watch, resume, list anew: what a reflector asks for after which answer."""

import asyncio
import random
from typing import Any

from kubeloop.apimachinery.meta import Object, name_of, resource_version_of
from kubeloop.apimachinery.resource import PODS
from kubeloop.client.api import Api
from kubeloop.client.reflector import Reflector, Scope
from kubeloop.client.store import Delta, Store
from kubeloop.client.transport import ConnectionFailed
from kubeloop.testing.virtual_time import LoopClock, run
from tests.testkit.scripted import Answer, Script, events_answer, json_answer, status_answer

EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}


def a_pod(name: str, version: int) -> Object:
    return {"metadata": {"name": name, "namespace": "default", "resourceVersion": str(version)}}


def a_list(version: int, *pods: Object, continue_token: str = "") -> Answer:
    return json_answer({"metadata": {"resourceVersion": str(version), "continue": continue_token}, "items": list(pods)})


def a_bookmark(version: int) -> tuple[str, Object]:
    return "BOOKMARK", {"metadata": {"resourceVersion": str(version)}}


class Outcome:
    """What came of a reflector that ran over a script for a while."""

    def __init__(self, *answers: Answer | ConnectionFailed, seconds: float = 60, managed_fields: bool = True) -> None:
        self.script = Script(list(answers))
        self.store = Store("pods")
        self.deltas: list[Delta] = []
        run(self._run(seconds, managed_fields))

    async def _run(self, seconds: float, managed_fields: bool) -> None:
        api, clock, rng = Api("http://x", self.script), LoopClock(), random.Random(1)
        scope, notify = Scope(PODS), self.deltas.extend
        reflector = Reflector(api, scope, self.store, notify, clock, rng, managed_fields=managed_fields)
        task = asyncio.create_task(reflector.run())
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.wait([task])
        self.resource_version = reflector.resource_version

    @property
    def names(self) -> list[str]:
        return [name_of(obj) for obj in self.store.list()]

    @property
    def asked(self) -> list[str]:
        """`list` or `watch from N`, for each request."""
        return [
            f"watch from {query['resourceVersion']}" if "watch" in query else "list" for query in self.script.queries()
        ]


def test_the_watch_goes_on_where_the_list_ended() -> None:
    """A list fills the store, and the watch from its version keeps it up to date."""
    events: list[tuple[str, Any]] = [("ADDED", a_pod("b", 6)), ("MODIFIED", a_pod("a", 7)), ("DELETED", a_pod("b", 8))]

    outcome = Outcome(a_list(5, a_pod("a", 3)), events_answer(*events, stays_open=True))

    assert ["list", "watch from 5"] == outcome.asked
    assert ["a"] == outcome.names
    assert "8" == outcome.resource_version
    told = [(delta.old is None, delta.new is None) for delta in outcome.deltas]
    assert [(True, False), (True, False), (False, False), (False, True)] == told


def test_managed_fields_may_be_left_out() -> None:
    """Neither a list nor an event brings them, where nobody asked for them; all else is as it was sent."""

    def managed(name: str, version: int) -> Object:
        pod = a_pod(name, version)
        return {**pod, "metadata": {**pod["metadata"], "managedFields": [{"manager": "kubectl"}]}}

    answers = a_list(5, managed("a", 3)), events_answer(("ADDED", managed("b", 6)), ("DELETED", managed("b", 8)))

    with_them, without = Outcome(*answers), Outcome(*answers, managed_fields=False)

    metadata_of = [[delta.obj["metadata"] for delta in outcome.deltas] for outcome in (with_them, without)]
    for made, metadata in zip((managed, a_pod), metadata_of, strict=True):
        assert [made("a", 3)["metadata"], made("b", 6)["metadata"], made("b", 8)["metadata"]] == metadata


def test_a_long_list_comes_in_pages() -> None:
    """Pages are asked for until the last; nothing is told before the list is complete."""
    outcome = Outcome(a_list(5, a_pod("a", 1), continue_token="more"), a_list(5, a_pod("b", 2)))

    queries = outcome.script.queries()
    assert [None, "more"] == [query.get("continue") for query in queries[:2]]
    assert ["500", "500"] == [query["limit"] for query in queries[:2]]
    assert ["a", "b"] == outcome.names


def test_a_cut_watch_resumes_from_the_last_version_seen() -> None:
    """After a cut nothing is listed anew: the watch goes on after the last event, or the last bookmark."""
    outcome = Outcome(
        a_list(5),
        events_answer(("ADDED", a_pod("a", 7)), is_cut=True),
        events_answer(a_bookmark(20)),
    )

    assert ["list", "watch from 5", "watch from 7", "watch from 20"] == outcome.asked
    assert ["a"] == outcome.names


def test_history_told_again_changes_nothing() -> None:
    """A resumed watch that begins too early: no object becomes older, and one made anew is not deleted once more."""
    outcome = Outcome(
        a_list(10, a_pod("a", 9), a_pod("b", 8)),
        events_answer(
            ("MODIFIED", a_pod("a", 5)),
            ("DELETED", a_pod("b", 6)),
            ("MODIFIED", a_pod("b", 11)),
            ("DELETED", a_pod("a", 12)),
        ),
    )

    assert [("b", "11")] == [(name_of(pod), resource_version_of(pod)) for pod in outcome.store.list()]
    listed = [("", "9"), ("", "8")]
    told = [(versions(delta.old), versions(delta.new)) for delta in outcome.deltas]
    assert [*listed, ("8", "11"), ("12", "")] == told


def test_versions_that_are_no_numbers_are_taken_as_they_come() -> None:
    """No server has to tell which of its versions is newer."""
    first, second = a_pod("a", 9), a_pod("a", 9)
    second["metadata"]["resourceVersion"] = "opaque"

    outcome = Outcome(a_list(10, first), events_answer(("MODIFIED", second)))

    assert [second] == outcome.store.list()


def test_an_older_version_in_a_list_is_right() -> None:
    """After a 410 the server may be one restored from a backup, whose versions begin anew."""
    outcome = Outcome(
        a_list(50, a_pod("a", 40)),
        events_answer(("ERROR", EXPIRED)),
        a_list(9, a_pod("a", 7)),
    )

    assert ["7"] == [resource_version_of(pod) for pod in outcome.store.list()]


def versions(obj: Object | None) -> str:
    return "" if obj is None else resource_version_of(obj)


def test_an_expired_version_means_a_new_list() -> None:
    """A 410, as an event or as the answer itself, leads to a list; what vanished meanwhile is told as deleted."""
    outcome = Outcome(
        a_list(5, a_pod("a", 1), a_pod("b", 2)),
        events_answer(("ERROR", EXPIRED)),
        a_list(9, a_pod("b", 2)),
        status_answer(410, "Expired", "too old"),
        a_list(12, a_pod("b", 11)),
    )

    assert ["list", "watch from 5", "list", "watch from 9", "list", "watch from 12"] == outcome.asked
    deleted = [name_of(delta.old) for delta in outcome.deltas if delta.new is None and delta.old]
    assert ["a"] == deleted
    assert ["b"] == outcome.names


def test_failures_are_tried_again_ever_more_slowly() -> None:
    """A server that is down is asked again after growing, jittered pauses, of two to four seconds in the end."""
    outcome = Outcome(*[ConnectionFailed("refused") for _ in range(12)], a_list(5, a_pod("a", 1)), seconds=300)

    pauses = [
        later - earlier for earlier, later in zip(outcome.script.times[:12], outcome.script.times[1:13], strict=True)
    ]
    assert 0.2 <= pauses[0] <= 0.4
    assert all(2 <= pause <= 4 for pause in pauses[6:])
    assert ["a"] == outcome.names


def test_a_server_that_ends_every_watch_at_once_is_not_hammered() -> None:
    """A watch that ends at once without an event counts as a failure: there is a pause before the next."""
    outcome = Outcome(a_list(5), *[events_answer() for _ in range(200)], seconds=60)

    assert len(outcome.asked) < 40
    assert {"watch from 5"} == set(outcome.asked[1:])


def test_a_refused_list_is_tried_again() -> None:
    """Even a 403 is no reason to give up: the rule that allows it may come later."""
    outcome = Outcome(status_answer(403, "Forbidden", "pods is forbidden"), a_list(5, a_pod("a", 1)))

    assert ["a"] == outcome.names
