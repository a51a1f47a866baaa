"""Loaded beside an operator: whoever is refused or cut off asks again soon, and not ever later as by default."""

from __future__ import annotations

from typing import Any

import kopf


@kopf.on.startup()
def ask_again_soon(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.networking.error_backoffs = [0.2] * 500
