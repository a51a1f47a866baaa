"""Token Secrets that old clusters made of themselves go once nobody uses them."""

from __future__ import annotations

from functools import partial

from controllers import legacy_tokens
from kubeloop.apimachinery.meta import Object, labels_of, name_of
from kubeloop.apimachinery.resource import SECRETS
from kubeloop.testing.builders import a_pod
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster

DAY = 24 * 60 * 60.0
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
LOOPS = {"cleaner": a_loop(partial(legacy_tokens.add_to, legacy_token_seconds=2 * DAY))}


def a_secret(name: str, **labels: str) -> Object:
    annotations = {"kubernetes.io/service-account.name": "robot"}
    metadata = {"name": name, "namespace": "default", "annotations": annotations, "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": metadata}


async def prepare(cluster: Cluster) -> None:
    """An account whose tokens it lists, but for one made by hand; one is mounted, and one was used lately."""
    listed = [{"name": name} for name in ("old", "mounted", "used", "odd")]
    metadata = {"name": "robot", "namespace": "default"}
    await cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "secrets": listed})
    for name in ("old", "mounted", "manual"):
        await cluster.create(a_secret(name))
    await cluster.create(a_secret("used", **{"kubernetes.io/legacy-token-last-used": "2026-01-06"}))
    await cluster.create(a_secret("odd", **{"kubernetes.io/legacy-token-last-used": "lately"}))
    volume = {"name": "token", "secret": {"secretName": "mounted"}}
    await cluster.create(a_pod("web").spec(volumes=[volume]))


async def marks(cluster: Cluster) -> dict[str, str]:
    """The Secrets there are, and since when their tokens are no longer good."""
    return {name_of(secret): labels_of(secret).get(INVALID_SINCE, "") for secret in await cluster.list(SECRETS)}


def test_unused_tokens_are_marked_and_go_later() -> None:
    """After as long a time each; who made a token by hand, mounts it or uses it, keeps it."""

    async def check(cluster: Cluster) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
        await prepare(cluster)
        await cluster.clock.sleep(2.5 * DAY)
        early = await marks(cluster)
        await cluster.clock.sleep(DAY)
        marked = await marks(cluster)
        await cluster.clock.sleep(3 * DAY)
        return early, marked, await marks(cluster)

    early, marked, gone = run_cluster(check, processes=LOOPS, limit_seconds=10 * DAY)

    kept = {"mounted": "", "manual": "", "used": "", "odd": ""}
    assert {**kept, "old": ""} == early
    assert {**kept, "old": "2026-01-04"} == marked
    assert kept == gone


def test_nothing_is_marked_while_nobody_knows_what_is_used() -> None:
    """Without the note since when uses are noted."""

    async def check(cluster: Cluster) -> dict[str, str]:
        await prepare(cluster)
        path = "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking"
        await cluster.api.request("DELETE", path)
        await cluster.clock.sleep(4.5 * DAY)
        return await marks(cluster)

    assert not any(run_cluster(check, processes=LOOPS, limit_seconds=10 * DAY).values())
