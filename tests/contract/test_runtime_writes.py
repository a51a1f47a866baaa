"""What the runtime writes for a controller, against the real server: events, owner references, finalizers, applies."""

from typing import Any

import pytest

from kubeloop.apimachinery.errors import Conflict
from kubeloop.apimachinery.meta import Object, controller_of, finalizers_of, name_of
from kubeloop.apimachinery.resource import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    EVENTS,
    NODES,
    PODS,
    REPLICA_SETS,
    SERVICES,
    Resource,
)
from kubeloop.runtime import EventRecorder
from kubeloop.runtime.apply import CREATED, UNCHANGED, UPDATED, create_or_update, patch_status
from kubeloop.runtime.finalizers import ensure_finalizer, remove_finalizer
from kubeloop.runtime.overlay import overlay
from kubeloop.runtime.ownership import AdoptionRefused, claim_children
from kubeloop.testing.builders import a_config_map, a_node, a_pod, a_replica_set
from kubeloop.testing.cluster import Cluster, Surroundings, run_cluster


class Teller:
    """A process that owns an event recorder."""

    async def __call__(self, surroundings: Surroundings) -> None:
        self.recorder = EventRecorder(surroundings.api, "test-controller", surroundings.clock, surroundings.rng)
        await self.recorder.run()


def run_with_recorder(check: Any) -> None:
    teller = Teller()

    async def main(cluster: Cluster) -> None:
        await cluster.clock.sleep(0)
        await check(cluster, teller.recorder)

    run_cluster(main, processes={"teller": teller})


def test_an_event_looks_like_upstreams() -> None:
    """Source, reporting component, involved object, times and count are where kubectl looks for them."""

    async def check(cluster: Cluster, recorder: EventRecorder) -> None:
        pod = await cluster.create(a_pod("web"))
        await recorder.event(pod, "Warning", "Broken", "It broke")
        await recorder.flush()
        (event,) = await cluster.list(EVENTS, "default")
        shown = {k: event[k] for k in ("type", "reason", "message", "count", "source", "reportingComponent")}
        assert {
            "type": "Warning",
            "reason": "Broken",
            "message": "It broke",
            "count": 1,
            "source": {"component": "test-controller"},
            "reportingComponent": "test-controller",
        } == shown
        about = event["involvedObject"]
        assert ("Pod", "web", pod["metadata"]["uid"]) == (about["kind"], about["name"], about["uid"])

    run_with_recorder(check)


def test_repeats_are_one_event_with_a_count() -> None:
    """The same thing told three times is one Event with count 3; deleted, it begins anew."""

    async def check(cluster: Cluster, recorder: EventRecorder) -> None:
        pod = await cluster.create(a_pod("web"))
        for _ in range(3):
            await cluster.clock.sleep(10)
            await recorder.event(pod, "Normal", "Pulled", "Image pulled")
        await recorder.flush()
        events = await cluster.list(EVENTS, "default")
        assert [3] == [event["count"] for event in events]
        await cluster.delete(events[0])
        await recorder.event(pod, "Normal", "Pulled", "Image pulled")
        await recorder.flush()
        assert [4] == [event["count"] for event in await cluster.list(EVENTS, "default")]

    run_with_recorder(check)


def test_events_about_cluster_scoped_objects_are_in_default() -> None:
    """A Node has no namespace; its events go where upstream's go."""

    async def check(cluster: Cluster, recorder: EventRecorder) -> None:
        node = await cluster.create(a_node("n1"))
        await recorder.event(node, "Normal", "Starting", "Starting kubelet.")
        await recorder.flush()
        assert ["n1"] == [event["involvedObject"]["name"] for event in await cluster.list(EVENTS, "default")]

    run_with_recorder(check)


def test_events_wait_out_a_server_that_is_down() -> None:
    """Telling never blocks; what was told while the server was down arrives later."""

    async def check(cluster: Cluster, recorder: EventRecorder) -> None:
        pod = await cluster.create(a_pod("web"))
        await cluster.stop_server()
        await recorder.event(pod, "Normal", "Pulled", "Image pulled")
        await cluster.clock.sleep(30)
        await cluster.start_server()
        await recorder.flush()
        assert 1 == len(await cluster.list(EVENTS, "default"))

    run_with_recorder(check)


async def owner_and_pods(cluster: Cluster, *pods: Any) -> tuple[Object, list[Object]]:
    owner = await cluster.create(a_replica_set("web"))
    return owner, [await cluster.create(pod) for pod in pods]


def test_orphans_are_adopted_and_strays_released() -> None:
    """Matching orphans get the owner's reference; a child whose labels changed loses it."""

    async def check(cluster: Cluster) -> None:
        owner, (orphan, other) = await owner_and_pods(
            cluster, a_pod("orphan").labels(app="web"), a_pod("other").labels(app="db")
        )
        stray = await cluster.create(a_pod("stray").labels(app="db").owned_by(owner))
        claimed = await claim_children(cluster.api, owner, REPLICA_SETS, AppIsWeb(), [orphan, other, stray], PODS)
        assert ["orphan"] == [name_of(pod) for pod in claimed]
        controllers = {name_of(pod): controller_of(pod) for pod in await cluster.list(PODS, "default")}
        assert ["web", None, None] == [(controllers[name] or {}).get("name") for name in ("orphan", "other", "stray")]

    run_cluster(check)


