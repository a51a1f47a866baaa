"""Which fields a KubeSchedulerConfiguration has, and of which types (k8s.io/kube-scheduler/config/v1, v1.36)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeloop.apimachinery import field
from kubeloop.apimachinery.go_duration import duration_error

# A type is bool, int, float, str or DURATION (a string, too), ANY for what is checked elsewhere, [type] for a list, or
# the fields of an object.
ANY = object


class DURATION(str):
    """As Go writes durations."""


Shape = Any

_PLUGIN = {"name": str, "weight": int}
_PLUGIN_SET = {"enabled": [_PLUGIN], "disabled": [_PLUGIN]}
_POINTS = (
    *("preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit"),
    *("preBind", "bind", "postBind", "multiPoint", "placementGenerate", "placementScore"),
)
_PROFILE = {
    "schedulerName": str,
    "percentageOfNodesToScore": int,
    "plugins": dict.fromkeys(_POINTS, _PLUGIN_SET),
    "pluginConfig": [{"name": str, "args": ANY}],
}
_LEADER_ELECTION = {
    "leaderElect": bool,
    "leaseDuration": DURATION,
    "renewDeadline": DURATION,
    "retryPeriod": DURATION,
    "resourceLock": str,
    "resourceName": str,
    "resourceNamespace": str,
}
_CLIENT_CONNECTION = {"kubeconfig": str, "acceptContentTypes": str, "contentType": str, "qps": float, "burst": int}
_TLS = {
    "insecure": bool,
    **dict.fromkeys(("serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData"), str),
}
_EXTENDER = {
    **dict.fromkeys(("urlPrefix", "filterVerb", "prioritizeVerb", "preemptVerb", "bindVerb"), str),
    **dict.fromkeys(("enableHTTPS", "nodeCacheCapable", "ignorable"), bool),
    "weight": int,
    "httpTimeout": DURATION,
    "tlsConfig": _TLS,
    "managedResources": [{"name": str, "ignoredByScheduler": bool}],
}
CONFIGURATION: Mapping[str, Shape] = {
    "apiVersion": str,
    "kind": str,
    "parallelism": int,
    "leaderElection": _LEADER_ELECTION,
    "clientConnection": _CLIENT_CONNECTION,
    "enableProfiling": bool,
    "enableContentionProfiling": bool,
    "percentageOfNodesToScore": int,
    "podInitialBackoffSeconds": int,
    "podMaxBackoffSeconds": int,
    "profiles": [_PROFILE],
    "extenders": [_EXTENDER],
    "delayCacheUntilActive": bool,
}

_RESOURCES = [{"name": str, "weight": int}]
_CURVE = [{"utilization": int, "score": int}]
_STRATEGY = {"type": str, "resources": _RESOURCES, "requestedToCapacityRatio": {"shape": _CURVE}}
_CONSTRAINT = {
    "maxSkew": int,
    "topologyKey": str,
    "whenUnsatisfiable": str,
    "labelSelector": ANY,
    "minDomains": int,
    "nodeAffinityPolicy": str,
    "nodeTaintsPolicy": str,
    "matchLabelKeys": [str],
}
_EXPRESSIONS = [{"key": str, "operator": str, "values": [str]}]
_TERM = {"matchExpressions": _EXPRESSIONS, "matchFields": _EXPRESSIONS}
# Of plugins that are not named here, the arguments are their own affair.
ARGUMENTS: Mapping[str, Mapping[str, Shape]] = {
    "DefaultPreemption": {"minCandidateNodesPercentage": int, "minCandidateNodesAbsolute": int},
    "DynamicResources": {"filterTimeout": DURATION, "bindingTimeout": DURATION},
    "InterPodAffinity": {"hardPodAffinityWeight": int, "ignorePreferredTermsOfExistingPods": bool},
    "NodeAffinity": {
        "addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_TERM]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": int, "preference": _TERM}],
        }
    },
    "NodeResourcesBalancedAllocation": {"resources": _RESOURCES},
    "NodeResourcesFit": {"ignoredResources": [str], "ignoredResourceGroups": [str], "scoringStrategy": _STRATEGY},
    "PodTopologySpread": {"defaultConstraints": [_CONSTRAINT], "defaultingType": str},
    "VolumeBinding": {"bindTimeoutSeconds": int, "shape": _CURVE},
}
GROUP = "kubescheduler.config.k8s.io"
_TYPE_META = {"apiVersion": str, "kind": str}

_NAMES = {bool: "a boolean", int: "an integer", float: "a number", str: "a string", DURATION: "a string"}


def misfits(value: Any, shape: Shape, path: str = "") -> Iterator[str]:
    """What does not belong there, or is of another type; null stands for absent everywhere."""
    if value is None or shape is ANY:
        return
    if isinstance(shape, Mapping):
        yield from _object_misfits(value, shape, path)
    elif isinstance(shape, Sequence):
        if not isinstance(value, list):
            yield f"{path}: must be a list"
            return
        for i, item in enumerate(value):
            yield from misfits(item, shape[0], field.index(path, i))
    elif not _is(value, shape):
        yield f"{path}: must be {_NAMES[shape]}, not {field.go_value(value)}"
    elif shape is DURATION and (problem := duration_error(value)):
        yield f"{path}: time: {problem}"


def argument_misfits(plugin: str, arguments: Any, path: str) -> Iterator[str]:
    known = ARGUMENTS.get(plugin)
    if known is None:
        return
    yield from misfits(arguments, {**_TYPE_META, **known}, path)
    if isinstance(arguments, dict):
        group, wanted = GROUP, f"{plugin}Args"
        found = arguments.get("kind") or wanted, str(arguments.get("apiVersion") or group).partition("/")[0]
        if found != (wanted, group):
            yield f"{path}: args for plugin {plugin} were not of type {wanted}.{group}, got {'.'.join(map(str, found))}"


def _object_misfits(value: Any, shape: Mapping[str, Shape], path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path or 'the configuration'}: must be an object"
        return
    for name, inner in value.items():
        if name not in shape:
            yield f'strict decoding error: unknown field "{field.child(path, name)}"'
        else:
            yield from misfits(inner, shape[name], field.child(path, name))


def _is(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is DURATION:
        return isinstance(value, str)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
