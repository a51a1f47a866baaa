"""Properties are tried with the same examples every time: a failure is one for everybody."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "properties", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("properties")
