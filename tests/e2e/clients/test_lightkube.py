"""lightkube: its sync and its asyncio client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from lightkube import ApiError, AsyncClient, Client, KubeConfig, codecs
from lightkube import operators as op
from lightkube.codecs import resource_registry
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment, DeploymentScale
from lightkube.resources.core_v1 import ConfigMap, Pod
from lightkube.types import CascadeType, PatchType, on_error_retry

from tests.e2e.clients.conftest import RunningPod
from tests.e2e.clients.workloads import WIDGETS, a_config_map, a_deployment, a_widget
from tests.testkit.eventually import eventually
from tests.testkit.forgetful import EXPIRED, ForgetfulServer
from tests.testkit.stack import Kubectl, Stack

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")]


def config_of(kubeconfig: Path) -> KubeConfig:
    return KubeConfig.from_file(kubeconfig)


@pytest.fixture
def client(kubectl: Kubectl) -> Iterator[Client]:
    config = config_of(kubectl.kubeconfig)
    with Client(config, namespace=kubectl.namespace, field_manager="alice") as connected:
        yield connected


@pytest.mark.client("lightkube", "`load_all_yaml`, apply, wait, scale, deletion in the foreground")
def test_documents_are_applied_waited_for_scaled_and_deleted(client: Client) -> None:
    """What a file has is applied one by one."""
    documents = yaml.safe_dump_all([a_deployment("web"), a_config_map("settings", colour="red")])
    for obj in codecs.load_all_yaml(documents):
        client.apply(obj)
    client.wait(Deployment, "web", for_conditions=["Available"])
    scale = DeploymentScale(metadata=ObjectMeta(name="web"), spec=ScaleSpec(replicas=3))
    client.replace(scale, "web")
    scaled = client.get(DeploymentScale, "web")
    is_deleted = False
    for event, deployment in client.watch(Deployment, fields={"metadata.name": "web"}):
        if event == "DELETED":
            break
        if deployment.status.availableReplicas == 3 and not is_deleted:  # more events may say so
            client.delete(Deployment, "web", cascade=CascadeType.FOREGROUND)
            is_deleted = True

    assert 3 == scaled.spec.replicas
    eventually(lambda: not list(client.list(Pod)), "its pods go, too")


@pytest.mark.client("lightkube", "server-side apply, patches, selectors, pages, dry run")
def test_fields_have_managers(client: Client) -> None:
    """Another one's field is a conflict until it is forced; each kind of patch changes what it says."""
    for number in range(5):
        client.apply(ConfigMap.from_dict(a_config_map(f"settings-{number}", colour="red")))
    blue = ConfigMap.from_dict(a_config_map("settings-0", colour="blue"))
    with pytest.raises(ApiError) as refused:
        client.apply(blue, field_manager="bob")
    forced = client.apply(blue, field_manager="bob", force=True)
    tried = client.apply(ConfigMap.from_dict(a_config_map("settings-1", colour="green")), dry_run=True)
    client.patch(ConfigMap, "settings-1", {"data": {"size": "1"}})
    client.patch(ConfigMap, "settings-1", [{"op": "remove", "path": "/data/colour"}], patch_type=PatchType.JSON)
    client.set(ConfigMap, "settings-1", labels={"tier": "front"})
    found = list(client.list(ConfigMap, chunk_size=2, labels={"tier": op.not_in(["back"])}))
    in_front = [config_map.data for config_map in client.list(ConfigMap, labels={"tier": op.exists()})]
    [cause] = refused.value.status.details.causes

    assert (409, ".data.colour", 'conflict with "alice"') == (refused.value.status.code, cause.field, cause.message)
    assert ({"colour": "blue"}, {"colour": "green"}) == (forced.data, tried.data)
    assert [f"settings-{number}" for number in range(5)] == [
        config_map.metadata.name for config_map in found if config_map.metadata.name != "kube-root-ca.crt"
    ]
    assert [{"size": "1"}] == in_front


