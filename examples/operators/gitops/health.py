"""How an applied object fares, by its kind. Pure; the rules are those of Argo CD and of `kubectl rollout status`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from kubeloop.apimachinery.conditions import conditions_of, get_condition, is_true
from kubeloop.apimachinery.meta import ReadOnlyObject, generation_of, is_being_deleted

HEALTHY, PROGRESSING, MISSING, DEGRADED = "Healthy", "Progressing", "Missing", "Degraded"
_FROM_BEST_TO_WORST = (HEALTHY, PROGRESSING, MISSING, DEGRADED)


class Health(NamedTuple):
    status: str
    message: str = ""


_OBSERVING = Health(PROGRESSING, "waiting for the controller to observe the newest spec")


def health_of(obj: ReadOnlyObject | None, group: str, kind: str) -> Health:
    """Kinds without a rule are healthy as soon as they exist."""
    if obj is None:
        return Health(MISSING)
    if is_being_deleted(obj):
        return Health(PROGRESSING, "pending deletion")
    rule = _RULES.get((group, kind))
    return rule(obj) if rule is not None else Health(HEALTHY)


def worst(healths: Iterable[str]) -> str:
    """Healthy where there is none."""
    return max(healths, key=_FROM_BEST_TO_WORST.index, default=HEALTHY)


def _deployment(deployment: ReadOnlyObject) -> Health:
    spec, status = _parts(deployment)
    if spec.get("paused"):
        return Health(HEALTHY, "paused")
    if not _is_observed(deployment):
        return _OBSERVING
    progressing = get_condition(conditions_of(deployment), "Progressing") or {}
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return Health(DEGRADED, progressing.get("message") or "the deployment exceeded its progress deadline")
    replicas, updated = spec.get("replicas", 1), status.get("updatedReplicas") or 0
    available, total = status.get("availableReplicas") or 0, status.get("replicas") or 0
    if updated < replicas:
        return Health(PROGRESSING, f"{updated} of {replicas} new replicas have been updated")
    if total > updated:
        return Health(PROGRESSING, f"{total - updated} old replicas are pending termination")
    if available < updated:
        return Health(PROGRESSING, f"{available} of {updated} updated replicas are available")
    return Health(HEALTHY)


def _stateful_set(stateful_set: ReadOnlyObject) -> Health:
    spec, status = _parts(stateful_set)
    if not _is_observed(stateful_set):
        return _OBSERVING
    replicas, ready = spec.get("replicas", 1), status.get("readyReplicas") or 0
    strategy = spec.get("updateStrategy") or {}
    if ready < replicas:
        return Health(PROGRESSING, f"{ready} of {replicas} replicas are ready")
    if strategy.get("type") == "OnDelete":
        return Health(HEALTHY)
    partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
    wanted, updated = max(replicas - partition, 0), status.get("updatedReplicas") or 0
    if status.get("updateRevision") != status.get("currentRevision") and updated < wanted:
        return Health(PROGRESSING, f"{updated} of {wanted} replicas have been updated")
    return Health(HEALTHY)


def _daemon_set(daemon_set: ReadOnlyObject) -> Health:
    spec, status = _parts(daemon_set)
    if not _is_observed(daemon_set):
        return _OBSERVING
    wanted, updated = status.get("desiredNumberScheduled") or 0, status.get("updatedNumberScheduled") or 0
    available = status.get("numberAvailable") or 0
    is_rolling = (spec.get("updateStrategy") or {}).get("type") != "OnDelete"
    if is_rolling and updated < wanted:
        return Health(PROGRESSING, f"{updated} of {wanted} pods have been updated")
    if available < wanted:
        return Health(PROGRESSING, f"{available} of {wanted} pods are available")
    return Health(HEALTHY)


def _job(job: ReadOnlyObject) -> Health:
    conditions = conditions_of(job)
    failed = get_condition(conditions, "Failed") or {}
    if failed.get("status") == "True":
        return Health(DEGRADED, failed.get("message") or failed.get("reason") or "the job failed")
    if is_true(conditions, "Complete"):
        return Health(HEALTHY)
    if (job.get("spec") or {}).get("suspend"):
        return Health(HEALTHY, "suspended")
    return Health(PROGRESSING, "running")


def _claim(claim: ReadOnlyObject) -> Health:
    phase = (claim.get("status") or {}).get("phase")
    if phase == "Bound":
        return Health(HEALTHY)
    if phase == "Lost":
        return Health(DEGRADED, "its volume is lost")
    return Health(PROGRESSING, "not bound to a volume yet")


def _pod(pod: ReadOnlyObject) -> Health:
    spec, status = _parts(pod)
    phase, message = status.get("phase"), status.get("message") or ""
    if phase == "Failed":
        return Health(DEGRADED, message or _containers_message(status, "terminated"))
    if phase == "Succeeded":
        return Health(HEALTHY)
    if stuck := _stuck_message(status):
        return Health(DEGRADED, stuck)
    if phase != "Running":
        return Health(PROGRESSING, message)
    if (spec.get("restartPolicy") or "Always") != "Always":
        return Health(PROGRESSING, "running to its end")
    return Health(HEALTHY) if is_true(conditions_of(pod), "Ready") else Health(PROGRESSING, "not ready")


def _service(service: ReadOnlyObject) -> Health:
    spec, status = _parts(service)
    if spec.get("type") == "LoadBalancer" and not (status.get("loadBalancer") or {}).get("ingress"):
        return Health(PROGRESSING, "waiting for a load balancer")
    return Health(HEALTHY)


def _definition(definition: ReadOnlyObject) -> Health:
    conditions = conditions_of(definition)
    names = get_condition(conditions, "NamesAccepted") or {}
    if names.get("status") == "False":
        return Health(DEGRADED, names.get("message") or "")
    return Health(HEALTHY) if is_true(conditions, "Established") else Health(PROGRESSING, "not established yet")


_RULES: Mapping[tuple[str, str], Callable[[ReadOnlyObject], Health]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
}


def _parts(obj: ReadOnlyObject) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return obj.get("spec") or {}, obj.get("status") or {}


def _is_observed(obj: ReadOnlyObject) -> bool:
    return ((obj.get("status") or {}).get("observedGeneration") or 0) >= generation_of(obj)


def _stuck_message(status: Mapping[str, Any]) -> str:
    """Why a container will not run without help: its image cannot be pulled, or it crashes again and again."""
    for waiting in _states(status, "waiting"):
        reason = waiting.get("reason") or ""
        if reason.startswith("Err") or reason.endswith(("Error", "BackOff")):
            return waiting.get("message") or reason
    return ""


def _containers_message(status: Mapping[str, Any], state: str) -> str:
    ended = [each for each in _states(status, state) if each.get("exitCode")]
    return next((each.get("message") or f"exit code {each['exitCode']}" for each in ended), "the pod failed")


def _states(status: Mapping[str, Any], name: str) -> Iterable[Mapping[str, Any]]:
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return [state for each in containers if (state := (each.get("state") or {}).get(name))]
