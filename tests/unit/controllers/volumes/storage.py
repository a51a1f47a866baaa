"""Claims, volumes and classes for the tests of everything that reads them."""

from __future__ import annotations

from typing import Any

from kubeloop.apimachinery.meta import Object


def a_claim(name: str = "claim", size: str = "1Gi", storage_class: str | None = "fast", **spec: Any) -> Object:
    """`metadata` and `status` go where they belong, the rest into the spec; `storage_class` None leaves it open."""
    metadata = {"name": name, "namespace": "default", **spec.pop("metadata", {})}
    status = spec.pop("status", {"phase": "Pending"})
    wanted: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    if storage_class is not None:
        wanted["storageClassName"] = storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": wanted,
        "status": status,
    }


def a_volume(name: str = "volume", size: str = "1Gi", storage_class: str = "fast", **spec: Any) -> Object:
    """`metadata` and `status` go where they belong, the rest into the spec."""
    metadata = {"name": name, **spec.pop("metadata", {})}
    status = spec.pop("status", {"phase": "Available"})
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata,
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": storage_class,
            "hostPath": {"path": "/tmp/x"},
            **spec,
        },
        "status": status,
    }


def a_class(name: str = "fast", provisioner: str = "kubeloop.io/hostpath-sim", **fields: Any) -> Object:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": metadata,
        "provisioner": provisioner,
        **fields,
    }


def on_host(*names: str) -> Object:
    """A volume's node affinity."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(names)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def reference(name: str = "claim", uid: str = "") -> Object:
    """A volume's claimRef."""
    return {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name, **({"uid": uid} if uid else {})}


def using(pod: Object, *claims: str) -> Object:
    """The pod with these claims as volumes."""
    pod["spec"]["volumes"] = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    return pod
