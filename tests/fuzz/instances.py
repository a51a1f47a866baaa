"""Plausible objects of every kind: some fields of each type, most values of a sort that the kind expects."""

from __future__ import annotations

import random
from typing import Any

from apiserver.registry.catalog import Kind
from apiserver.schema.definitions import Schema
from apiserver.schema.nodes import TypeNode
from tests.fuzz import junk

NAMES = ("a", "b", "c", "web", "web-0")
# What fields of some names hold; all others get any of _WORDS.
_USUAL: dict[str, tuple[str, ...]] = {
    "image": ("nginx", "nginx:1.27", "registry.example.com/a/b@sha256:" + "0" * 64),
    "protocol": ("TCP", "UDP", "SCTP", "tcp"),
    "operator": ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal"),
    "effect": ("NoSchedule", "NoExecute", "PreferNoSchedule"),
    "type": ("Opaque", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "RollingUpdate", "Recreate", "OnDelete", "Ready", "string", "object", "array"),
    "imagePullPolicy": ("Always", "Never", "IfNotPresent"),
    "restartPolicy": ("Always", "Never", "OnFailure"),
    "topologyKey": ("kubernetes.io/hostname", "zone"),
    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
    "path": ("/", "/a", "a/b", ".spec.x"),
    "mountPath": ("/a", "/b/c"),
    "pathType": ("Exact", "Prefix", "ImplementationSpecific"),
    "ip": ("10.0.0.1", "::1"),
    "clusterIP": ("None", "10.96.0.9", ""),
    "cidr": ("10.0.0.0/8", "fd00::/8"),
    "schedule": ("* * * * *", "@hourly"),
    "provisioner": ("example.com/a",),
    "storageClassName": ("a", ""),
    "scope": ("Namespaced", "Cluster", "*"),
    "expression": ("true", "object.metadata.name == 'a'", "self.x > 1", "has(object.spec)"),
    "rule": ("true", "self.a == oldSelf.a", "size(self) < 3"),
    "failurePolicy": ("Fail", "Ignore"),
    "sideEffects": ("None", "NoneOnDryRun"),
    "policy": ("Never", "Always"),
    "completionMode": ("Indexed", "NonIndexed"),
    "concurrencyPolicy": ("Allow", "Forbid", "Replace"),
    "apiGroup": ("", "apps", "rbac.authorization.k8s.io"),
    "kind": ("Pod", "Deployment", "User", "ServiceAccount", "Role", "ClusterRole"),
    "apiVersion": ("v1", "apps/v1"),
    "addressType": ("IPv4", "IPv6", "FQDN"),
    "caBundle": ("YQ==",),
    "url": ("https://127.0.0.1:1/x",),
}  # fmt: skip
_WORDS = ("a", "b", "web", "x.example.com", "example.com/a", "Always", "http", "1", "")
_LABELS = {"app": "web"}


class Instances:
    """Makes objects by their types."""

    def __init__(self) -> None:
        self._schema = Schema.load("1.36")

    def of(self, rng: random.Random, kind: Kind, namespace: str) -> dict[str, Any]:
        return self.of_type(rng, kind.group, kind.resource.version, kind.resource.kind, namespace)

    def of_type(self, rng: random.Random, group: str, version: str, kind: str, namespace: str) -> dict[str, Any]:
        made: dict[str, Any] = {"apiVersion": f"{group}/{version}" if group else version, "kind": kind}
        node = self._schema.kind(group, version, kind)
        made["metadata"] = _metadata(rng, namespace)
        for name, field in (node.fields if node else {}).items():
            if name not in ("kind", "apiVersion", "metadata") and (name == "spec" or rng.random() < 0.5):
                made[name] = self._value(rng, name, field, 0)
        return made

    def _value(self, rng: random.Random, name: str, node: TypeNode, depth: int) -> Any:
        if node.type == "object":
            return self._struct(rng, node, depth)
        if node.type == "list":
            assert node.items is not None
            return [self._value(rng, name, node.items, depth + 1) for _ in range(rng.choice((0, 1, 1, 2)))]
        if node.type == "map":
            assert node.values is not None
            if name in ("matchLabels", "selector", "labels", "nodeSelector"):
                return dict(_LABELS)
            keys = rng.sample(("a", "app", "cpu", "memory", "example.com/x"), rng.choice((0, 1, 2)))
            return {key: self._value(rng, key, node.values, depth + 1) for key in keys}
        return _scalar(rng, name, node)

    def _struct(self, rng: random.Random, node: TypeNode, depth: int) -> dict[str, Any]:
        if node.name.endswith("ObjectMeta"):
            return {"labels": dict(_LABELS)}
        fields = node.fields
        share = min(1.0, (3.5 if depth < 3 else 1.5) / max(1, len(fields)))
        if depth > 7:
            share = 0
        wanted = [name for name in fields if name in node.required or rng.random() < share]
        return {name: self._value(rng, name, fields[name], depth + 1) for name in wanted if depth < 12}


def _metadata(rng: random.Random, namespace: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": rng.choice(NAMES)}
    if namespace and rng.random() < 0.3:
        made["namespace"] = namespace
    if rng.random() < 0.3:
        made["labels"] = {"app": rng.choice(("web", "x"))}
    if rng.random() < 0.1:
        made["finalizers"] = ["example.com/wait"]
    if rng.random() < 0.1:
        made["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1"}]
    if rng.random() < 0.05:
        made["generateName"] = made.pop("name") + "-"
    if rng.random() < 0.05:
        made["resourceVersion"] = rng.choice(("1", "0", "x", "99999999"))
    return made


def _scalar(rng: random.Random, name: str, node: TypeNode) -> Any:
    match node.type:
        case "integer":
            return rng.choice((0, 1, 2, 80, 8080, 30000, -1))
        case "number":
            return rng.choice((0, 1.5))
        case "boolean":
            return rng.random() < 0.5
        case "quantity":
            return rng.choice(("1", "100m", "1Gi", 2, "0"))
        case "int-or-string":
            return rng.choice((1, "25%", "http", 80))
        case "time" | "micro-time":
            return "2026-01-02T03:04:05.000000Z" if node.type == "micro-time" else "2026-01-02T03:04:05Z"
        case "bytes":
            return rng.choice(("YQ==", ""))
        case "string":
            return rng.choice(_USUAL.get(name, NAMES if name == "name" or name.endswith("Name") else _WORDS))
    return junk.value(rng)
