"""The objects that the bench creates."""

from __future__ import annotations

from typing import Any

CONFIG_MAP: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"generateName": "b-", "labels": {"app": "bench"}},
    "data": {"k": "0123456789" * 7},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "b-", "labels": {"app": "bench"}},
    "spec": {
        "schedulerName": "none",
        "containers": [
            {
                "name": "c",
                "image": "nginx:1.27",
                "ports": [{"containerPort": 80}],
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
            }
        ],
    },
}
