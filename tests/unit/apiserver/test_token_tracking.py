"""When tokens in Secrets were last used."""

from __future__ import annotations

import asyncio

from apiserver.token_tracking import TokenTracking
from kubeloop.apimachinery.meta import Object, labels_of
from kubeloop.apimachinery.resource import CONFIG_MAPS
from kubeloop.testing.cluster import Cluster, run_cluster

DAY = 24 * 60 * 60.0
LAST_USED = "kubernetes.io/legacy-token-last-used"
TRACKING = "kube-apiserver-legacy-service-account-token-tracking"
SECRET: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token", "namespace": "default"}}


def test_uses_are_noted_once_a_day() -> None:
    """With the day, beside the labels that are there."""

    async def check(cluster: Cluster) -> list[tuple[str, Object]]:
        tracking = TokenTracking(cluster.server.registry, cluster.clock)
        running = asyncio.create_task(tracking.run())
        secret = await cluster.create({**SECRET, "metadata": {**SECRET["metadata"], "labels": {"a": "b"}}})
        seen = []
        for seconds in (60.0, 60.0, DAY):
            await cluster.clock.sleep(seconds)
            tracking.used(secret)
            await cluster.clock.sleep(1)
            secret = await cluster.read(secret)
            seen.append((secret["metadata"]["resourceVersion"], dict(labels_of(secret))))
        running.cancel()
        return seen

    first, second, third = run_cluster(check, limit_seconds=3 * DAY)

    assert {"a": "b", LAST_USED: "2026-01-01"} == first[1]
    assert first == second
    assert {"a": "b", LAST_USED: "2026-01-02"} == third[1]


def test_a_secret_that_is_gone_is_not_noted() -> None:
    """Nor one that took its name."""

    async def check(cluster: Cluster) -> Object:
        tracking = TokenTracking(cluster.server.registry, cluster.clock)
        running = asyncio.create_task(tracking.run())
        old = await cluster.create(SECRET)
        await cluster.delete(old)
        tracking.used(old)
        await cluster.clock.sleep(1)
        await cluster.create(SECRET)
        tracking.used(old)
        await cluster.clock.sleep(1)
        running.cancel()
        return await cluster.read(SECRET)

    assert LAST_USED not in labels_of(run_cluster(check))


def test_it_is_said_since_when() -> None:
    """From the first start on; what says nothing is put right, and what says something stays."""

    async def check(cluster: Cluster) -> list[Object]:
        async def since() -> Object:
            data: Object = (await cluster.api.get(CONFIG_MAPS, TRACKING, "kube-system"))["data"]
            return data

        first = await since()
        await cluster.clock.sleep(DAY)
        await cluster.stop_server()
        await cluster.start_server()
        second = await since()
        await cluster.api.patch(CONFIG_MAPS, TRACKING, {"data": {"since": "ever"}}, "kube-system")
        await cluster.stop_server()
        await cluster.start_server()
        return [first, second, await since()]

    kept, mended = {"since": "2026-01-01"}, {"since": "2026-01-02"}
    assert [kept, kept, mended] == run_cluster(check, limit_seconds=3 * DAY)