@pytest.mark.client("lightkube", "resources made of CustomResourceDefinitions")
def test_custom_kinds_have_status_and_scale(client: Client, widgets: None) -> None:
    """Loaded from the definition in YAML, subresources included."""
    codecs.load_all_yaml(WIDGETS, create_resources_for_crds=True)
    widget = resource_registry.load("example.com/v1", "Widget")
    client.apply(widget.from_dict(a_widget("w", 3)))
    client.patch(widget.Scale, "w", {"spec": {"replicas": 5}}, patch_type=PatchType.MERGE)
    client.patch(widget.Status, "w", {"status": {"size": 5}}, patch_type=PatchType.MERGE)

    made = client.get(widget, "w")

    assert ({"size": 5}, {"size": 5}) == (made.spec, made.status)


@contextmanager
def _read_to_its_end() -> Iterator[None]:
    """The sync client leaves a thread that still reads when it closes the connection of an exec.

    Whoever opens a connection at once may be given the same descriptor, and that thread his first bytes.
    """
    before = set(threading.enumerate())
    yield
    eventually(lambda: set(threading.enumerate()) <= before, "nobody reads of a closed connection")


@pytest.mark.client("lightkube", "exec, logs")
def test_a_pod_is_looked_into(stack: Stack, web: RunningPod) -> None:
    """What a command is given, what it writes, how it ends; and what its pod has logged."""
    with Client(config_of(stack.kubectl.kubeconfig), namespace=web.namespace) as client:
        command = ["sh", "-c", "cat; echo err >&2; exit 3"]
        with _read_to_its_end():
            done = client.exec(web.name, command=command, stdin="in", stdout=True, stderr=True)
        with _read_to_its_end(), pytest.raises(ApiError) as failed:
            client.exec(web.name, command=["vi"], raise_on_error=True)
        [line] = client.log(web.name, tail_lines=1)
        followed = next(iter(client.log(web.name, follow=True)))

    assert ("in", "err\n", 3) == (done.stdout, done.stderr, done.exit_code)
    assert "executable file not found" in failed.value.status.message
    assert "is simulated on node" in line
    assert line == followed


@pytest.mark.client("lightkube", "watches after 410")
def test_a_watch_that_missed_too_much_begins_anew(forgetful: ForgetfulServer) -> None:
    """It is told 410; with on_error_retry it goes on with everything that there is."""
    forgetful.create_config_map("settings")
    one = {"fields": {"metadata.name": "settings"}, "resource_version": EXPIRED}
    with Client(config_of(forgetful.kubectl.kubeconfig)) as client:
        with pytest.raises(ApiError) as expired:
            next(client.watch(ConfigMap, **one))
        event, config_map = next(client.watch(ConfigMap, on_error=on_error_retry, **one))

    assert 410 == expired.value.status.code
    assert ("ADDED", "settings") == (event, config_map.metadata.name)


@pytest.mark.client("lightkube", "its asyncio client: apply, watch, wait, exec")
def test_many_things_at_once(kubectl: Kubectl, web: RunningPod) -> None:
    """A watch goes on while a Deployment is applied and waited for, and a command runs."""

    async def main() -> tuple[list[str], str | None]:
        config = config_of(kubectl.kubeconfig)
        async with AsyncClient(config, namespace=kubectl.namespace, field_manager="alice") as client:
            events = []
            pods = client.list(Pod)
            assert [] == [pod async for pod in pods]
            since = pods.resourceVersion  # from there on a watch shows every step, however late it begins

            async def see() -> None:
                async for event, pod in client.watch(Pod, labels={"app": "web"}, resource_version=since):
                    events.append(event)
                    if pod.status.phase == "Running":
                        return

            async with asyncio.timeout(180), asyncio.TaskGroup() as tasks:
                tasks.create_task(see())
                await client.apply(Deployment.from_dict(a_deployment("web", replicas=1)))
                tasks.create_task(client.wait(Deployment, "web", for_conditions=["Available"]))
                running = client.exec(web.name, namespace=web.namespace, command=["hostname"], stdout=True)
                done = tasks.create_task(running)
            return events, done.result().stdout

    events, host_name = asyncio.run(main())

    assert ("ADDED", "web\n") == (events[0], host_name)
    assert {"MODIFIED"} == set(events[1:])
