"""What becomes of a writer who is not the fastest."""

import asyncio

from kubeloop.apimachinery.errors import Conflict
from kubeloop.apimachinery.meta import Object, resource_version_of
from kubeloop.apimachinery.resource import CONFIG_MAPS
from kubeloop.testing.builders import a_config_map
from kubeloop.testing.cluster import Cluster, run_cluster

MANY = [f"key-{number:02}" for number in range(20)]


async def patched(cluster: Cluster, key: str, **metadata: str) -> Object:
    return await cluster.api.patch(CONFIG_MAPS, "shared", {"metadata": metadata, "data": {key: "x"}}, "default")


def test_patches_at_once_all_succeed() -> None:
    """A patch that names no version is applied to whatever the faster ones left."""

    async def check(cluster: Cluster) -> Object:
        await cluster.create(a_config_map("shared"))
        await asyncio.gather(*(patched(cluster, key) for key in MANY))
        return await cluster.api.get(CONFIG_MAPS, "shared", "default")

    shared = run_cluster(check)

    assert MANY == sorted(shared["data"])


def test_of_patches_that_name_a_version_one_succeeds() -> None:
    """The others are told that the object has been modified."""

    async def check(cluster: Cluster) -> list[object]:
        version = resource_version_of(await cluster.create(a_config_map("shared")))
        attempts = (patched(cluster, key, resourceVersion=version) for key in MANY)
        return await asyncio.gather(*attempts, return_exceptions=True)

    outcomes = run_cluster(check)

    assert len(MANY) - 1 == sum(isinstance(outcome, Conflict) for outcome in outcomes)
