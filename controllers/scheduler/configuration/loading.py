"""The configuration file as what the scheduler is built of."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controllers.scheduler import backoff
from controllers.scheduler.configuration import checks, shape
from controllers.scheduler.configuration.plugin_sets import PluginsRefused, arrange
from controllers.scheduler.configuration.user_plugins import known_plugins
from controllers.scheduler.extenders.settings import ExtenderSettings, settings_of
from controllers.scheduler.interface import Plugin
from controllers.scheduler.plugins.node_resources_fit import NodeResourcesFit
from controllers.scheduler.profile import DEFAULT_SCHEDULER, Profile
from kubeloop.apimachinery.yaml_text import YamlSyntaxError, parse_yaml
from kubeloop.client.kubeconfig import tls_context

_DEFAULTS: Mapping[str, Any] = {
    "parallelism": 16,
    "podInitialBackoffSeconds": int(backoff.INITIAL_SECONDS),
    "podMaxBackoffSeconds": int(backoff.MAX_SECONDS),
}


class ConfigurationError(ValueError):
    """The file cannot be used; the text says which, and all that is wrong with it."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """`leader_election` and `kubeconfig` are the file's; flags that are given win over them."""

    profiles: Sequence[Profile] = (Profile(),)
    initial_backoff_seconds: float = backoff.INITIAL_SECONDS
    max_backoff_seconds: float = backoff.MAX_SECONDS
    leader_election: Mapping[str, Any] | None = None
    kubeconfig: str = ""
    extenders: Sequence[ExtenderSettings] = ()


def load(path: Path | None, plugins: Iterable[str] = ()) -> Configuration:
    """Without a file: the defaults. `plugins`: module:Class of the user's own. Raises ConfigurationError."""
    known = known_plugins(plugins)
    if path is None:
        return Configuration()
    try:
        return parse(path.read_bytes(), known)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def parse(text: bytes, known: Mapping[str, type[Plugin]]) -> Configuration:
    """Raises ConfigurationError."""
    try:
        values = parse_yaml(text)
    except YamlSyntaxError as error:
        raise ConfigurationError(str(error)) from error
    _refuse(list(shape.misfits(values if values is not None else {}, shape.CONFIGURATION)))
    values = values or {}
    _check_type(values)
    _refuse(list(_argument_misfits(values)))
    filled = _with_defaults(values)
    _refuse([str(error) for error in checks.check(filled)])
    try:
        extenders = [_settings(extender, i) for i, extender in enumerate(filled.get("extenders") or ())]
        ignored = [name for extender in extenders for name in extender.ignored_resources]
        profiles = [_profile(profile, filled, known, ignored) for profile in filled["profiles"]]
    except PluginsRefused as error:
        raise ConfigurationError(str(error)) from error
    return Configuration(
        profiles,
        filled["podInitialBackoffSeconds"],
        filled["podMaxBackoffSeconds"],
        filled.get("leaderElection"),
        (filled.get("clientConnection") or {}).get("kubeconfig") or "",
        extenders,
    )


def _check_type(values: Mapping[str, Any]) -> None:
    wanted = (checks.API_VERSION, checks.KIND)
    found = (values.get("apiVersion") or "", values.get("kind") or "")
    if found != wanted:
        raise ConfigurationError(
            f"apiVersion and kind must be {' and '.join(wanted)}, not {' and '.join(map(repr, found))}"
        )


def _argument_misfits(values: Mapping[str, Any]) -> Iterable[str]:
    for i, profile in enumerate(values.get("profiles") or ()):
        for j, entry in enumerate((profile or {}).get("pluginConfig") or ()):
            path = f"profiles[{i}].pluginConfig[{j}].args"
            yield from shape.argument_misfits(entry.get("name") or "", entry.get("args"), path)


def _with_defaults(values: Mapping[str, Any]) -> Mapping[str, Any]:
    given = {name: value for name, value in values.items() if value is not None}
    profiles = [dict(profile or {}) for profile in given.get("profiles") or [{}]]
    if len(profiles) == 1:  # of several each must have a name of its own
        profiles[0].setdefault("schedulerName", DEFAULT_SCHEDULER)
    return {**_DEFAULTS, **given, "profiles": profiles}


def _settings(extender: Mapping[str, Any], i: int) -> ExtenderSettings:
    path = f"extenders[{i}].tlsConfig"
    try:
        settings = settings_of(extender)
        tls_context(settings.connection)
    except ssl.SSLError as error:
        raise ConfigurationError(f"{path}: not PEM, or a key of another certificate ({error.reason})") from error
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from error
    return settings


def _profile(
    profile: Mapping[str, Any],
    filled: Mapping[str, Any],
    known: Mapping[str, type[Plugin]],
    ignored_resources: Sequence[str],
) -> Profile:
    """`ignored_resources`: those that extenders count themselves; they win over what the profile ignores."""
    name = profile["schedulerName"]
    arranged = arrange(name, profile.get("plugins") or {}, known)
    percentage = profile.get("percentageOfNodesToScore")
    if percentage is None:
        percentage = filled.get("percentageOfNodesToScore") or 0
    arguments = {entry["name"]: entry.get("args") or {} for entry in profile.get("pluginConfig") or ()}
    if ignored_resources:
        fit = NodeResourcesFit.NAME
        arguments[fit] = {**arguments.get(fit, {}), "ignoredResources": ignored_resources}
    return Profile(name, arranged.entries, arguments, percentage, arranged.at)


def _refuse(errors: Sequence[str]) -> None:
    if errors:
        raise ConfigurationError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
