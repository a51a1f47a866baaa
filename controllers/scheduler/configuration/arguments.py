"""What the arguments of plugins may be (validation_pluginargs.go, v1.36)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from controllers.scheduler.affinity_terms import PREFERRED, REQUIRED
from kubeloop.apimachinery.field import (
    FieldError,
    duplicate,
    forbidden,
    index,
    invalid,
    not_supported,
    required,
)
from kubeloop.apimachinery.go_duration import duration_seconds
from kubeloop.apimachinery.selectors import NODE_SELECTOR_OPERATORS, SelectorError, from_node_expressions
from kubeloop.apimachinery.validation import qualified_name_errors

Arguments = Mapping[str, Any]
Check = Callable[[Arguments, str], Iterator[FieldError]]

_STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_DEFAULTING = ("System", "List")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_RATIO = "RequestedToCapacityRatio"


def default_preemption(args: Arguments, path: str) -> Iterator[FieldError]:
    percentage = args.get("minCandidateNodesPercentage", 10)
    absolute = args.get("minCandidateNodesAbsolute", 100)
    if not 0 <= percentage <= 100:
        yield invalid(f"{path}.minCandidateNodesPercentage", percentage, "not in valid range [0, 100]")
    if absolute < 0:
        yield invalid(f"{path}.minCandidateNodesAbsolute", absolute, "not in valid range [0, inf)")
    if percentage == 0 and absolute == 0:
        same_time = "cannot be zero at the same time as"
        yield invalid(f"{path}.minCandidateNodesPercentage", percentage, f"{same_time} minCandidateNodesAbsolute")
        yield invalid(f"{path}.minCandidateNodesAbsolute", absolute, f"{same_time} minCandidateNodesPercentage")


def inter_pod_affinity(args: Arguments, path: str) -> Iterator[FieldError]:
    weight = args.get("hardPodAffinityWeight", 1)
    if not 0 <= weight <= 100:
        yield invalid(f"{path}.hardPodAffinityWeight", weight, "not in valid range [0, 100]")


def node_affinity(args: Arguments, path: str) -> Iterator[FieldError]:
    added = args.get("addedAffinity") or {}
    required_terms = (added.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()
    for i, term in enumerate(required_terms):
        yield from _node_selector_term(term, index(f"{path}.addedAffinity.{REQUIRED}.nodeSelectorTerms", i))
    for i, preferred in enumerate(added.get(PREFERRED) or ()):
        yield from _node_selector_term(preferred.get("preference") or {}, index(f"{path}.addedAffinity.{PREFERRED}", i))


def _node_selector_term(term: Arguments, path: str) -> Iterator[FieldError]:
    """What cannot be understood would match no node."""
    for i, expression in enumerate(term.get("matchExpressions") or ()):
        where, operator = index(f"{path}.matchExpressions", i), expression.get("operator") or ""
        if operator not in NODE_SELECTOR_OPERATORS:
            yield not_supported(f"{where}.operator", operator, NODE_SELECTOR_OPERATORS)
            continue
        try:
            from_node_expressions([expression])
        except SelectorError as error:
            yield invalid(where, expression, str(error))


def node_resources_balanced_allocation(args: Arguments, path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for i, resource in enumerate(args.get("resources") or ()):
        where = index(f"{path}.resources", i)
        if resource.get("name") in seen:
            yield duplicate(f"{where}.name", resource["name"])
        seen.add(resource.get("name", ""))
        if (resource.get("weight") or 1) != 1:
            yield invalid(f"{where}.weight", resource["weight"], "must be 1")


def node_resources_fit(args: Arguments, path: str) -> Iterator[FieldError]:
    for i, name in enumerate(args.get("ignoredResources") or ()):
        yield from _label_name(name, index(f"{path}.ignoredResources", i))
    for i, group in enumerate(args.get("ignoredResourceGroups") or ()):
        where = index(f"{path}.ignoredResourceGroups", i)
        if "/" in group:
            yield invalid(where, group, "resource group name can't contain '/'")
        yield from _label_name(group, where)
    if args.get("scoringStrategy") is not None:
        yield from _scoring_strategy(args["scoringStrategy"], f"{path}.scoringStrategy")


def _scoring_strategy(strategy: Arguments, path: str) -> Iterator[FieldError]:
    kind = strategy.get("type") or ""
    if kind not in _STRATEGIES:
        yield not_supported(f"{path}.type", kind, _STRATEGIES)
    for i, resource in enumerate(strategy.get("resources") or ()):
        weight = resource.get("weight") or 1
        if not 0 < weight <= 100:
            detail = f"resource weight of {resource.get('name', '')} not in valid range (0, 100]"
            yield invalid(f"{index(f'{path}.resources', i)}.weight", weight, detail)
    ratio = strategy.get("requestedToCapacityRatio")
    if kind != _RATIO and ratio is not None:
        yield forbidden(f"{path}.requestedToCapacityRatio", f"must be nil when type is not {_RATIO}")
    elif kind == _RATIO and ratio is None:
        yield required(f"{path}.requestedToCapacityRatio", f"must be specified when type is {_RATIO}")
    elif ratio is not None:
        yield from _curve(ratio.get("shape") or (), f"{path}.requestedToCapacityRatio.shape")


def _curve(points: Sequence[Mapping[str, int]], path: str) -> Iterator[FieldError]:
    if not points:
        yield required(path, "at least one point must be specified")
    xs = [point.get("utilization", 0) for point in points]
    for i in range(1, len(xs)):
        if xs[i - 1] >= xs[i]:
            yield invalid(f"{index(path, i)}.utilization", xs[i], "values must be sorted in increasing order")
            break
    for i, point in enumerate(points):
        if not 0 <= xs[i] <= 100:
            yield invalid(f"{index(path, i)}.utilization", xs[i], "not in valid range [0, 100]")
        if not 0 <= point.get("score", 0) <= 10:
            yield invalid(f"{index(path, i)}.score", point["score"], "not in valid range [0, 10]")


def pod_topology_spread(args: Arguments, path: str) -> Iterator[FieldError]:
    constraints = args.get("defaultConstraints") or ()
    defaulting = args.get("defaultingType") or "System"
    if defaulting not in _DEFAULTING:
        yield not_supported(f"{path}.defaultingType", defaulting, _DEFAULTING)
    elif defaulting == "System" and constraints:
        yield invalid(f"{path}.defaultingType", defaulting, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for i, constraint in enumerate(constraints):
        where = index(f"{path}.defaultConstraints", i)
        yield from _constraint(constraint, where)
        key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        if (key, action) in seen:
            yield duplicate(where, f"{{{key}, {action}}}")
        seen.add((key, action))


def _constraint(constraint: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    if constraint.get("maxSkew", 0) <= 0:
        yield invalid(f"{path}.maxSkew", constraint.get("maxSkew", 0), "not in valid range (0, inf)")
    key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    else:
        yield from _label_name(key, f"{path}.topologyKey")
    if not action:
        yield required(f"{path}.whenUnsatisfiable", "can not be empty")
    elif action not in _ACTIONS:
        yield not_supported(f"{path}.whenUnsatisfiable", action, _ACTIONS)
    if constraint.get("labelSelector") is not None:
        detail = "constraint must not define a selector, as they deduced for each pod"
        yield forbidden(f"{path}.labelSelector", detail)


def volume_binding(args: Arguments, path: str) -> Iterator[FieldError]:
    seconds = args.get("bindTimeoutSeconds", 600)
    if seconds < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid(f"{path}.bindTimeoutSeconds", seconds, detail)
    if args.get("shape"):
        detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        yield invalid(f"{path}.shape", args["shape"], detail)


def dynamic_resources(args: Arguments, path: str) -> Iterator[FieldError]:
    filtering, binding = args.get("filterTimeout"), args.get("bindingTimeout")
    if filtering is not None and duration_seconds(filtering) < 0:
        yield invalid(f"{path}.filterTimeout", filtering, "must be zero or positive")
    if binding is not None and duration_seconds(binding) < 1:
        yield invalid(f"{path}.bindingTimeout", binding, "must be at least 1 second")


def _label_name(name: str, path: str) -> Iterator[FieldError]:
    for detail in qualified_name_errors(name):
        yield invalid(path, name, detail)


ARGUMENT_CHECKS: Mapping[str, Check] = {
    "DefaultPreemption": default_preemption,
    "DynamicResources": dynamic_resources,
    "InterPodAffinity": inter_pod_affinity,
    "NodeAffinity": node_affinity,
    "NodeResourcesBalancedAllocation": node_resources_balanced_allocation,
    "NodeResourcesFit": node_resources_fit,
    "PodTopologySpread": pod_topology_spread,
    "VolumeBinding": volume_binding,
}
