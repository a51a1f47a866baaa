"""How asking a webhook can end badly: it says no, it cannot be asked, or the server itself cannot go on.

What becomes of the request is told from these: a no and a failing server refuse it, a failed call does unless the
webhook's failurePolicy is Ignore. Facts: k8s.io/apiserver/pkg/admission/plugin/webhook/errors and pkg/util/webhook.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeloop.apimachinery.errors import ApiError, BadRequest
from kubeloop.apimachinery.field import go_quote

Json = Mapping[str, Any]


class CallFailed(Exception):
    """Nobody knows what the webhook would have said. `code` is for metrics."""

    def __init__(self, webhook: str, why: str, code: int) -> None:
        super().__init__(f"failed calling webhook {go_quote(webhook)}: {why}")
        self.code = code


class Denied(Exception):
    """The webhook says no; `refusal` is what the client is told."""

    def __init__(self, webhook: str, status: Json | None) -> None:
        super().__init__(webhook)
        self.refusal = _refusal(webhook, status or {})


def _refusal(webhook: str, status: Json) -> ApiError:
    """The Status the webhook sent, made one of a failure, and saying whose it is."""
    said = f"admission webhook {go_quote(webhook)} denied the request"
    message, reason = str(status.get("message") or ""), str(status.get("reason") or "")
    text = f"{said}: {message or reason}" if message or reason else f"{said} without explanation"
    code = status.get("code")
    code = code if isinstance(code, int) and code >= 400 else 400
    details = status.get("details")
    return ApiError(text, code=code, reason=reason, details=details if isinstance(details, dict) else None)


def dry_run_unsupported(webhook: str) -> ApiError:
    return BadRequest(f"admission webhook {go_quote(webhook)} does not support dry run")
