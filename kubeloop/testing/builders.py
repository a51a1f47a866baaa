"""Objects for tests, in words: `a_deployment("web").replicas(3).surge(1)`. A builder is the object it builds."""

from __future__ import annotations

import copy
from typing import Any, Self

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.resource import Resource


class Builder(dict[str, Any]):
    """The methods edit the object and return it, so that they chain."""

    def copy(self) -> Self:
        return copy.deepcopy(self)

    def namespace(self, namespace: str) -> Self:
        self["metadata"]["namespace"] = namespace
        return self

    def labels(self, **labels: str) -> Self:
        self["metadata"].setdefault("labels", {}).update(labels)
        return self

    def annotations(self, annotations: dict[str, str]) -> Self:
        self["metadata"].setdefault("annotations", {}).update(annotations)
        return self

    def finalizers(self, *finalizers: str) -> Self:
        self["metadata"]["finalizers"] = list(finalizers)
        return self

    def owned_by(self, owner: Object) -> Self:
        """`owner` comes from the server: kind, apiVersion and uid are its own."""
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
        reference |= {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "blockOwnerDeletion": True}
        self["metadata"].setdefault("ownerReferences", []).append(reference)
        return self

    def spec(self, **fields: Any) -> Self:
        """Whatever has no word of its own."""
        self["spec"].update(fields)
        return self


class PodBuilder(Builder):
    def image(self, image: str) -> Self:
        self["spec"]["containers"][0]["image"] = image
        return self

    def requests(self, **amounts: str) -> Self:
        self["spec"]["containers"][0].setdefault("resources", {})["requests"] = amounts
        return self

    def on(self, node: str) -> Self:
        self["spec"]["nodeName"] = node
        return self

    def node_selector(self, **labels: str) -> Self:
        self["spec"]["nodeSelector"] = labels
        return self

    def tolerates(self, key: str, effect: str = "NoSchedule") -> Self:
        toleration = {"key": key, "operator": "Exists", "effect": effect}
        self["spec"].setdefault("tolerations", []).append(toleration)
        return self


class WorkloadBuilder(Builder):
    """What has replicas, a selector and a pod template."""

    def replicas(self, replicas: int) -> Self:
        self["spec"]["replicas"] = replicas
        return self

    def image(self, image: str) -> Self:
        self["spec"]["template"]["spec"]["containers"][0]["image"] = image
        return self

    def requests(self, **amounts: str) -> Self:
        self["spec"]["template"]["spec"]["containers"][0].setdefault("resources", {})["requests"] = amounts
        return self


class DeploymentBuilder(WorkloadBuilder):
    def surge(self, surge: int | str) -> Self:
        return self._rolling(maxSurge=surge)

    def unavailable(self, unavailable: int | str) -> Self:
        return self._rolling(maxUnavailable=unavailable)

    def recreate(self) -> Self:
        self["spec"]["strategy"] = {"type": "Recreate"}
        return self

    def _rolling(self, **settings: int | str) -> Self:
        strategy = self["spec"].setdefault("strategy", {"type": "RollingUpdate", "rollingUpdate": {}})
        strategy["rollingUpdate"].update(settings)
        return self


