"""Device claims: made for pods from templates, named in their status, and gone with them."""

from __future__ import annotations

from typing import Any

import pytest

from controllers import resource_claims
from controllers.resource_claims.model import FINALIZER, claim_from
from kubeloop.apimachinery.meta import Object, annotations_of, finalizers_of, labels_of, name_of, uid_of
from kubeloop.apimachinery.resource import EVENTS, PODS, RESOURCE_CLAIMS
from kubeloop.testing.builders import a_pod
from kubeloop.testing.cluster import Cluster, a_loop, run_cluster

LOOP = {"claims": a_loop(resource_claims.add_to)}
DEVICES = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpus"}}]}}
ALLOCATION: Object = {
    "devices": {"results": [{"request": "gpu", "driver": "gpu.example.com", "pool": "p", "device": "d"}]}
}


def a_template(name: str = "gpus") -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": DEVICES},
    }


def a_claim(name: str = "mine") -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": DEVICES}


def a_user(name: str = "web", **claim: str) -> Object:
    return a_pod(name).spec(resourceClaims=[{"name": "gpu", **(claim or {"resourceClaimTemplateName": "gpus"})}])


async def claims(cluster: Cluster) -> list[Object]:
    return list(await cluster.list(RESOURCE_CLAIMS))


async def named(cluster: Cluster, pod: str = "web") -> Any:
    return (await cluster.api.get(PODS, pod, "default"))["status"].get("resourceClaimStatuses")


async def end(cluster: Cluster, pod: str) -> None:
    await cluster.api.patch(PODS, pod, {"status": {"phase": "Succeeded"}}, "default", subresource="status")


async def allocate(cluster: Cluster, claim: Object, *pods: Object) -> None:
    """As the scheduler does."""
    claim = await cluster.api.patch(
        RESOURCE_CLAIMS, name_of(claim), {"metadata": {"finalizers": [FINALIZER]}}, "default"
    )
    reserved = [{"resource": "pods", "name": name_of(pod), "uid": uid_of(pod)} for pod in pods]
    status = {"allocation": ALLOCATION, **({"reservedFor": reserved} if reserved else {})}
    await cluster.api.update(RESOURCE_CLAIMS, {**claim, "status": status}, subresource="status")


def test_a_pod_gets_its_claim_from_the_template() -> None:
    """Its own, with the template's labels and annotations, named in its status."""

    async def check(cluster: Cluster) -> tuple[Object, Any, Object]:
        await cluster.create(a_template())
        pod = await cluster.create(a_user())
        await cluster.settled()
        return (await claims(cluster))[0], await named(cluster), pod

    claim, statuses, pod = run_cluster(check, processes=LOOP)

    assert name_of(claim).startswith("web-gpu-")
    assert [{"name": "gpu", "resourceClaimName": name_of(claim)}] == statuses
    assert [uid_of(pod)] == [owner["uid"] for owner in claim["metadata"]["ownerReferences"]]
    assert {"c": "d", "resource.kubernetes.io/pod-claim-name": "gpu"} == annotations_of(claim)
    assert ({"a": "b"}, "gpus") == (
        labels_of(claim),
        claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"],
    )


def test_long_names_are_cut_in_proportion() -> None:
    """Something of both remains."""
    made = claim_from(a_template(), {"metadata": {"name": "p" * 60, "uid": "u"}}, "c" * 30)

    assert f"{'p' * 37}-{'c' * 18}" == made["metadata"]["generateName"]


def test_a_template_that_is_missing_is_told_and_waited_for() -> None:
    """The pod's claim is made once the template is there."""

    async def check(cluster: Cluster) -> tuple[set[tuple[str, str]], int]:
        await cluster.create(a_user())
        await cluster.clock.sleep(5)
        told = {(event["reason"], event["message"]) for event in await cluster.list(EVENTS)}
        await cluster.create(a_template())
        await cluster.settled()
        return told, len(await claims(cluster))

    told, made = run_cluster(check, processes=LOOP)

    message = (
        'PodResourceClaim gpu: resource claim template "gpus": resourceclaimtemplate.resource.k8s.io "gpus" not found'
    )
    assert ({("FailedResourceClaimCreation", message)}, 1) == (told, made)


