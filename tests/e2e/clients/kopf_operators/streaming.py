"""Loaded beside an operator: watches that bring their initial list along, and end every second."""

from __future__ import annotations

from typing import Any

import kopf


@kopf.on.startup()
def stream(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.watching.initial_streaming = True
    settings.watching.server_timeout = 1
    settings.watching.reconnect_backoff = 0.05
