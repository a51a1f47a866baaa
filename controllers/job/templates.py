"""The pods of a Job, as they are to be created. Pure."""

from __future__ import annotations

from controllers.job.indexes import (
    COMPLETION_INDEX,
    FAILURE_COUNT,
    IGNORED_FAILURE_COUNT,
    failure_count,
    ignored_failure_count,
)
from controllers.job.model import TRACKING_FINALIZER, JobView
from controllers.pod_control import pod_from_template
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, deep_copy, name_of
from kubeloop.apimachinery.names import MAX_GENERATED_BASE
from kubeloop.apimachinery.resource import JOBS

_INDEX_VARIABLE = "JOB_COMPLETION_INDEX"


def pod(job: JobView) -> Object:
    """One without an index."""
    made = pod_from_template(job.spec["template"], job.obj, JOBS)
    metadata = made["metadata"]
    if TRACKING_FINALIZER not in (finalizers := metadata.get("finalizers") or []):
        metadata["finalizers"] = [*finalizers, TRACKING_FINALIZER]
    return made


def indexed_pod(job: JobView, index: int) -> Object:
    """The index is in its name, host name, label, annotation and environment."""
    made = pod(job)
    metadata = made["metadata"]
    metadata["generateName"] = _name_prefix(name_of(job.obj), index)
    metadata["labels"] = {**(metadata.get("labels") or {}), COMPLETION_INDEX: str(index)}
    metadata["annotations"] = {
        **(metadata.get("annotations") or {}),
        COMPLETION_INDEX: str(index),
        **_failure_counts(job, index),
    }
    made["spec"] = {**deep_copy(made["spec"]), "hostname": f"{name_of(job.obj)}-{index}"}
    for field in ("initContainers", "containers"):
        for container in made["spec"].get(field) or ():
            _add_index_variable(container)
    return made


def _name_prefix(job_name: str, index: int) -> str:
    """The Job's name is cut where the index would be."""
    suffix = f"-{index}-"
    return job_name[: MAX_GENERATED_BASE - len(suffix)] + suffix


def _failure_counts(job: JobView, index: int) -> Object:
    """Those of the pod it replaces, that pod's own failure added."""
    if job.backoff_limit_per_index is None:
        return {}
    counted, ignored = _failures_with(job, job.kept_failures.get(index))
    counts = {FAILURE_COUNT: str(counted)}
    return counts if not ignored else {**counts, IGNORED_FAILURE_COUNT: str(ignored)}


def _failures_with(job: JobView, replaced: ReadOnlyObject | None) -> tuple[int, int]:
    if replaced is None:
        return 0, 0
    is_counted = job.judge(replaced).is_counted
    return failure_count(replaced) + is_counted, ignored_failure_count(replaced) + (not is_counted)


def _add_index_variable(container: Object) -> None:
    variables = container.get("env") or []
    if all(variable.get("name") != _INDEX_VARIABLE for variable in variables):
        source = {"fieldRef": {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
        container["env"] = [*variables, {"name": _INDEX_VARIABLE, "valueFrom": source}]