def test_a_deleted_owner_adopts_nothing() -> None:
    """The cache may say the owner lives: an uncached read has the last word."""

    async def check(cluster: Cluster) -> None:
        owner, pods = await owner_and_pods(cluster, a_pod("orphan").labels(app="web"))
        await cluster.delete(owner)
        with pytest.raises(AdoptionRefused):
            await claim_children(cluster.api, owner, REPLICA_SETS, AppIsWeb(), pods, PODS)
        assert [None] == [controller_of(pod) for pod in await cluster.list(PODS, "default")]

    run_cluster(check)


class AppIsWeb:
    """A selector."""

    def matches(self, labels: Any) -> bool:
        return labels.get("app") == "web"


def test_a_finalizer_is_put_on_and_taken_off() -> None:
    """Both are idempotent, keep the others' finalizers, and refuse to act on a stale object."""

    async def check(cluster: Cluster) -> None:
        old = await cluster.create(a_config_map("web").finalizers("example.com/theirs"))
        new = await ensure_finalizer(cluster.api, CONFIG_MAPS, old, "example.com/ours")
        assert ["example.com/theirs", "example.com/ours"] == finalizers_of(new)
        assert new is await ensure_finalizer(cluster.api, CONFIG_MAPS, new, "example.com/ours")
        with pytest.raises(Conflict):
            await ensure_finalizer(cluster.api, CONFIG_MAPS, old, "example.com/third")
        await remove_finalizer(cluster.api, CONFIG_MAPS, new, "example.com/ours")
        assert ["example.com/theirs"] == finalizers_of(await cluster.read(old, CONFIG_MAPS))

    run_cluster(check)


def test_create_or_update_writes_only_differences() -> None:
    """Created, then unchanged, then updated; the unchanged one writes nothing."""

    async def check(cluster: Cluster) -> None:
        def shape(value: str) -> Any:
            return lambda obj: obj.update(data={"a": value})

        outcomes = []
        for value in ("1", "1", "2"):
            _, outcome = await create_or_update(cluster.api, CONFIG_MAPS, "web", "default", shape(value))
            outcomes.append(outcome)
        assert [CREATED, UNCHANGED, UPDATED] == outcomes
        assert ["POST", "PUT"] == [write.method for write in cluster.writes]

    run_cluster(check)


def test_a_shape_without_the_defaults_changes_nothing() -> None:
    """A shape that takes away what the server then fills in again costs a request, but is told as no change."""

    async def check(cluster: Cluster) -> None:
        def shape(obj: Object) -> None:
            obj["spec"] = {"ports": [{"port": 80}], "selector": {"app": "web"}, **_addresses(obj)}

        outcomes = [(await create_or_update(cluster.api, SERVICES, "web", "default", shape))[1] for _ in range(2)]
        assert [CREATED, UNCHANGED] == outcomes
        assert ["POST", "PUT"] == [write.method for write in cluster.writes]

    run_cluster(check)


def test_an_overlay_keeps_what_the_server_filled_in() -> None:
    """A Deployment and a Service laid over themselves again and again are written once, and follow what changes."""

    async def check(cluster: Cluster) -> None:
        async def bring(resource: Resource, fields: Object) -> str:
            def shape(obj: Object) -> None:
                overlay(obj, fields)

            return (await create_or_update(cluster.api, resource, "web", "default", shape))[1]

        service = {"spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
        assert [CREATED, UNCHANGED] == [await bring(SERVICES, service) for _ in range(2)]
        outcomes = [await bring(DEPLOYMENTS, _web(image)) for image in ("nginx:1", "nginx:1", "nginx:2", "nginx:2")]
        assert [CREATED, UNCHANGED, UPDATED, UNCHANGED] == outcomes
        assert ["POST", "POST", "PUT"] == [write.method for write in cluster.writes]

    run_cluster(check)


def _addresses(service: Object) -> Object:
    """What cannot be taken away from a Service."""
    return {key: value for key, value in service.get("spec", {}).items() if key.startswith(("clusterIP", "ip"))}


def _web(image: str) -> Object:
    mounts = [{"name": "html", "mountPath": "/html"}, {"name": "html", "mountPath": "/more", "readOnly": True}]
    container = {"name": "web", "image": image, "ports": [{"containerPort": 80}], "volumeMounts": mounts}
    pod = {"containers": [container], "volumes": [{"name": "html", "configMap": {"name": "web"}}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod}
    return {"spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template}}


def test_a_status_is_patched_only_where_it_differs() -> None:
    """Saying what is already there writes nothing."""

    async def check(cluster: Cluster) -> None:
        node = await cluster.create(a_node("n1"))
        patched = await patch_status(cluster.api, NODES, node, {"phase": "Running"})
        await patch_status(cluster.api, NODES, patched, {"phase": "Running"})
        assert ["POST", "PATCH"] == [write.method for write in cluster.writes]

    run_cluster(check)


def test_builders_make_valid_objects() -> None:
    """The real server takes what the builders build."""

    async def check(cluster: Cluster) -> None:
        pod = a_pod("web").labels(a="b").requests(cpu="100m").tolerates("x").node_selector(a="b")
        for obj in (pod, a_replica_set("web").replicas(0), a_node("n2").tainted("k").capacity(cpu="1")):
            assert name_of(obj) == name_of(await cluster.create(obj))

    run_cluster(check)