class StatefulSetBuilder(WorkloadBuilder):
    def parallel(self) -> Self:
        return self.spec(podManagementPolicy="Parallel")

    def on_delete(self) -> Self:
        return self.spec(updateStrategy={"type": "OnDelete"})

    def partition(self, partition: int) -> Self:
        return self.spec(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": partition}})

    def starting_at(self, ordinal: int) -> Self:
        return self.spec(ordinals={"start": ordinal})

    def claims(self, *names: str) -> Self:
        """A template each, of a gibibyte."""
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        return self.spec(volumeClaimTemplates=[{"metadata": {"name": name}, "spec": dict(spec)} for name in names])

    def retention(self, when_deleted: str, when_scaled: str) -> Self:
        policy = {"whenDeleted": when_deleted, "whenScaled": when_scaled}
        return self.spec(persistentVolumeClaimRetentionPolicy=policy)


class DaemonSetBuilder(WorkloadBuilder):
    def on_delete(self) -> Self:
        return self.spec(updateStrategy={"type": "OnDelete"})

    def rolling(self, *, surge: int | str = 0, unavailable: int | str = 0) -> Self:
        settings = {"maxSurge": surge, "maxUnavailable": unavailable}
        return self.spec(updateStrategy={"type": "RollingUpdate", "rollingUpdate": settings})

    def node_selector(self, **labels: str) -> Self:
        self["spec"]["template"]["spec"]["nodeSelector"] = labels
        return self


class NodeBuilder(Builder):
    def capacity(self, **amounts: str) -> Self:
        self["status"]["capacity"].update(amounts)
        self["status"]["allocatable"].update(amounts)
        return self

    def tainted(self, key: str, effect: str = "NoSchedule") -> Self:
        self["spec"].setdefault("taints", []).append({"key": key, "effect": effect})
        return self


def a_pod(name: str) -> PodBuilder:
    return PodBuilder(apiVersion="v1", kind="Pod", metadata=_named(name), spec=_pod_spec())


def a_deployment(name: str) -> DeploymentBuilder:
    """One replica of `web:1`; selects and labels its pods with app=<name>."""
    return DeploymentBuilder(apiVersion="apps/v1", kind="Deployment", metadata=_named(name), spec=_workload_spec(name))


def a_replica_set(name: str) -> WorkloadBuilder:
    return WorkloadBuilder(apiVersion="apps/v1", kind="ReplicaSet", metadata=_named(name), spec=_workload_spec(name))


def a_job(name: str) -> WorkloadBuilder:
    """One pod of `web:1` that is not started again."""
    template = {"spec": {**_pod_spec(), "restartPolicy": "Never"}}
    return WorkloadBuilder(apiVersion="batch/v1", kind="Job", metadata=_named(name), spec={"template": template})


def a_cron_job(name: str, schedule: str) -> Builder:
    """Makes Jobs like `a_job`."""
    spec = {"schedule": schedule, "jobTemplate": {"spec": a_job(name)["spec"]}}
    return Builder(apiVersion="batch/v1", kind="CronJob", metadata=_named(name), spec=spec)


def a_stateful_set(name: str) -> StatefulSetBuilder:
    """One replica, of the service `name`."""
    spec = {**_workload_spec(name), "serviceName": name}
    return StatefulSetBuilder(apiVersion="apps/v1", kind="StatefulSet", metadata=_named(name), spec=spec)


def a_daemon_set(name: str) -> DaemonSetBuilder:
    spec = _workload_spec(name)
    del spec["replicas"]
    return DaemonSetBuilder(apiVersion="apps/v1", kind="DaemonSet", metadata=_named(name), spec=spec)


def a_service(name: str, port: int = 80) -> Builder:
    """Selects app=<name>."""
    spec = {"selector": {"app": name}, "ports": [{"port": port}]}
    return Builder(apiVersion="v1", kind="Service", metadata=_named(name), spec=spec)


def a_config_map(name: str, **data: str) -> Builder:
    return Builder(apiVersion="v1", kind="ConfigMap", metadata=_named(name), data=data)


def a_namespace(name: str) -> Builder:
    return Builder(apiVersion="v1", kind="Namespace", metadata={"name": name})


def a_node(name: str) -> NodeBuilder:
    """Ready, with 4 CPUs, 8 GiB and room for 110 pods."""
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    status = {
        "capacity": dict(amounts),
        "allocatable": dict(amounts),
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    }
    labels = {"kubernetes.io/hostname": name}
    return NodeBuilder(apiVersion="v1", kind="Node", metadata={"name": name, "labels": labels}, spec={}, status=status)


def a_definition(resource: Resource, **fields: Any) -> Builder:
    """A CustomResourceDefinition of `resource` with a status; `fields` are those of its spec, none: whatever."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = {"type": "object", "properties": fields} if fields else anything
    schema = {"type": "object", "properties": {"spec": spec, "status": anything}}
    version = {"name": resource.version, "served": True, "storage": True, "subresources": {"status": {}}}
    return Builder(
        apiVersion="apiextensions.k8s.io/v1",
        kind="CustomResourceDefinition",
        metadata={"name": str(resource)},
        spec={
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": {"plural": resource.plural, "singular": resource.kind.lower(), "kind": resource.kind},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    )


def a_custom(resource: Resource, name: str, **spec: Any) -> Builder:
    """An object of a custom kind."""
    metadata = _named(name) if resource.namespaced else {"name": name}
    return Builder(apiVersion=resource.api_version, kind=resource.kind, metadata=metadata, spec=spec)


def _named(name: str) -> Object:
    return {"name": name, "namespace": "default"}


def _pod_spec() -> Object:
    return {"containers": [{"name": "web", "image": "web:1"}]}


def _workload_spec(name: str) -> Object:
    labels = {"app": name}
    return {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": dict(labels)}, "spec": _pod_spec()},
    }
