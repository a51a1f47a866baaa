"""The bytes in a Secret."""

from __future__ import annotations

import base64

from kubeloop.apimachinery.meta import ReadOnlyObject


def entry(secret: ReadOnlyObject, name: str) -> bytes:
    """b"" where there is none; the server vouches for the base64."""
    return base64.b64decode((secret.get("data") or {}).get(name) or "")


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
