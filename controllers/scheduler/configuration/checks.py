"""What the values of a KubeSchedulerConfiguration may be (pkg/scheduler/apis/config/validation, v1.36)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controllers.scheduler.configuration.arguments import ARGUMENT_CHECKS
from controllers.scheduler.configuration.extender_checks import extenders
from controllers.scheduler.configuration.shape import GROUP
from kubeloop.apimachinery.field import FieldError, child, duplicate, index, invalid, required
from kubeloop.apimachinery.go_duration import duration_seconds, duration_text

API_VERSION, KIND = f"{GROUP}/v1", "KubeSchedulerConfiguration"
_REMOVED = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")

_ELECTION_SECONDS = {"leaseDuration": 15.0, "renewDeadline": 10.0, "retryPeriod": 2.0}

Values = Mapping[str, Any]


def check(configuration: Values) -> Iterator[FieldError]:
    """Of a configuration whose defaults are filled in and whose types are right."""
    burst = (configuration.get("clientConnection") or {}).get("burst") or 0
    if burst < 0:
        yield invalid("clientConnection.burst", burst, "must be non-negative")
    election = configuration.get("leaderElection") or {}
    if election.get("leaderElect", True):
        yield from _election(election)
    if configuration["parallelism"] <= 0:
        yield invalid("parallelism", configuration["parallelism"], "should be an integer value greater than zero")
    yield from _profiles(configuration["profiles"])
    yield from _percentage(configuration, "")
    first, most = configuration["podInitialBackoffSeconds"], configuration["podMaxBackoffSeconds"]
    if first <= 0:
        yield invalid("podInitialBackoffSeconds", first, "must be greater than 0")
    if most < first:
        yield invalid("podMaxBackoffSeconds", most, "must be greater than or equal to PodInitialBackoffSeconds")
    yield from extenders(configuration.get("extenders") or ())


def _election(election: Values) -> Iterator[FieldError]:
    """0s and absent durations have their defaults; whether each is a duration was looked at before."""
    seconds: dict[str, float] = {}
    for name, default in _ELECTION_SECONDS.items():
        said = election.get(name) or ""
        seconds[name] = duration_seconds(said) or default
        if seconds[name] < 0:
            yield invalid(f"leaderElection.{name}", said, "must be greater than zero")
    if seconds["leaseDuration"] <= seconds["renewDeadline"]:
        renewal = duration_text(seconds["renewDeadline"])
        yield invalid("leaderElection.leaseDuration", renewal, "must be greater than `RenewDeadline`")
    lock = election.get("resourceLock") or "leases"
    if lock != "leases":
        yield invalid("leaderElection.resourceLock", lock, 'resourceLock value must be "leases"')


def _profiles(profiles: Sequence[Values]) -> Iterator[FieldError]:
    seen: dict[str, int] = {}
    for i, profile in enumerate(profiles):
        path = index("profiles", i)
        name = profile.get("schedulerName") or ""
        if not name:
            yield required(f"{path}.schedulerName")
        yield from _percentage(profile, path)
        yield from _plugins(profile.get("plugins") or {}, f"{path}.plugins")
        yield from _plugin_config(profile.get("pluginConfig") or (), f"{path}.pluginConfig")
        if name in seen:
            yield duplicate(f"{path}.schedulerName", f"{index('profiles', seen[name])}.schedulerName")
        seen[name] = i
    yield from _common_queue_sort(profiles)


def _percentage(owner: Values, path: str) -> Iterator[FieldError]:
    percentage = owner.get("percentageOfNodesToScore")
    if percentage is not None and not 0 <= percentage <= 100:
        yield invalid(child(path, "percentageOfNodesToScore"), percentage, "not in valid range [0-100]")


def _plugins(plugins: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    for point, plugin_set in plugins.items():
        for i, plugin in enumerate((plugin_set or {}).get("enabled") or ()):
            where = index(f"{path}.{point}.enabled", i)
            if not plugin.get("name"):
                yield required(f"{where}.name")
            if plugin.get("name") in _REMOVED and point != "multiPoint":
                yield invalid(where, plugin["name"], _removed())


def _plugin_config(entries: Sequence[Values], path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for i, entry in enumerate(entries):
        where, name = index(path, i), entry.get("name") or ""
        if not name:
            yield required(f"{where}.name")
        if name in seen:
            yield duplicate(where, name)
        seen.add(name)
        if name in _REMOVED:
            yield invalid(where, name, _removed())
        elif name in ARGUMENT_CHECKS:
            yield from ARGUMENT_CHECKS[name](entry.get("args") or {}, f"{where}.args")


def _removed() -> str:
    return f'was invalid in version "{API_VERSION}" (KubeSchedulerConfiguration is version "{API_VERSION}")'


def _common_queue_sort(profiles: Sequence[Values]) -> Iterator[FieldError]:
    """There is one queue for all profiles."""
    of_profiles = [(profile.get("plugins") or {}).get("queueSort") or {} for profile in profiles]
    enabled = of_profiles[0].get("enabled") or ()
    if len(enabled) > 1:
        path = "profiles[0].plugins.queueSort.Enabled"
        yield invalid(path, len(enabled), "only one queue sort plugin can be enabled")
    for i, queue_sort in enumerate(of_profiles):
        if queue_sort != of_profiles[0]:
            yield invalid(f"{index('profiles', i)}.plugins.queueSort", queue_sort, "must be the same for all profiles")
