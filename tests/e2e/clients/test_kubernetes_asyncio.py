"""kubernetes-asyncio: typed, dynamic, its streams and its leader election."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import WSMessage
from kubernetes_asyncio import client, config, utils, watch
from kubernetes_asyncio.dynamic import DynamicClient
from kubernetes_asyncio.dynamic.resource import ResourceInstance
from kubernetes_asyncio.leaderelection.electionconfig import Config
from kubernetes_asyncio.leaderelection.leaderelection import LeaderElection
from kubernetes_asyncio.leaderelection.resourcelock.leaselock import LeaseLock
from kubernetes_asyncio.stream import WsApiClient

from tests.e2e.clients.conftest import RunningPod
from tests.e2e.clients.workloads import a_config_map, a_deployment
from tests.testkit.forgetful import EXPIRED, ForgetfulServer
from tests.testkit.stack import Kubectl, Stack

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore:[Uu]nclosed:ResourceWarning")]


@asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[client.ApiClient]:
    async with await config.new_client_from_config(str(kubeconfig)) as api:
        yield api


@pytest.mark.client("kubernetes-asyncio", "`create_from_dict`, typed objects, watches, scale")
def test_a_deployment_is_made_watched_scaled_and_deleted(kubectl: Kubectl) -> None:
    """A watch tells when it is there, and when it is gone."""
    namespace = kubectl.namespace

    async def main() -> list[str]:
        async with connected(kubectl.kubeconfig) as api:
            apps = client.AppsV1Api(api)
            await utils.create_from_dict(api, a_deployment("web"), namespace=namespace)
            types, is_deleted = [], False
            async with watch.Watch().stream(apps.list_namespaced_deployment, namespace) as events:
                async for event in events:
                    types.append(event["type"])
                    if event["type"] == "DELETED":
                        return types
                    status = event["object"].status
                    if status.available_replicas == 2 and event["object"].spec.replicas == 2:
                        await apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 3}})
                    if status.available_replicas == 3 and not is_deleted:  # more events may say so
                        await apps.delete_namespaced_deployment("web", namespace)
                        is_deleted = True
            return types

    types = asyncio.run(main())

    assert ("ADDED", "DELETED") == (types[0], types[-1])
    assert {"MODIFIED"} == set(types[1:-1])


@pytest.mark.client("kubernetes-asyncio", "the dynamic client: server-side apply, watches")
def test_the_dynamic_client_applies(kubectl: Kubectl) -> None:
    """A field of another manager is a conflict until it is forced; the watch tells of each change."""
    namespace = kubectl.namespace

    async def main() -> tuple[ResourceInstance, list[str]]:
        async with connected(kubectl.kubeconfig) as api:
            dynamic = await DynamicClient(api)
            config_maps = await dynamic.resources.get(api_version="v1", kind="ConfigMap")
            red, blue = a_config_map("settings", colour="red"), a_config_map("settings", colour="blue")
            made = await config_maps.server_side_apply(red, namespace=namespace, field_manager="alice")
            refused = await config_maps.server_side_apply(blue, namespace=namespace, field_manager="bob")
            await config_maps.server_side_apply(blue, namespace=namespace, field_manager="bob", force_conflicts=True)
            await config_maps.delete(name="settings", namespace=namespace)
            seen = []
            async for event in config_maps.watch(
                namespace=namespace, resource_version=made.metadata.resourceVersion, timeout=180
            ):
                seen.append(f"{event['type']} {event['object'].data.colour}")
                if event["type"] == "DELETED":
                    break
            return refused, seen

    refused, seen = asyncio.run(main())

    assert ("Status", 409, "Conflict") == (refused.kind, refused.code, refused.reason)  # this client raises nothing
    assert 'conflict with "alice": .data.colour' in refused.message
    assert ["MODIFIED blue", "DELETED blue"] == seen


@pytest.mark.client("kubernetes-asyncio", "exec, and logs that follow")
def test_streams_of_a_pod(stack: Stack, web: RunningPod) -> None:
    """What a command writes, message by message, and how it ends; the log is streamed."""

    async def main() -> tuple[str, list[WSMessage], str]:
        streams = {"stdout": True, "stderr": True}
        await config.load_kube_config(str(stack.kubectl.kubeconfig))
        async with WsApiClient() as sockets:
            run = client.CoreV1Api(sockets).connect_get_namespaced_pod_exec
            name = await run(web.name, web.namespace, command=["hostname"], **streams)
            command = ["sh", "-c", "echo out; exit 3"]
            async with await run(web.name, web.namespace, command=command, _preload_content=False, **streams) as answer:
                messages = [message.data async for message in answer]
        async with connected(stack.kubectl.kubeconfig) as api:
            log = client.CoreV1Api(api).read_namespaced_pod_log
            async with watch.Watch().stream(log, web.name, web.namespace, follow=True) as lines:
                async for line in lines:
                    return name, messages, line
        raise AssertionError("nothing is logged")

    name, (begins, out, status), line = asyncio.run(main())

    assert ("web\n", b"\1", b"\1out\n") == (name, begins, out)
    assert 3 == WsApiClient.parse_error_data(status[1:])
    assert "is simulated on node" in line


@pytest.mark.client("kubernetes-asyncio", "watches after 410")
def test_a_watch_that_missed_too_much_is_told(forgetful: ForgetfulServer) -> None:
    """410; a list, and a watch from there, go on."""

    async def main() -> tuple[int, str]:
        async with connected(forgetful.kubectl.kubeconfig) as api:
            config_maps = client.CoreV1Api(api).list_namespaced_config_map
            with pytest.raises(client.ApiException) as expired:
                async with watch.Watch().stream(config_maps, "default", resource_version=EXPIRED) as events:
                    await anext(events)
            listed = await config_maps("default")
            forgetful.create_config_map("after-the-list")
            from_here = listed.metadata.resource_version
            async with watch.Watch().stream(config_maps, "default", resource_version=from_here) as events:
                event = await anext(events)
            return expired.value.status, event["object"].metadata.name

    assert (410, "after-the-list") == asyncio.run(main())


@pytest.mark.client("kubernetes-asyncio", "leader election")
def test_whoever_holds_the_lease_leads(kubectl: Kubectl) -> None:
    """When its holder goes without a word the lease runs out, and the next one has it."""

    async def main() -> None:
        async with connected(kubectl.kubeconfig) as api, asyncio.TaskGroup() as tasks:

            def candidate(name: str) -> tuple[asyncio.Event, asyncio.Task[None]]:
                leads = asyncio.Event()

                async def lead() -> None:
                    leads.set()

                lock = LeaseLock("shop", kubectl.namespace, name, api)
                election = LeaderElection(Config(lock, 3, 2, 1, onstarted_leading=lead, onstopped_leading=None))
                return leads, tasks.create_task(election.run())

            alice_leads, alice = candidate("alice")
            await alice_leads.wait()
            bob_leads, bob = candidate("bob")
            before = await client.CoordinationV1Api(api).read_namespaced_lease("shop", kubectl.namespace)
            alice.cancel()
            await bob_leads.wait()
            after = await client.CoordinationV1Api(api).read_namespaced_lease("shop", kubectl.namespace)
            bob.cancel()
            holders.extend((before.spec.holder_identity, after.spec.holder_identity))

    holders: list[str] = []
    asyncio.run(asyncio.wait_for(main(), 180))

    assert ["alice", "bob"] == holders
