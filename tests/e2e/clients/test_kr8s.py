"""kr8s: its sync and its asyncio face."""

from __future__ import annotations

import asyncio

import httpx
import kr8s
import kr8s.asyncio
import pytest
from kr8s.asyncio.objects import Deployment as AsyncDeployment
from kr8s.asyncio.objects import Pod as AsyncPod
from kr8s.objects import ConfigMap, Deployment, Node, Pod, Service, Table, new_class

from kubeloop.cli.throwaway import free_port
from tests.e2e.clients.conftest import RunningPod
from tests.e2e.clients.workloads import a_config_map, a_deployment, a_widget
from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    # The newest server that this release was tried with is 1.35.
    pytest.mark.filterwarnings("ignore:Kubernetes version v1.36.0 is not supported:UserWarning"),
]


@pytest.fixture
def api(kubectl: Kubectl) -> kr8s.Api:
    return kr8s.api(kubeconfig=str(kubectl.kubeconfig), namespace=kubectl.namespace)


@pytest.mark.client("kr8s", "objects: wait, scale, patch, labels, owners, tables")
def test_a_deployment_is_waited_for_scaled_labelled_and_deleted(api: kr8s.Api) -> None:
    """In sync code; what it has adopted goes with it."""
    web = Deployment(a_deployment("web"), api=api)
    web.create()
    web.wait("condition=Available", timeout=180)
    web.scale(3)
    web.label(tier="front")
    web.annotate(note="scaled")
    web.patch([{"op": "remove", "path": "/metadata/labels/tier"}], type="json")
    web.wait("jsonpath='{.status.availableReplicas}'=3", timeout=180)
    settings = ConfigMap(a_config_map("settings", colour="red"), api=api)
    settings.create()
    web.adopt(settings)
    [table] = api.get("deployments", as_object=Table)
    pods = {pod.name for pod in api.get("pods", label_selector={"app": "web"})}
    pods_of_it = {pod.name for pod in web.pods()}

    web.delete(propagation_policy="Foreground")
    web.wait("delete", timeout=180)

    assert (3, "scaled", False) == (web.replicas, web.annotations["note"], "tier" in web.labels)
    assert ["web", "3/3"] == table.rows[0]["cells"][:2]
    assert 3 == len(pods) and pods == pods_of_it
    assert not web.exists()
    eventually(lambda: not settings.exists(), "what it has adopted goes, too")


@pytest.mark.client("kr8s", "exec, logs, port-forward to pods and Services, proxies")
def test_a_pod_is_looked_into(kubectl: Kubectl, web: RunningPod) -> None:
    """Both outputs and the code of a command, the log, a page through a port of this machine, and by the server."""
    api = kr8s.api(kubeconfig=str(kubectl.kubeconfig), namespace=web.namespace)
    pod, service = Pod.get(web.name, api=api), Service.get("web", api=api)

    done = pod.exec(["sh", "-c", "echo out; echo err >&2; exit 3"], check=False)
    [line] = pod.logs(tail_lines=1)
    eventually(service.ready, "the Service has the pod")
    pages = []
    for target in (pod, service):
        with target.portforward(80, local_port=free_port()) as port:
            pages.append(httpx.get(f"http://127.0.0.1:{port}/", trust_env=False, timeout=60).text)
    pages.append(service.proxy_http_get("/").text)

    assert (b"out\n", b"err\n", 3) == (done.stdout, done.stderr, done.returncode)
    assert "is simulated on node" in line
    assert ["pod: web"] * 3 == [page.splitlines()[0] for page in pages]
    assert [web.name] == [ready.name for ready in service.ready_pods()]


@pytest.mark.client("kr8s", "kinds that are looked up, cordons")
def test_custom_kinds_and_nodes(api: kr8s.Api, widgets: None) -> None:
    """By a class made for it, and by its name; a node is cordoned, and no longer."""
    kind = new_class("Widget", "example.com/v1", asyncio=False, plural="widgets", scalable=True, scalable_spec="size")
    widget = kind(a_widget("w", 3), api=api)
    widget.create()
    widget.scale(5)
    [found] = api.get("widgets.example.com", "w")
    node = Node(next(iter(api.get("nodes"))).raw, api=api)
    node.cordon()
    is_cordoned = node.unschedulable
    node.uncordon()

    assert (5, 5) == (widget.spec["size"], found.spec["size"])
    assert (True, False) == (is_cordoned, node.unschedulable)


@pytest.mark.client("kr8s", "its asyncio face: watches, exec, waits side by side")
def test_many_things_at_once(kubectl: Kubectl, web: RunningPod) -> None:
    """A watch goes on while Deployments are made and waited for, and a command runs."""

    async def main() -> tuple[set[str], bytes]:
        where = {"kubeconfig": str(kubectl.kubeconfig)}
        api = await kr8s.asyncio.api(namespace=kubectl.namespace, **where)
        made = [await AsyncDeployment(a_deployment(name, replicas=1), api=api) for name in ("one", "two")]
        seen: set[str] = set()

        async def see() -> None:
            async for _, pod in api.watch("pods"):
                if await pod.ready():
                    seen.add(pod.labels["app"])
                if len(seen) == len(made):
                    return

        async with asyncio.timeout(180), asyncio.TaskGroup() as tasks:
            tasks.create_task(see())
            for deployment in made:
                await deployment.create()
            for deployment in made:
                tasks.create_task(deployment.wait("condition=Available"))
        pod = await AsyncPod.get(web.name, namespace=web.namespace, api=api)
        done = await pod.exec(["hostname"])
        return seen, done.stdout

    assert ({"one", "two"}, b"web\n") == asyncio.run(main())
