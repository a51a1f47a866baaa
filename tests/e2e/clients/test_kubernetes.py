"""The official Python client, `kubernetes`: typed, dynamic, its informer and its streams."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import yaml
from kubernetes import aio, client, config, utils, watch
from kubernetes.aio.stream import WsApiClient
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import ConflictError, ResourceNotFoundError
from kubernetes.informer import ADDED, MODIFIED, SharedInformer
from kubernetes.stream import portforward, stream

from tests.e2e.clients.conftest import RunningPod
from tests.e2e.clients.workloads import WIDGETS, a_config_map, a_deployment, a_widget
from tests.testkit.eventually import eventually
from tests.testkit.forgetful import ForgetfulServer
from tests.testkit.stack import Kubectl, Stack, running

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore:[Uu]nclosed:ResourceWarning")]


@pytest.fixture
def api(stack: Stack) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(stack.kubectl.kubeconfig)) as connection:
        yield connection


@pytest.mark.client("kubernetes", "`create_from_yaml`, typed objects, watches, scale, conflicts")
def test_a_deployment_is_made_watched_scaled_and_deleted(api: client.ApiClient, kubectl: Kubectl) -> None:
    """As its examples do it: a file is created, a watch tells when it is there, who is late is told of the conflict."""
    namespace, apps = kubectl.namespace, client.AppsV1Api(api)
    documents = [a_deployment("web"), a_config_map("settings", colour="red")]
    utils.create_from_yaml(api, yaml_objects=documents, namespace=namespace)
    one = {"namespace": namespace, "field_selector": "metadata.name=web"}

    available = []
    for event in watch.Watch().stream(apps.list_namespaced_deployment, **one):
        available.append(event["object"].status.available_replicas)
        if available[-1] == 2:
            break
    late = apps.read_namespaced_deployment("web", namespace)
    scale = apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 3}})
    late.spec.paused = True
    with pytest.raises(client.ApiException) as refused:
        apps.replace_namespaced_deployment("web", namespace, late)
    apps.delete_namespaced_deployment("web", namespace, propagation_policy="Foreground")
    since = late.metadata.resource_version  # it may be gone before a watch of what is there begins
    for event in watch.Watch().stream(apps.list_namespaced_deployment, **one, resource_version=since):
        if event["type"] == "DELETED":
            break

    assert ("web", 3) == (scale.metadata.name, scale.spec.replicas)
    assert (409, "Conflict") == (refused.value.status, json.loads(refused.value.body)["reason"])
    eventually(lambda: not client.CoreV1Api(api).list_namespaced_pod(namespace).items, "its pods go, too")


@pytest.mark.client("kubernetes", "the dynamic client: discovery, server-side apply, subresources, watches")
def test_the_dynamic_client_finds_kinds_that_came_later(
    api: client.ApiClient, kubectl: Kubectl, tmp_path: Path
) -> None:
    """Its cache of what there is was filled before the definition was made."""
    # By default that is a file for this address, which an earlier server may have had.
    namespace, dynamic = kubectl.namespace, DynamicClient(api, cache_file=str(tmp_path / "discovery"))
    with pytest.raises(ResourceNotFoundError):
        dynamic.resources.get(api_version="example.com/v1", kind="Widget")
    definitions = dynamic.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")
    definitions.create(yaml.safe_load(WIDGETS))
    kubectl("wait --for=condition=Established --timeout=180s crd/widgets.example.com")

    widgets = dynamic.resources.get(api_version="example.com/v1", kind="Widget")
    apply = {"namespace": namespace, "field_manager": "alice"}
    made = widgets.server_side_apply(a_widget("w", 3), **apply)
    with pytest.raises(ConflictError) as refused:
        widgets.server_side_apply(a_widget("w", 4), namespace=namespace, field_manager="bob")
    scaled = widgets.scale.patch(
        name="w", namespace=namespace, body={"spec": {"replicas": 5}}, content_type="application/merge-patch+json"
    )
    shown = widgets.status.patch(
        name="w", namespace=namespace, body={"status": {"size": 5}}, content_type="application/merge-patch+json"
    )
    event = next(widgets.watch(namespace=namespace, resource_version=made.metadata.resourceVersion))
    definitions.delete(name="widgets.example.com")
    kubectl("wait --for=delete --timeout=180s crd/widgets.example.com")  # other tests make it anew

    assert 'conflict with "alice": .spec.size' in refused.value.summary()
    assert (5, 5, 5) == (scaled.spec.replicas, shown.status.size, shown.spec.size)
    assert ("MODIFIED", "w", 5) == (event["type"], event["object"].metadata.name, event["object"].spec.size)


@pytest.mark.client("kubernetes", "informers, and watches after 410")
def test_an_informer_that_missed_too_much_lists_anew(forgetful: ForgetfulServer) -> None:
    """A watch from before is told 410; an informer that is started again lists, and then goes on."""
    with config.new_client_from_config(str(forgetful.kubectl.kubeconfig)) as connection:
        config_maps = client.CoreV1Api(connection).list_namespaced_config_map
        added, listed_anew, seen = [], [], {"seen": "yes"}
        informer = SharedInformer(config_maps, namespace="default", label_selector="seen=yes")
        informer.add_event_handler(ADDED, lambda config_map: added.append(config_map.metadata.name))
        informer.add_event_handler(MODIFIED, lambda config_map: listed_anew.append(config_map.metadata.name))
        old = forgetful.create_config_map("first", seen)
        informer.start()
        eventually(lambda: added == ["first"], "its list has the first")
        # Each time it is stopped while it watches: between its list and its watch it does not hear of that.
        forgetful.create_config_map("second", seen)
        eventually(lambda: added == ["first", "second"], "its watch shows the second")
        informer.stop()
        forgetful.forget()

        with pytest.raises(client.ApiException) as expired:
            next(watch.Watch().stream(config_maps, "default", resource_version=old))
        informer.start()
        eventually(lambda: sorted(listed_anew) == ["first", "second"], "it lists anew")
        forgetful.create_config_map("third", seen)
        eventually(lambda: "third" in added, "its watch goes on")
        informer.stop()

    assert (410, ["first", "second", "third"]) == (expired.value.status, added)


@pytest.mark.client("kubernetes", "exec, and logs that follow")
def test_streams_of_a_pod(api: client.ApiClient, web: RunningPod) -> None:
    """A shell reads line by line and ends with its code; the log is streamed."""
    core = client.CoreV1Api(api)
    shell = stream(
        core.connect_get_namespaced_pod_exec,
        web.name,
        web.namespace,
        command=["sh"],
        stdin=True,
        stdout=True,
        stderr=True,
        _preload_content=False,
    )
    shell.write_stdin("echo out; echo err >&2\n")
    out, err = shell.readline_stdout(timeout=180), shell.readline_stderr(timeout=180)
    shell.write_stdin("exit 3\n")
    shell.run_forever(timeout=180)
    shell.sock.shutdown()  # its close() leaves the socket to the garbage collector
    line = next(watch.Watch().stream(core.read_namespaced_pod_log, web.name, web.namespace, follow=True))

    assert ("out", "err", 3) == (out, err, shell.returncode)
    assert "is simulated on node" in line


@pytest.mark.client("kubernetes", "its asyncio face (`kubernetes.aio`): watches, exec")
def test_watches_and_commands_side_by_side(kubectl: Kubectl, web: RunningPod) -> None:
    """The coroutines of the same package: a watch sees what is made meanwhile, and a command runs."""

    async def main() -> tuple[str, str]:
        await aio.config.load_kube_config(str(kubectl.kubeconfig))
        async with aio.client.ApiClient() as api, WsApiClient() as sockets:
            core = aio.client.CoreV1Api(api)
            made = asyncio.create_task(core.create_namespaced_config_map(kubectl.namespace, a_config_map("settings")))
            one = {"namespace": kubectl.namespace, "field_selector": "metadata.name=settings"}
            async with aio.watch.Watch().stream(core.list_namespaced_config_map, **one) as events:
                event = await anext(events)
            await made
            run = aio.client.CoreV1Api(sockets).connect_get_namespaced_pod_exec
            said = await run(web.name, web.namespace, command=["hostname"], stdout=True, stderr=True)
            return event["object"].metadata.name, said

    assert ("settings", "web\n") == asyncio.run(main())


@pytest.mark.client("kubernetes", "port-forward, proxies")
def test_a_port_of_a_pod_is_a_socket_here(api: client.ApiClient, web: RunningPod) -> None:
    """Of two ports, one answers, and on the other the connection is refused; the server fetches the same page."""
    core = client.CoreV1Api(api)
    forwarded = portforward(core.connect_get_namespaced_pod_portforward, web.name, web.namespace, ports="80,81")
    connection = forwarded.socket(80)
    connection.setblocking(True)
    connection.sendall(b"GET / HTTP/1.1\r\nHost: web\r\n\r\n")
    page = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    refusal = eventually(lambda: forwarded.error(81), "the other port refuses")
    forwarded.close()
    fetched = core.connect_get_namespaced_service_proxy("web:80", web.namespace)

    assert "pod: web\n" in page and page.endswith(fetched)
    assert "connect: connection refused" in refusal


ELECTION = """
import sys
from kubernetes import config
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

