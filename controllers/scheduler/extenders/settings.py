"""What a KubeSchedulerConfiguration says of one extender."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubeloop.apimachinery.go_duration import duration_seconds
from kubeloop.client.kubeconfig import Connection

TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ExtenderSettings:
    """A verb that is "" is never asked. `ignored_resources` are not counted by the scheduler itself."""

    url: str
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: int = 0
    timeout_seconds: float = TIMEOUT_SECONDS
    is_ignorable: bool = False
    knows_nodes: bool = False  # it is told the names of nodes only
    managed_resources: frozenset[str] = frozenset()
    ignored_resources: Sequence[str] = ()
    connection: Connection = field(default_factory=lambda: Connection(""))


def settings_of(extender: Mapping[str, Any]) -> ExtenderSettings:
    """Of an entry that was checked. Raises OSError where a file of its TLS settings cannot be read."""
    managed = extender.get("managedResources") or ()
    return ExtenderSettings(
        url=extender.get("urlPrefix") or "",
        filter_verb=extender.get("filterVerb") or "",
        prioritize_verb=extender.get("prioritizeVerb") or "",
        preempt_verb=extender.get("preemptVerb") or "",
        bind_verb=extender.get("bindVerb") or "",
        weight=extender.get("weight") or 0,
        timeout_seconds=duration_seconds(extender.get("httpTimeout") or "0") or TIMEOUT_SECONDS,
        is_ignorable=bool(extender.get("ignorable")),
        knows_nodes=bool(extender.get("nodeCacheCapable")),
        managed_resources=frozenset(resource["name"] for resource in managed),
        ignored_resources=[resource["name"] for resource in managed if resource.get("ignoredByScheduler")],
        connection=_connection(extender),
    )


def _connection(extender: Mapping[str, Any]) -> Connection:
    """Whom to believe, and who we are: data wins over files. With enableHTTPS alone nobody's certificate is checked."""
    tls = extender.get("tlsConfig") or {}
    authority = _pem(tls, "caData", "caFile")
    return Connection(
        server=extender.get("urlPrefix") or "",
        ca=authority,
        certificate=_pem(tls, "certData", "certFile"),
        key=_pem(tls, "keyData", "keyFile"),
        is_insecure=bool(tls.get("insecure")) or (bool(extender.get("enableHTTPS")) and not authority),
        server_name=tls.get("serverName") or "",
    )


def _pem(tls: Mapping[str, Any], data: str, file: str) -> str:
    if tls.get(data):
        return b64decode(tls[data], validate=True).decode()
    return Path(tls[file]).read_text() if tls.get(file) else ""
