"""What a probe says of a check that failed, in the words of pkg/probe (v1.36)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubelet_sim.http_words import address, url
from kubelet_sim.probes import Outcome
from kubelet_sim.probing import Check

_NO_ANSWER = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"


def failure(check: Check, container: Mapping[str, Any], ip: str) -> str:
    """`ip`: the pod's address. A command that fails says nothing: there is none that ran."""
    fields, hangs = check.probe.fields, check.outcome is Outcome.HANG
    if "httpGet" in fields:
        return f'Get "{url(fields["httpGet"], container, ip)}": {_NO_ANSWER}' if hangs else _HTTP_FAILURE
    if "tcpSocket" in fields:
        where = address(fields["tcpSocket"], container, ip)
        return f"dial tcp {where}: {'i/o timeout' if hangs else 'connect: connection refused'}"
    if "grpc" in fields:
        return f"timeout: health rpc did not complete within {_seconds(check)}" if hangs else _GRPC_FAILURE
    command = " ".join((fields.get("exec") or {}).get("command") or ())
    return f'command timed out: "{command}" timed out after {_seconds(check)}' if hangs else ""


_HTTP_FAILURE = "HTTP probe failed with statuscode: 500"
_GRPC_FAILURE = 'service unhealthy (responded with "NOT_SERVING")'


def _seconds(check: Check) -> str:
    return f"{int(check.probe.timeout)}s"
