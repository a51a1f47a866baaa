"""What informers hold, against the real server: parts of a resource, parts of its objects, and reads through them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kubeloop.apimachinery.errors import Conflict, NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, name_of
from kubeloop.apimachinery.resource import CONFIG_MAPS, PODS, SECRETS
from kubeloop.client.api import Api
from kubeloop.client.store import Delta
from kubeloop.client.transport import ConnectionFailed
from kubeloop.runtime.apply import CREATED, UNCHANGED, UPDATED, create_or_update
from kubeloop.runtime.manager import Manager, ManagerOptions
from kubeloop.testing.builders import a_config_map, a_node, a_pod
from kubeloop.testing.cluster import BASE_URL, TEST, Cluster, run_cluster


def run_with_manager(check: Callable[[Cluster, Manager], Coroutine[Any, Any, None]]) -> None:
    """`check` beside a running manager."""

    async def main(cluster: Cluster) -> None:
        options = ManagerOptions(mutation_detector=True)
        manager = Manager(cluster.api, cluster.clock, random.Random(1), options)
        running = asyncio.create_task(manager.run())
        await cluster.clock.sleep(0)
        await check(cluster, manager)
        manager.stop()
        await running

    run_cluster(main)


def names(objects: list[Object]) -> list[str]:
    return sorted(map(name_of, objects))


def is_bare(obj: Object, kind: str) -> bool:
    return set(obj) == {"apiVersion", "kind", "metadata"} and obj["kind"] == kind


def test_a_metadata_only_informer_holds_no_spec() -> None:
    """Listed and watched objects have apiVersion, kind (their own) and metadata only; selectors work as ever."""

    async def check(cluster: Cluster, manager: Manager) -> None:
        await cluster.create(a_pod("listed").labels(app="web"))
        await cluster.create(a_pod("other"))
        pods = manager.informer(PODS, label_selector="app=web", metadata_only=True)
        await pods.wait_for_sync()
        watched = await cluster.create(a_pod("watched").labels(app="web"))
        await cluster.eventually(lambda: names(pods.list()) == ["listed", "watched"])
        assert all(is_bare(pod, "Pod") for pod in pods.list())
        assert watched["metadata"] == pods.get(ObjectKey("default", "watched"))["metadata"]  # type: ignore[index]
        await cluster.patch(watched, {"metadata": {"annotations": {"a": "b"}}})
        await cluster.eventually(lambda: "annotations" in pods.get(ObjectKey("default", "watched"))["metadata"])  # type: ignore[index]
        await cluster.delete(watched, grace_period_seconds=0)
        await cluster.eventually(lambda: names(pods.list()) == ["listed"])

    run_with_manager(check)


def test_a_metadata_only_informer_survives_what_others_survive() -> None:
    """Cut off and with its version compacted away it lists anew, still without specs."""

    async def check(cluster: Cluster, manager: Manager) -> None:
        pods = manager.informer(PODS, metadata_only=True)
        await cluster.create(a_pod("a"))
        await cluster.eventually(lambda: names(pods.list()) == ["a"])
        await cluster.stop_server()
        await cluster.start_server()
        cluster.cut_off(TEST)
        await cluster.create(a_pod("b"))
        await cluster.storage.compact(cluster.storage.head)
        await cluster.eventually(lambda: names(pods.list()) == ["a", "b"])
        assert all(is_bare(pod, "Pod") for pod in pods.list())

    run_with_manager(check)


def test_who_needs_only_metadata_shares_what_others_hold_whole() -> None:
    """One watch a resource: of whole objects where somebody asked for them before, else of metadata."""

    async def check(cluster: Cluster, manager: Manager) -> None:
        whole = manager.informer(PODS)
        assert whole is manager.metadata_informer(PODS)
        assert manager.metadata_informer(SECRETS) is manager.informer(SECRETS, metadata_only=True)

    run_with_manager(check)


def test_one_object_can_be_read_without_its_contents() -> None:
    """`get` and `list` of the Api, too."""

    async def check(cluster: Cluster) -> None:
        await cluster.create(a_config_map("web", a="1"))
        assert is_bare(await cluster.api.get(CONFIG_MAPS, "web", "default", metadata_only=True), "ConfigMap")
        page = await cluster.api.list(CONFIG_MAPS, "default", metadata_only=True, field_selector="metadata.name=web")
        assert [True] == [is_bare(item, "ConfigMap") for item in page["items"]]

    run_cluster(check)


def test_a_field_selected_informer_drops_what_stops_matching() -> None:
    """A pod that is bound leaves the informer of unbound pods as if deleted, and enters that of its node."""

    async def check(cluster: Cluster, manager: Manager) -> None:
        await cluster.add_node(a_node("n1"))
        await cluster.create(a_pod("before").on("n1"))
        pod = await cluster.create(a_pod("web"))
        unbound = manager.informer(PODS, field_selector="spec.nodeName=")
        bound = manager.informer(PODS, field_selector="spec.nodeName=n1")
        told: list[str] = []
        unbound.add_handler(lambda delta: told.append(what(delta)))
        await cluster.eventually(lambda: names(unbound.list()) == ["web"])
        target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web"}, "target": target}
        await cluster.api.create(PODS, binding, "default", name=name_of(pod), subresource="binding")
        await cluster.eventually(lambda: names(bound.list()) == ["before", "web"])
        await cluster.eventually(lambda: unbound.list() == [])
        assert ("added", "deleted") == (told[0], told[-1])

    def what(delta: Delta) -> str:
        return "added" if delta.old is None else "deleted" if delta.new is None else "updated"

    run_with_manager(check)


def test_objects_are_found_by_a_field() -> None:
    """An index by field follows the objects; values of lists are found one by one."""

    async def check(cluster: Cluster, manager: Manager) -> None:
        pods = manager.informer(PODS)
        pods.index_field("spec.containers.image")
        pod = await cluster.create(a_pod("web").image("web:1"))
        await cluster.eventually(lambda: names(pods.by_index("spec.containers.image", "web:1")) == ["web"])
        await cluster.patch(pod, {"spec": {"containers": [{**pod["spec"]["containers"][0], "image": "web:2"}]}})
        await cluster.eventually(lambda: names(pods.by_index("spec.containers.image", "web:2")) == ["web"])
        assert [] == pods.by_index("spec.containers.image", "web:1")

    run_with_manager(check)


def test_what_is_as_wished_in_the_cache_costs_no_request() -> None:
    """create_or_update over an informer asks the server for nothing; a cache that is behind ends in a Conflict."""

    async def check(cluster: Cluster, manager: Manager) -> None:
        config_maps = manager.informer(CONFIG_MAPS)
        await config_maps.wait_for_sync()

        async def bring_to(value: str) -> str:
            def shape(obj: Object) -> None:
                obj["data"] = {"a": value}

            _, outcome = await create_or_update(cluster.api, CONFIG_MAPS, "web", "default", shape, config_maps)
            return outcome

        assert [CREATED, UNCHANGED] == [await bring_to("1"), await bring_to("1")]  # not in the cache yet: read
        await cluster.eventually(lambda: config_maps.get(ObjectKey("default", "web")))
        cluster.transport(TEST).refuse(True)
        assert UNCHANGED == await bring_to("1")
        cluster.transport(TEST).refuse(False)
        assert UPDATED == await bring_to("2")
        with pytest.raises(Conflict):
            await bring_to("3")

    run_with_manager(check)


def test_a_reader_answers_from_the_cache() -> None:
    """The first read of a kind lists it; from then on nothing is asked, and changes are seen all the same."""

    async def check(cluster: Cluster, manager: Manager) -> None:
        await cluster.create(a_config_map("web", a="1").labels(app="web"))
        reader = manager.reader()
        assert {"a": "1"} == (await reader.get(CONFIG_MAPS, "web", "default"))["data"]
        cluster.transport(TEST).refuse(True)  # watches go on, nothing new may be asked
        await Api(BASE_URL, cluster.transport("somebody else")).create(CONFIG_MAPS, a_config_map("db").labels(app="db"))
        await cluster.clock.sleep(1)
        assert ["db"] == names(await reader.list(CONFIG_MAPS, "default", label_selector="app=db"))
        assert ["db"] == names(await reader.by_field(CONFIG_MAPS, "metadata.labels.app", "db"))
        with pytest.raises(NotFound, match='configmaps "absent" not found'):
            await reader.get(CONFIG_MAPS, "absent", "default")
        cluster.transport(TEST).refuse(False)

    run_with_manager(check)


def test_what_is_not_to_be_cached_is_read_from_the_server() -> None:
    """One's own writes are seen at once, and where there is no server there is no answer."""

    async def check(cluster: Cluster, manager: Manager) -> None:
        reader = manager.reader(uncached=[SECRETS])
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
        await cluster.create(secret)
        assert "s" == name_of(await reader.get(SECRETS, "s", "default"))
        assert ["s"] == names(await reader.list(SECRETS, "default"))
        cluster.transport(TEST).refuse(True)
        with pytest.raises(ConnectionFailed):
            await reader.get(SECRETS, "s", "default")
        cluster.transport(TEST).refuse(False)

    run_with_manager(check)
