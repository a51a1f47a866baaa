"""Events the server itself tells, about objects it looks after."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from apiserver.registry.cluster import Cluster
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, name_of, namespace_of, uid_of
from kubeloop.apimachinery.times import format_micro_time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


async def warn(
    cluster: Cluster, about: ReadOnlyObject, reason: str, action: str, note: str, *, reporter: str, now: datetime
) -> None:
    """Tell a Warning as the recorder of events.k8s.io/v1 does; where it is refused, nobody hears of it.

    `about` says of what kind it is, which stored objects do not (`typed`).
    """
    nanoseconds = int((now - _EPOCH).total_seconds() * 1e6) * 1000 + cluster.rng.randrange(1000)
    event = {
        "metadata": {"name": f"{name_of(about)}.{nanoseconds:x}", "namespace": namespace_of(about) or "default"},
        "involvedObject": _reference(about),
        "reason": reason,
        "message": note,
        "action": action,
        "type": "Warning",
        "eventTime": format_micro_time(now),
        "reportingComponent": reporter,
        "reportingInstance": f"{reporter}-apiserver",
    }
    with suppress(ApiError):
        await cluster.create("", "Event", event)


def typed(api_version: str, kind: str, obj: ReadOnlyObject) -> Object:
    """A stored object that says what it is."""
    return {**obj, "apiVersion": api_version, "kind": kind}


def _reference(obj: ReadOnlyObject) -> Object:
    fields: dict[str, Any] = {
        "kind": obj["kind"],
        "namespace": namespace_of(obj),
        "name": name_of(obj),
        "uid": uid_of(obj),
        "apiVersion": obj["apiVersion"],
        "resourceVersion": obj["metadata"].get("resourceVersion"),
    }
    return {name: value for name, value in fields.items() if value}
