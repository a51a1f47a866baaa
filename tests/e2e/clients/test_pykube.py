"""pykube-ng: queries, objects, watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pykube
import pytest

from tests.e2e.clients.conftest import RunningPod
from tests.e2e.clients.workloads import a_deployment, a_widget
from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")]


@pytest.fixture
def api(kubectl: Kubectl) -> Iterator[pykube.HTTPClient]:
    config = pykube.KubeConfig.from_file(str(kubectl.kubeconfig))
    connected = pykube.HTTPClient(config, timeout=180)  # also of a watch in which nothing happens: 10 s by default
    yield connected
    connected.session.close()


@pytest.mark.client("pykube-ng", "watches, scale, update, patch, conflicts")
def test_a_deployment_is_watched_scaled_updated_and_deleted(api: pykube.HTTPClient, kubectl: Kubectl) -> None:
    """An update sends what was changed in the object; one that comes too late is a conflict."""
    web = pykube.Deployment(api, in_namespace(kubectl, a_deployment("web")))
    web.create()
    for event in web.watch():
        if event.object.obj.get("status", {}).get("availableReplicas") == 2:
            break
    late = pykube.Deployment.objects(api, namespace=kubectl.namespace).get(name="web")
    in_time(web, lambda: web.scale(3))
    web.patch({"metadata": {"labels": {"tier": "front"}}})
    with pytest.raises(pykube.exceptions.HTTPError) as refused:
        note(late, "too late")
    eventually(lambda: web.reload() or (web.ready and web.obj["status"].get("availableReplicas") == 3), "it is scaled")
    in_time(web, lambda: note(web, "in time"))
    web.delete(propagation_policy="Foreground")
    eventually(lambda: not web.exists(), "it is gone")

    assert 409 == refused.value.code
    assert (3, "front", "in time") == (web.replicas, web.labels["tier"], web.annotations["note"])
    eventually(lambda: 0 == len(pykube.Pod.objects(api, namespace=kubectl.namespace)), "its pods go, too")


@pytest.mark.client("pykube-ng", "queries by label and field, tables, kinds made by `object_factory`")
def test_queries(api: pykube.HTTPClient, kubectl: Kubectl, widgets: None) -> None:
    """Conditions in pykube's spelling; a kind that it does not know is looked up."""
    widget = pykube.object_factory(api, "example.com/v1", "Widget")
    for name, tier in (("one", "front"), ("two", "back"), ("three", "middle")):
        obj = in_namespace(kubectl, a_widget(name, 1))
        obj["metadata"]["labels"] = {"tier": tier}
        widget(api, obj).create()
    query = widget.objects(api, namespace=kubectl.namespace)

    def names(**conditions: object) -> list[str]:
        return [found.name for found in query.filter(**conditions)]

    assert ["one"] == names(selector={"tier": "front"})
    assert ["one", "three"] == names(selector={"tier__in": {"front", "middle"}})
    assert ["three", "two"] == names(selector={"tier__neq": "front"})
    assert ["two"] == names(field_selector={"metadata.name": "two"})
    assert query.get_or_none(name="four") is None
    assert ["one", "three", "two"] == [row["cells"][0] for row in query.as_table().rows]
    assert {"node-0", "node-1"} == {node.name for node in pykube.Node.objects(api)}


@pytest.mark.client("pykube-ng", "logs")
def test_the_log_of_a_pod(api: pykube.HTTPClient, web: RunningPod) -> None:
    """Its last line."""
    pod = pykube.Pod.objects(api, namespace=web.namespace).get(name=web.name)

    assert pod.ready
    assert "is simulated on node" in pod.logs(tail_lines=1)


def note(obj: pykube.objects.APIObject, text: str) -> None:
    obj.annotations["note"] = text
    obj.update()


def in_time(obj: pykube.objects.APIObject, update: Callable[[], None]) -> None:
    """Update it as it is now, again where a controller was quicker."""

    def try_it() -> bool:
        obj.reload()
        try:
            update()
        except pykube.exceptions.HTTPError as error:
            assert error.code == 409  # not yet
            return False
        return True

    eventually(try_it, "nobody else writes")


def in_namespace(kubectl: Kubectl, obj: dict[str, Any]) -> dict[str, Any]:
    """pykube takes the namespace from the object."""
    return {**obj, "metadata": {**obj["metadata"], "namespace": kubectl.namespace}}
