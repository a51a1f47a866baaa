"""Whether a container that ended runs again: its own rules first, then its own policy, then the pod's.

Semantics: ContainerShouldRestart in pkg/api/v1/pod (v1.36). An init container that ended well never runs again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubelet_sim.state import Container, ContainerSpec, PodSpec, Role, State

ALL = "RestartAllContainers"  # the action of a rule
RESTARTED_WITH_ALL = "RestartingAllContainers"  # why a container ended that was started anew with its pod


def restarts_all(spec: ContainerSpec, container: Container) -> bool:
    """Whether it has ended as its first rule that matches wants the whole pod to start anew."""
    rules = spec.fields.get("restartPolicyRules")
    if not rules or container.state is not State.EXITED or container.run is None:
        return False
    exit_code = container.run.exit_code
    first = next((rule for rule in rules if _matches(rule, exit_code)), None)
    return first is not None and first.get("action") == ALL


def should_restart(pod: PodSpec, spec: ContainerSpec, container: Container) -> bool:
    run = container.run
    if run is None or run.finished_at is None:
        return False
    if spec.role is Role.INIT and run.exit_code == 0:
        return False
    return is_restartable(pod, spec, container)


def is_restartable(pod: PodSpec, spec: ContainerSpec, container: Container) -> bool:
    """Of a container that has run."""
    if spec.role is Role.EPHEMERAL:
        return False
    if container.stop_order:
        return container.stop_order.is_restarted
    if container.run and container.run.reason == RESTARTED_WITH_ALL:
        return True
    exit_code = container.run.exit_code if container.run else 0
    own_policy = spec.fields.get("restartPolicy")
    if own_policy and any(_matches(rule, exit_code) for rule in spec.fields.get("restartPolicyRules") or ()):
        return True
    policy = own_policy or pod.restart_policy
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def after_failed_probe(pod: PodSpec, spec: ContainerSpec) -> bool:
    """Only the policies count then, and exit codes do not."""
    return (spec.fields.get("restartPolicy") or pod.restart_policy) != "Never"


def _matches(rule: Mapping[str, Any], exit_code: int) -> bool:
    codes = rule.get("exitCodes") or {}
    is_listed = exit_code in (codes.get("values") or ())
    return bool(codes) and is_listed == (codes.get("operator") == "In")
