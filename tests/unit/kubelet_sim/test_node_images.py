"""The images of nodes in an in-process cluster: pulled once, listed in the status, removed when the disk is full."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kubelet_sim import images
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import EVENTS, NODES, PODS
from kubeloop.testing.builders import PodBuilder
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.test_nodes import KUBELET, pod_on, ready_nodes, run_nodes, running, writes_to

Listed = Callable[[list[str]], bool]


def using(image: str, node: str, name: str) -> PodBuilder:
    return pod_on(node, name, containers=[{"name": "c", "image": image}])


async def run(cluster: Cluster, image: str, node: str = "node-0", name: str = "web") -> Object:
    pod = await cluster.create(using(image, node, name))
    await cluster.eventually(partial(running, cluster, pod))
    return pod


async def told_of(cluster: Cluster, name: str) -> list[str]:
    """Once everything of a pod that has started is told."""

    async def told() -> list[str]:
        events = [event for event in await cluster.list(EVENTS) if event["involvedObject"]["name"] == name]
        reasons = [event["reason"] for event in sorted(events, key=lambda one: int(one["metadata"]["resourceVersion"]))]
        return reasons if "Started" in reasons else []

    return await cluster.eventually(told)


async def listed(cluster: Cluster, until: Listed = bool, node: str = "node-0") -> list[str]:
    """The short names of the images in its status, once `until` is true of them."""

    async def names() -> list[str] | None:
        status = (await cluster.api.get(NODES, node))["status"]
        found = [one["names"][-1] for one in status.get("images") or ()]
        return found if until(found) else None

    found = await cluster.eventually(names, within_seconds=60)
    assert found is not None
    return found


def test_a_node_pulls_an_image_once() -> None:
    """The next pod there finds it, under any of its names; on another node it is pulled again."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        await run(cluster, "web:1", name="first")
        await run(cluster, "docker.io/library/web:1", name="second")
        await run(cluster, "web:1", "node-1", "elsewhere")

        assert ["Pulling", "Pulled", "Created", "Started"] == await told_of(cluster, "first")
        assert ["Pulled", "Created", "Started"] == await told_of(cluster, "second")
        assert ["Pulling", "Pulled", "Created", "Started"] == await told_of(cluster, "elsewhere")

    run_nodes(check)


def test_the_images_of_a_node_are_listed() -> None:
    """The largest first, with their names and a size that is always the same."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        used = ["web:1", "quay.io/team/db:2", "queue"]
        for number, image in enumerate(used):
            await run(cluster, image, name=f"pod-{number}")
        await listed(cluster, lambda names: len(names) == 3)

        found = (await cluster.api.get(NODES, "node-0"))["status"]["images"]
        sizes = {images.reference(image): images.size_bytes(images.reference(image)) for image in used}
        wanted = sorted(sizes, key=lambda one: -sizes[one])
        assert [{"names": images.names(one), "sizeBytes": sizes[one]} for one in wanted] == found

    run_nodes(check)


def test_many_new_images_are_few_writes() -> None:
    """The list is written after a while with all that came meanwhile; the nodes write once each, spread over time."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 4))
        await cluster.settled()
        since = len(writes_to(cluster, "/status"))
        for number in range(24):
            await run(cluster, f"image-{number // 4}:1", f"node-{number % 4}", f"pod-{number}")
        for number in range(4):
            await listed(cluster, lambda names: len(names) == 6, f"node-{number}")
        await cluster.clock.sleep(60)

        assert 1 <= len(writes_to(cluster, "/status")[since:]) - 2 * 24 <= 2 * 4

    run_nodes(check, nodes=4)


def test_a_restart_forgets_no_image() -> None:
    """Neither those in the status, whose pods may be gone, nor those of pods that run, which may not be listed yet."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster))
        await cluster.delete(await run(cluster, "listed:1"))
        await listed(cluster)
        await run(cluster, "running:1", name="stays")
        await cluster.stop(KUBELET)
        cluster.start(KUBELET)
        await run(cluster, "listed:1", name="a")
        await run(cluster, "running:1", name="b")

        assert "Pulling" not in await told_of(cluster, "a") + await told_of(cluster, "b")
        assert {"listed:1", "running:1"} == set(await listed(cluster, lambda names: len(names) == 2))

    run_nodes(check)


def test_a_full_disk_loses_what_was_not_used_for_the_longest_time() -> None:
    """Until a fifth of it is free; what a pod uses stays, and what is not there any more is pulled again."""

    async def check(cluster: Cluster) -> None:
        await cluster.eventually(lambda: ready_nodes(cluster, 1))
        await run(cluster, "in-use:1", name="stays")
        for number in range(30):
            await cluster.delete(await run(cluster, f"image-{number}:1", name=f"pod-{number}"))
        await cluster.eventually(lambda: only_one(cluster))
        names = await listed(cluster, lambda names: "image-29:1" in names)

        sizes = [images.size_bytes(images.reference(name)) for name in names]
        assert sum(sizes) < 2**30 * 0.85
        assert "in-use:1" in names and "image-0:1" not in names
        kept = sorted(int(name.split("-")[1].removesuffix(":1")) for name in names if name != "in-use:1")
        assert list(range(kept[0], 30)) == kept
        await run(cluster, "image-0:1", name="again")
        assert "Pulling" in await told_of(cluster, "again")

    run_nodes(check, nodes=1, node_ephemeral_storage="1Gi")


async def only_one(cluster: Cluster) -> bool:
    return len(await cluster.list(PODS, "default")) == 1
