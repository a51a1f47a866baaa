"""A small controller, right and wrong in several ways: what the harness has to tell apart.

A ConfigMap labelled `shelf` says how many books it wants; books are ConfigMaps that it owns.
"""

from __future__ import annotations

from enum import Enum, auto

from kubeloop.apimachinery.errors import AlreadyExists
from kubeloop.apimachinery.meta import Object, ObjectKey, controller_of, key_of, labels_of, name_of, namespace_of
from kubeloop.apimachinery.resource import CONFIG_MAPS
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.client.store import Delta
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import Owns, Watches
from kubeloop.testing.builders import a_config_map
from kubeloop.testing.cluster import Cluster, a_loop
from kubeloop.testing.scenario import Scenario
from tests.level_triggered.waiting import until

BOOKS = 3


class Way(Enum):
    """How it is written."""

    RIGHT = auto()  # each book has a name of its own: made once, however often it is tried
    COUNTING = auto()  # makes as many as the cache lacks, with names that the server completes
    EVENTS = auto()  # reads the events: makes books when it hears of a new shelf, or of a book that went


def scenario_of(way: Way) -> Scenario:
    def add_to(manager: Manager) -> None:
        informer = manager.informer(CONFIG_MAPS)
        librarian = Librarian(manager.api, informer, way)
        sources = [Watches(informer, librarian.keys), Owns(informer, CONFIG_MAPS)]
        controller = Controller("librarian", librarian, sources)
        informer.add_handler(librarian.note)
        manager.add(controller)

    return Scenario(f"librarian, {way.name}", {"librarian": a_loop(add_to)}, fill_and_take_one)


class Librarian:
    def __init__(self, api: Api, informer: Informer, way: Way) -> None:
        self._api, self._informer, self._way = api, informer, way
        self._heard_of: set[ObjectKey] = set()

    def keys(self, obj: Object) -> tuple[ObjectKey, ...]:
        return (key_of(obj),) if "shelf" in labels_of(obj) else ()

    def note(self, delta: Delta) -> None:
        if self._informer.has_synced and delta.old is None:
            self._heard_of.add(key_of(delta.obj))
        elif delta.new is None and (shelf := controller_of(delta.obj)) is not None:
            self._heard_of.add(ObjectKey(namespace_of(delta.obj), shelf["name"]))

    async def reconcile(self, key: ObjectKey) -> Result:
        shelf = self._informer.get(key)
        if shelf is None or not self.keys(shelf):
            return DONE
        if self._way is Way.EVENTS and key not in self._heard_of:
            return DONE
        books = [book for book in self._informer.list() if (controller_of(book) or {}).get("name") == key.name]
        names = {name_of(book) for book in books}
        if self._way is Way.COUNTING:
            for _ in range(BOOKS - len(books)):
                await self._make(shelf, {"generateName": "book-"})
        else:
            for name in (f"book-{i}" for i in range(BOOKS)):
                if name not in names:
                    await self._make(shelf, {"name": name})
        self._heard_of.discard(key)
        return DONE

    async def _make(self, shelf: Object, named: Object) -> None:
        book = a_config_map("").owned_by({**shelf, "apiVersion": "v1", "kind": "ConfigMap"})
        metadata = {**book["metadata"], **named}
        if "generateName" in named:
            del metadata["name"]
        try:
            await self._api.create(CONFIG_MAPS, {**book, "metadata": metadata})
        except AlreadyExists:
            return


async def fill_and_take_one(cluster: Cluster) -> None:
    shelf = await cluster.create(a_config_map("shelf").labels(shelf="yes"))

    async def is_full() -> bool:
        return len(await books_of(cluster, shelf)) >= BOOKS

    await until(cluster, is_full)
    await cluster.clock.sleep(60)
    await cluster.delete((await books_of(cluster, shelf))[0])


async def books_of(cluster: Cluster, shelf: Object) -> list[Object]:
    maps = await cluster.list(CONFIG_MAPS, "default")
    return [one for one in maps if (controller_of(one) or {}).get("uid") == shelf["metadata"]["uid"]]
