"""Informers over the real API server: they are right again after everything that may happen to a watch."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from kubeloop.apimachinery.meta import name_of
from kubeloop.apimachinery.resource import CONFIG_MAPS
from kubeloop.client.informer import Informer
from kubeloop.client.reflector import Scope
from kubeloop.testing.builders import a_config_map
from kubeloop.testing.cluster import TEST, Cluster, run_cluster

Step = Callable[[Cluster], Awaitable[None]]


@asynccontextmanager
async def an_informer(cluster: Cluster, **scope: str) -> AsyncIterator[Informer]:
    informer = Informer(
        cluster.api, Scope(CONFIG_MAPS, "default", **scope), cluster.clock, random.Random(1), mutation_detector=True
    )
    running = asyncio.create_task(informer.run())
    await informer.wait_for_sync()
    try:
        yield informer
    finally:
        running.cancel()
        await asyncio.wait([running])


def names(informer: Informer) -> list[str]:
    return sorted(name for obj in informer.list() if (name := name_of(obj)) != "kube-root-ca.crt")


async def change_everything(cluster: Cluster) -> None:
    """From a, b to b (changed), c."""
    await cluster.delete(a_config_map("a"))
    await cluster.patch(a_config_map("b"), {"data": {"changed": "yes"}})
    await cluster.create(a_config_map("c"))


def check_that_an_informer_survives(trouble: Step) -> None:
    async def check(cluster: Cluster) -> None:
        await cluster.create(a_config_map("a"))
        await cluster.create(a_config_map("b"))
        async with an_informer(cluster) as informer:
            before = names(informer)
            await trouble(cluster)
            await cluster.eventually(lambda: names(informer) == ["b", "c"])
            changed = [obj["data"] for obj in informer.list() if name_of(obj) == "b"]
            assert ["a", "b"] == before
            assert [{"changed": "yes"}] == changed

    run_cluster(check)


def test_an_informer_follows_the_server() -> None:
    """Created, changed and deleted objects show up."""
    check_that_an_informer_survives(change_everything)


def test_an_informer_survives_a_cut() -> None:
    """What happened before and after a broken connection is seen."""

    async def trouble(cluster: Cluster) -> None:
        cluster.cut_off(TEST)
        await change_everything(cluster)

    check_that_an_informer_survives(trouble)


def test_an_informer_survives_a_new_server() -> None:
    """The server dies without a word and comes back over the same storage."""

    async def trouble(cluster: Cluster) -> None:
        await cluster.stop_server()
        await cluster.clock.sleep(30)
        await cluster.start_server()
        await change_everything(cluster)

    check_that_an_informer_survives(trouble)


def test_an_informer_survives_hours() -> None:
    """Watches end every few minutes; after hours the informer still follows."""

    async def trouble(cluster: Cluster) -> None:
        await cluster.clock.sleep(3 * 3600)
        await change_everything(cluster)

    check_that_an_informer_survives(trouble)


def test_an_informer_survives_compaction() -> None:
    """While it was cut off the server forgot its version: it lists anew and tells deletions that nobody saw."""

    async def check(cluster: Cluster) -> None:
        await cluster.create(a_config_map("a"))
        await cluster.create(a_config_map("b"))
        async with an_informer(cluster) as informer:
            deleted: list[str] = []
            informer.add_handler(lambda delta: deleted.append(name_of(delta.obj)) if delta.new is None else None)
            await cluster.stop_server()
            await cluster.start_server()  # a new server remembers only what it read from its storage
            cluster.cut_off(TEST)
            await change_everything(cluster)
            await cluster.storage.compact(cluster.storage.head)
            await cluster.eventually(lambda: names(informer) == ["b", "c"])
            assert ["a"] == deleted

    run_cluster(check)


def test_a_selector_makes_leaving_a_deletion() -> None:
    """An object that no longer matches the informer's selector is gone from it, and may come back."""

    async def check(cluster: Cluster) -> None:
        web = await cluster.create(a_config_map("web").labels(app="web"))
        async with an_informer(cluster, label_selector="app=web") as informer:
            await cluster.patch(web, {"metadata": {"labels": {"app": "db"}}})
            await cluster.eventually(lambda: names(informer) == [])
            await cluster.patch(web, {"metadata": {"labels": {"app": "web"}}})
            await cluster.eventually(lambda: names(informer) == ["web"])

    run_cluster(check)
