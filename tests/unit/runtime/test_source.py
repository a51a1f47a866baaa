"""Which keys a source enqueues for a change, and at which priority."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject
from kubeloop.apimachinery.resource import CONFIG_MAPS, Resource
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.reflector import Scope
from kubeloop.client.store import Delta
from kubeloop.runtime.predicates import labels_changed, only_when
from kubeloop.runtime.source import For, Owns, Source, Watches
from kubeloop.runtime.workqueue import LOW_PRIORITY
from kubeloop.testing.virtual_time import LoopClock, run

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
FARMS = Resource("example.com", "v1", "farms", "Farm", namespaced=False)


class Nobody:
    """A transport that is never asked."""

    async def aclose(self) -> None: ...


class Noted:
    """A queue that remembers what was put into it: key, priority, and after how long where that is not at once."""

    def __init__(self) -> None:
        self.keys: list[tuple[Any, ...]] = []

    def add(self, key: ObjectKey, priority: int = 0) -> None:
        self.keys.append((str(key), priority))

    def add_after(self, key: ObjectKey, seconds: float, priority: int = 0) -> None:
        self.keys.append((str(key), priority, seconds))


def enqueued(make: Callable[[Informer], Source], *steps: str | Object, **options: object) -> list[tuple[Any, ...]]:
    """Steps are objects that appear or change, "start" the source, "resync" it, and "-name" (gone)."""

    async def main() -> list[tuple[Any, ...]]:
        informer = Informer(Api("http://x", Nobody()), Scope(CONFIG_MAPS), LoopClock(), random.Random(1))  # type: ignore[arg-type]
        source = make(informer)
        found = Noted()
        for step in steps:
            if step == "start":
                source.start(found, **options)  # type: ignore[arg-type]
            elif step == "resync":
                source.resync(found)
            elif isinstance(step, str):
                delta = informer.store.remove(ObjectKey("default", step.lstrip("-")))
                informer.notify([delta] if delta else [])
            else:
                informer.notify([informer.store.put(step)])
        return found.keys

    return run(main())


def an_object(name: str, *owners: ReadOnlyObject, **labels: str) -> Object:
    return {"metadata": {"name": name, "namespace": "default", "labels": labels, "ownerReferences": list(owners)}}


def an_owner(name: str, kind: str = "Widget", version: str = "example.com/v1", **fields: bool) -> Object:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": name, **fields}


def test_news_may_be_gathered() -> None:
    """Each key of a change comes after the time that its source names; what is no news is not waited for."""

    def delay(key: ObjectKey, delta: Delta) -> float:
        return 5.0 if delta.old is None else len(key.name)

    def make(informer: Informer) -> Source:
        return Owns(informer, WIDGETS, delay=delay)

    web, shop = an_owner("web", controller=True), an_owner("shop", controller=True)

    found = enqueued(make, an_object("1", web), "start", an_object("2", shop), an_object("2", web), "resync")

    assert [
        ("default/web", LOW_PRIORITY),
        ("default/shop", 0, 5.0),
        ("default/shop", 0, 4),
        ("default/web", 0, 3),
    ] == found


def test_what_was_there_before_and_a_resync_can_wait() -> None:
    """Their keys come at low priority, those of changes at the usual one."""
    found = enqueued(For, an_object("old"), "start", an_object("new"), an_object("old", a="b"), "resync")

    assert [
        ("default/old", LOW_PRIORITY),
        ("default/new", 0),
        ("default/old", 0),
        ("default/old", LOW_PRIORITY),
        ("default/new", LOW_PRIORITY),
    ] == found


def test_the_first_list_of_a_late_informer_can_wait_too() -> None:
    """An informer that was started together with its source tells its first list later: that is no change either."""
    assert [("default/a", LOW_PRIORITY), ("default/b", 0)] == enqueued(For, "start", an_object("a"), an_object("b"))


def test_a_controllers_predicates_hold_beside_the_sources_own() -> None:
    """A change has to pass both."""

    def make(informer: Informer) -> Source:
        return For(informer, [labels_changed])

    steps = (an_object("a"), "start", an_object("a"), an_object("a", x="y"), an_object("b"), "-b")

    own = [key for key, *_ in enqueued(make, *steps)]
    both = [key for key, *_ in enqueued(make, *steps, predicates=[only_when(updated=True)])]

    assert ["default/a", "default/a", "default/b", "default/b"] == own
    assert ["default/a"] == both


def test_owners_are_told_by_group_and_kind() -> None:
    """Any version of the owner's group will do; a namesake of another group, kind or without `controller` will not."""
    children = [
        an_object("1", an_owner("web", controller=True)),
        an_object("2", an_owner("beta", version="example.com/v1beta1", controller=True)),
        an_object("3", an_owner("other", version="example.org/v1", controller=True)),
        an_object("4", an_owner("other", kind="Gadget", controller=True)),
        an_object("5", an_owner("one"), an_owner("two"), an_owner("other", kind="Gadget", controller=True)),
        an_object("6"),
    ]

    controlled = enqueued(lambda informer: Owns(informer, WIDGETS), "start", *children)
    owned = enqueued(lambda informer: Owns(informer, WIDGETS, every_owner=True), "start", *children)

    assert ["default/web", "default/beta"] == [key for key, *_ in controlled]
    assert ["default/web", "default/beta", "default/one", "default/two"] == [key for key, *_ in owned]


def test_the_owner_of_a_namespaced_child_may_be_cluster_scoped() -> None:
    """Its key has no namespace."""
    child = an_object("1", an_owner("acme", kind="Farm", controller=True))

    assert ["acme"] == [key for key, *_ in enqueued(lambda informer: Owns(informer, FARMS), "start", child)]


def test_a_mapped_change_enqueues_what_it_was_and_what_it_is() -> None:
    """A pod that moves from one node to another concerns both."""

    def to_label(obj: Object) -> list[ObjectKey]:
        return [ObjectKey("", obj["metadata"]["labels"]["on"])]

    steps = ("start", an_object("a", on="n1"), an_object("a", on="n2"))

    assert ["n1", "n1", "n2"] == [key for key, *_ in enqueued(lambda informer: Watches(informer, to_label), *steps)]
