"""What the configuration file says of things that are flags as well: a flag that is given wins."""

from __future__ import annotations

from controllers.scheduler.configuration.loading import Configuration
from kubeloop.apimachinery.go_duration import duration_seconds

_PREFIX = "leader_elect"
_SECONDS = {"leaseDuration": "lease_duration", "renewDeadline": "renew_deadline", "retryPeriod": "retry_period"}
_NAMES = {"resourceName": "resource_name", "resourceNamespace": "resource_namespace"}


def flag_defaults(configuration: Configuration) -> dict[str, object]:
    """By the flag's name in the parsed arguments. A duration of 0 and an empty name say nothing."""
    election = configuration.leader_election or {}
    defaults: dict[str, object] = {}
    if election.get("leaderElect") is not None:
        defaults[_PREFIX] = election["leaderElect"]
    for name, flag in _SECONDS.items():
        if seconds := duration_seconds(election.get(name) or ""):
            defaults[f"{_PREFIX}_{flag}"] = seconds
    for name, flag in _NAMES.items():
        if election.get(name):
            defaults[f"{_PREFIX}_{flag}"] = election[name]
    if configuration.kubeconfig:
        defaults["kubeconfig"] = configuration.kubeconfig
    return defaults
