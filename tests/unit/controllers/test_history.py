"""ControllerRevisions: what they hold, and their order."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from controllers import history
from kubeloop.apimachinery.meta import Object, name_of
from kubeloop.apimachinery.resource import CONTROLLER_REVISIONS, DAEMON_SETS, STATEFUL_SETS
from kubeloop.client.informer import Informer
from kubeloop.client.reflector import Scope
from kubeloop.testing.builders import a_stateful_set
from kubeloop.testing.cluster import Cluster, run_cluster
from tests.unit.controllers.workloads import a_template, seconds_ago


def a_revision(name: str = "r", number: int = 1, template: Any = None, age: int = 0) -> Object:
    metadata = {"name": name, "creationTimestamp": seconds_ago(age)}
    return {"metadata": metadata, "data": history.data_of(template or a_template()), "revision": number}


def test_a_revision_brings_its_template_back() -> None:
    """What goes in comes out."""
    assert a_template("2") == history.template_of(a_revision(template=a_template("2")))


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (a_template("1"), True),
        (a_template("2"), False),
        ({**a_template("1"), "metadata": {"labels": {"app": "web"}, "creationTimestamp": None}}, True),
        ({**a_template("1"), "metadata": {"labels": {"app": "web"}, "annotations": {}}}, False),
    ],
)
def test_the_same_template_is_found_again(stored: Object, expected: bool) -> None:
    """Nulls are what older versions wrote and mean nothing."""
    assert expected == history.says(a_revision(template=stored), a_template("1"))


def test_the_newest_is_last() -> None:
    """By number, then by age, then by name."""
    revisions = [
        a_revision("d", 2, age=5),
        a_revision("c", 3),
        a_revision("b", 2, age=9),
        a_revision("a", 2, age=5),
        a_revision("e", 1),
    ]

    assert ["e", "b", "a", "d", "c"] == [revision["metadata"]["name"] for revision in history.in_order(revisions)]


def test_a_revision_is_described_as_its_owner() -> None:
    """The template's labels and those asked for, the owner's annotations; a long name is cut."""
    metadata = {"name": "x" * 230, "namespace": "default", "uid": "u", "annotations": {"why": "so"}}

    found = history.new_revision(
        {"metadata": metadata, "spec": {"template": a_template()}}, DAEMON_SETS, "abc", 4, {"hash": "abc"}
    )

    assert ("x" * 223 + "-abc", {"app": "web", "hash": "abc"}, {"why": "so"}, 4) == (
        found["metadata"]["name"],
        found["metadata"]["labels"],
        found["metadata"]["annotations"],
        found["revision"],
    )
    assert [("DaemonSet", "u")] == [(owner["kind"], owner["uid"]) for owner in found["metadata"]["ownerReferences"]]


def test_a_revision_that_was_just_made_is_known() -> None:
    """Before the cache has it, and no longer than it exists: the next one's number follows from it."""

    async def check(cluster: Cluster) -> None:
        informer = Informer(cluster.api, Scope(CONTROLLER_REVISIONS), cluster.clock, random.Random(1))
        past = history.History(cluster.api, informer, STATEFUL_SETS)
        web, other = [await cluster.create(a_stateful_set(name)) for name in ("web", "other")]

        def known() -> list[str]:
            return [name_of(found) for found in past.candidates(web)]

        for _ in range(2):  # the second time it exists already
            made = await past.create(history.new_revision(web, STATEFUL_SETS, "a", 1, {}))
            assert made is not None
            assert ["web-a"] == known()
            assert not past.candidates(other)

        running = asyncio.create_task(informer.run())
        await informer.wait_for_sync()
        assert ["web-a"] == known()
        await past.create(history.new_revision(web, STATEFUL_SETS, "b", 2, {}))
        assert ["web-a", "web-b"] == known()
        await cluster.clock.sleep(1)
        assert ["web-a", "web-b"] == known()
        await cluster.delete(made)
        await cluster.clock.sleep(1)
        assert ["web-b"] == known()
        running.cancel()

    run_cluster(check)