namespace, name = sys.argv[1:]
config.load_kube_config()
leaderelection.LeaderElection(
    electionconfig.Config(
        LeaseLock("shop", namespace, name),
        lease_duration=15,
        renew_deadline=10,
        retry_period=1,
        onstarted_leading=lambda: None,
        onstopped_leading=None,
    )
).run()
"""


@pytest.mark.client("kubernetes", "leader election")
def test_whoever_holds_the_lease_leads(kubectl: Kubectl) -> None:
    """It is renewed; when its holder is killed it runs out, and the next one has it."""

    def candidate(name: str) -> AbstractContextManager[subprocess.Popen[str]]:
        command = (sys.executable, "-c", ELECTION, kubectl.namespace, name)
        return running(*command, environment={"KUBECONFIG": str(kubectl.kubeconfig)})

    def lease() -> dict[str, str]:
        found = kubectl("get lease shop -o json --ignore-not-found")
        return json.loads(found)["spec"] if found else {}

    with candidate("alice") as alice:
        first = eventually(lease, "alice leads")
        with candidate("bob"):
            eventually(lambda: lease()["renewTime"] > first["renewTime"], "alice renews")
            holder = lease()["holderIdentity"]
            alice.kill()
            eventually(lambda: lease()["holderIdentity"] == "bob", "bob follows")

    assert "alice" == first["holderIdentity"] == holder
