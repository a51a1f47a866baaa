"""What became of one object in one pass: what the status lists, and what the events tell."""

from __future__ import annotations

from dataclasses import dataclass

from examples.operators.gitops.health import Health
from examples.operators.gitops.wanted import Identity
from kubeloop.apimachinery.errors import ApiError, TooManyRequests, Unauthorized
from kubeloop.apimachinery.meta import Object
from kubeloop.client.transport import ConnectionFailed

SYNCED, OUT_OF_SYNC, UNKNOWN = "Synced", "OutOfSync", "Unknown"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`is_extra`: Git does not have it any more. `is_failed`: `message` is a refusal. `is_changed`: it was written."""

    identity: Identity
    version: str
    sync: str
    health: Health
    message: str = ""
    is_extra: bool = False
    is_failed: bool = False
    is_changed: bool = False

    def to_status(self) -> Object:
        """An entry of status.resources; what is empty is left out."""
        entry: Object = {
            **self.identity._asdict(),
            "version": self.version,
            "status": self.sync,
            "health": self.health.status,
            "message": self.message or self.health.message,
            "requiresPruning": self.is_extra,
        }
        return {field: value for field, value in entry.items() if value}


def is_of_the_connection(error: ApiError) -> bool:
    """Whether a refusal says something about us or the server and nothing about the object: the pass is tried again."""
    return isinstance(error, ConnectionFailed | TooManyRequests | Unauthorized)