def test_a_claim_made_before_a_restart_is_taken_up() -> None:
    """The loop died before it noted the claim: no second one is made."""

    async def check(cluster: Cluster) -> tuple[list[str], Any]:
        await cluster.create(a_template())
        await cluster.stop("claims")
        pod = await cluster.create(a_user())
        made = await cluster.api.create(RESOURCE_CLAIMS, claim_from(a_template(), pod, "gpu"), "default")
        cluster.start("claims")
        await cluster.settled()
        return [name_of(made)], await named(cluster)

    names, statuses = run_cluster(check, processes=LOOP)

    assert [{"name": "gpu", "resourceClaimName": names[0]}] == statuses


def test_a_claim_that_was_deleted_is_made_again() -> None:
    """The pod may still run, and its status names the new one."""

    async def check(cluster: Cluster) -> tuple[str, list[str], Any]:
        await cluster.create(a_template())
        await cluster.create(a_user())
        await cluster.settled()
        first = name_of((await claims(cluster))[0])
        await cluster.api.delete(RESOURCE_CLAIMS, first, "default")
        await cluster.settled()
        return first, [name_of(claim) for claim in await claims(cluster)], await named(cluster)

    first, now, statuses = run_cluster(check, processes=LOOP)

    assert first not in now
    assert [{"name": "gpu", "resourceClaimName": now[0]}] == statuses


def test_a_claim_goes_when_its_pod_has_ended() -> None:
    """The pod's object may stay for long."""

    async def check(cluster: Cluster) -> list[Object]:
        await cluster.create(a_template())
        await cluster.create(a_user())
        await cluster.settled()
        await end(cluster, "web")
        await cluster.settled()
        return await claims(cluster)

    assert [] == run_cluster(check, processes=LOOP)


@pytest.mark.parametrize("others", [0, 1])
def test_a_reservation_ends_with_its_pod(others: int) -> None:
    """With the last one the allocation ends too; a claim made by hand stays."""

    async def check(cluster: Cluster) -> Object:
        claim = await cluster.create(a_claim())
        pods = [await cluster.create(a_user(f"p{i}", resourceClaimName="mine")) for i in range(1 + others)]
        await allocate(cluster, claim, *pods)
        await cluster.settled()
        await end(cluster, "p0")
        await cluster.settled()
        return (await claims(cluster))[0]

    claim = run_cluster(check, processes=LOOP)

    status = claim.get("status") or {}
    assert [f"p{i + 1}" for i in range(others)] == [one["name"] for one in status.get("reservedFor", ())]
    assert (bool(others), bool(others)) == ("allocation" in status, FINALIZER in finalizers_of(claim))


def test_a_pod_that_was_put_on_its_node_reserves_for_itself() -> None:
    """Past the scheduler, which would have done it."""

    async def check(cluster: Cluster) -> tuple[str, list[str]]:
        claim = await cluster.create(a_claim())
        await allocate(cluster, claim)
        pod = await cluster.create({**a_user(resourceClaimName="mine")})
        await cluster.api.create(
            PODS,
            {
                **a_user("placed", resourceClaimName="mine"),
                "spec": {**a_user(resourceClaimName="mine")["spec"], "nodeName": "a"},
            },
        )
        await cluster.settled()
        status = (await claims(cluster))[0]["status"]
        return name_of(pod), [one["name"] for one in status["reservedFor"]]

    assert ("web", ["placed"]) == run_cluster(check, processes=LOOP)


def test_a_claim_that_nobody_uses_any_more_can_be_deleted() -> None:
    """Its allocation and the finalizer go."""

    async def check(cluster: Cluster) -> list[Object]:
        claim = await cluster.create(a_claim())
        await allocate(cluster, claim)
        await cluster.api.delete(RESOURCE_CLAIMS, "mine", "default")
        await cluster.settled()
        return await claims(cluster)

    assert [] == run_cluster(check, processes=LOOP)
