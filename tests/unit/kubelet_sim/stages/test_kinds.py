"""Stages of other kinds: custom ones that come and go, and built-in ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from kubelet_sim.stages.sources import read_text
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, EVENTS, Resource
from kubeloop.testing.builders import a_config_map, a_custom, a_definition
from kubeloop.testing.cluster import Cluster
from tests.unit.kubelet_sim.stages.stage import a_stage
from tests.unit.kubelet_sim.stages.test_pods import OF_THE_PAGE
from tests.unit.kubelet_sim.test_nodes import run_nodes, writes_to

DATABASES = Resource("example.com", "v1", "databases", "Database")
OF_DATABASES = tuple(stage for stage in OF_THE_PAGE if stage.ref == (DATABASES.api_version, DATABASES.kind))


async def status_of(cluster: Cluster, name: str) -> Object:
    return (await cluster.api.get(DATABASES, name, "default")).get("status") or {}


def test_a_custom_resource_becomes_ready_by_a_stage() -> None:
    """Also one whose kind came up after the stage; with the event, after the delay, and written once."""

    async def check(cluster: Cluster) -> None:
        await cluster.define(a_definition(DATABASES))
        await cluster.api.create(DATABASES, a_custom(DATABASES, "orders"))
        await cluster.clock.sleep(1)
        assert {} == await status_of(cluster, "orders")
        await cluster.eventually(partial(status_of, cluster, "orders"))
        assert {"phase": "Ready", "endpoint": "orders.default.svc:5432"} == await status_of(cluster, "orders")
        await cluster.clock.sleep(30)
        assert 1 == len(writes_to(cluster, "/databases/orders/status"))
        assert "accepting connections" in [event["message"] for event in await cluster.list(EVENTS)]

    run_nodes(check, nodes=0, stages=OF_DATABASES)


def test_a_kind_that_goes_and_comes_back_is_played_again() -> None:
    """Also under another name: its CustomResourceDefinition was deleted, and what is not served is not watched."""
    renamed = replace(DATABASES, plural="dbs")

    async def check(cluster: Cluster) -> None:
        definition = a_definition(DATABASES)
        await cluster.define(definition)
        await cluster.api.create(DATABASES, a_custom(DATABASES, "first"))
        await cluster.eventually(partial(status_of, cluster, "first"))
        await cluster.api.delete(CUSTOM_RESOURCE_DEFINITIONS, str(DATABASES))
        await cluster.clock.sleep(60)
        await cluster.define(a_definition(renamed))
        await cluster.api.create(renamed, a_custom(renamed, "second"))
        await cluster.clock.sleep(20)
        assert "Ready" == (await cluster.api.get(renamed, "second", "default"))["status"]["phase"]

    run_nodes(check, nodes=0, stages=OF_DATABASES)


def test_built_in_kinds_are_played_as_well() -> None:
    """By labels, with a patch of no subresource, and deletion; as somebody else where the stage says so."""
    config_maps = {"apiGroup": "v1", "kind": "ConfigMap"}
    mine = {"matchLabels": {"mine": "1"}}
    template = "labels: {mine: '2', from: {{ .data.from | Quote }}}"
    stages = (
        a_stage(
            "mark",
            {"patches": [{"root": "metadata", "template": template}]},
            resourceRef=config_maps,
            selector=mine,
        ),
        a_stage("gone", {"delete": True}, resourceRef=config_maps, selector={"matchLabels": {"mine": "3"}}),
        a_stage(
            "refused",
            {"patches": [{"template": "data: {a: b}", "impersonation": {"username": "alice"}}]},
            resourceRef=config_maps,
            selector={"matchLabels": {"hers": "1"}},
        ),
    )

    async def check(cluster: Cluster) -> None:
        other = await cluster.create(a_config_map("other", **{"from": "x"}).labels(hers="1"))
        ours = await cluster.create(a_config_map("ours", **{"from": "x"}).labels(mine="1"))
        await cluster.clock.sleep(2)
        assert {"mine": "2", "from": "x"} == (await cluster.read(ours))["metadata"]["labels"]
        assert other == await cluster.read(other)
        (refusal,) = [event for event in await cluster.list(EVENTS) if event["reason"] == "InvalidStage"]
        assert 'User "alice" cannot patch resource "configmaps"' in refusal["message"]
        await cluster.patch(ours, {"metadata": {"labels": {"mine": "3"}}})
        await cluster.clock.sleep(2)
        assert "ours" not in [one["metadata"]["name"] for one in await cluster.list(CONFIG_MAPS, "default")]

    run_nodes(check, nodes=0, stages=stages)


PROVISIONER = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: provision}
spec:
  resourceRef: {apiGroup: v1, kind: PersistentVolumeClaim}
  selector:
    matchExpressions:
    - cel: {expression: "self.spec.storageClassName == 'staged'"}
    - cel: {expression: "!has(self.spec.volumeName)"}
  steps:
  - apply:
      template: |
        apiVersion: v1
        kind: PersistentVolume
        metadata: {name: "pvc-{{ .metadata.uid }}"}
        spec:
          accessModes:
          {{ YAML .spec.accessModes 2 }}
          capacity:
          {{ YAML .spec.resources.requests 2 }}
          storageClassName: {{ .spec.storageClassName | Quote }}
          hostPath: {path: /data}
  - patch: {root: spec, template: "volumeName: pvc-{{ .metadata.uid }}"}
  - patch:
      root: status
      subresource: status
      template: |
        phase: Bound
        capacity:
        {{ YAML .spec.resources.requests 1 }}
"""


def test_a_stage_goes_through_its_steps_though_they_change_what_it_asked_for() -> None:
    """A claim gets a volume of its own, and is bound, in one stage that asks for claims without a volume."""

    async def check(cluster: Cluster) -> None:
        spec = {
            "storageClassName": "staged",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
        metadata = {"name": "c", "namespace": "default"}
        claim = await cluster.create(
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
        )
        await cluster.clock.sleep(2)
        bound = await cluster.read(claim)
        assert ("Bound", {"storage": "1Gi"}) == (bound["status"]["phase"], bound["status"]["capacity"])
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": bound["spec"]["volumeName"]}}
        assert {"storage": "1Gi"} == (await cluster.read(volume))["spec"]["capacity"]

    run_nodes(check, nodes=0, stages=tuple(read_text(PROVISIONER)))
