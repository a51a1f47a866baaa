"""What `kubectl get certificatesigningrequests` shows."""

from __future__ import annotations

from datetime import datetime

from apiserver.printing.cells import AGE, NAME, NONE, field, text
from apiserver.printing.durations import human_duration
from apiserver.printing.table import Column
from kubeloop.apimachinery.meta import ReadOnlyObject


def _duration(request: ReadOnlyObject, now: datetime) -> str:
    seconds = (request.get("spec") or {}).get("expirationSeconds")
    return NONE if seconds is None else human_duration(seconds)


def _condition(request: ReadOnlyObject, now: datetime) -> str:
    """The decision, and what came of it: `Approved,Issued`."""
    status = request.get("status") or {}
    types = {condition["type"] for condition in status.get("conditions") or ()}
    words = [next((word for word in ("Denied", "Approved") if word in types), "Pending")]
    if "Failed" in types:
        words.append("Failed")
    if status.get("certificate"):
        words.append("Issued")
    return ",".join(words)


CERTIFICATE_SIGNING_REQUEST_COLUMNS = (
    NAME,
    AGE,
    Column("SignerName", "string", text("spec", "signerName", default=NONE)),
    Column("Requestor", "string", field("spec", "username")),
    Column("RequestedDuration", "string", _duration),
    Column("Condition", "string", _condition),
)
