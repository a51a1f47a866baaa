"""The variables that tell a container of Services."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubelet_sim import service_links
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import parse_time
from tests.unit.kubelet_sim.played_pod import a_pod

SERVER = "https://10.96.0.1"


def a_service(name: str, created: str = "2026-01-01T00:00:00Z", **spec: Any) -> Object:
    return {
        "metadata": {"name": name, "namespace": "default", "creationTimestamp": created},
        "spec": {"clusterIP": "10.96.0.7", "ports": [{"port": 80}], **spec},
    }


class Services:
    def __init__(self, *found: Object) -> None:
        self._found = found

    async def list(self, resource: object, namespace: str) -> Object:
        return {"items": list(self._found)}


def told(*services: Object, until: str = "2026-01-01T00:00:00Z", **spec: Any) -> dict[str, str]:
    api: Any = Services(*services)
    return asyncio.run(service_links.variables(api, a_pod(**spec), SERVER, parse_time(until)))


def test_a_container_is_told_of_services() -> None:
    """As a kubelet does it: of the API server, and of those of its namespace by cluster IP and ports."""
    known = told(a_service("my-db", ports=[{"name": "sql", "port": 5432}]))

    assert ("10.96.0.1", "443") == (known["KUBERNETES_SERVICE_HOST"], known["KUBERNETES_SERVICE_PORT"])
    assert ("10.96.0.7", "5432") == (known["MY_DB_SERVICE_HOST"], known["MY_DB_SERVICE_PORT_SQL"])
    assert "tcp://10.96.0.7:5432" == known["MY_DB_PORT"] == known["MY_DB_PORT_5432_TCP"]


@pytest.mark.parametrize(
    ("service", "spec"),
    [
        (a_service("web", clusterIP="None"), {}),
        (a_service("web", created="2026-01-01T00:00:01Z"), {}),
        (a_service("web"), {"enableServiceLinks": False}),
    ],
)
def test_it_is_not_told_of(service: Object, spec: dict[str, Any]) -> None:
    """Headless ones, those that came after its start, and any where the pod does not want it."""
    assert ["KUBERNETES"] == sorted({name.partition("_")[0] for name in told(service, **spec)})
