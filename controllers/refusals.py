"""What a refusal of the API server means to a loop."""

from __future__ import annotations

from typing import Any

from kubeloop.apimachinery.errors import ApiError


def is_namespace_terminating(error: Exception) -> bool:
    """Whether a creation was refused because its namespace is going away: it will never succeed, and nobody minds."""
    if not isinstance(error, ApiError) or not error.details:
        return False
    causes: list[dict[str, Any]] = error.details.get("causes") or []
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
