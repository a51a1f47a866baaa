"""The completion index of a pod, and the annotations that go from a failed pod to the one in its place. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURE_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"

UNKNOWN = -1

_is_integer = re.compile(r"[+-]?[0-9]+").fullmatch


def index_of(pod: ReadOnlyObject) -> int:
    """UNKNOWN where the annotation is missing or no index."""
    text = annotations_of(pod).get(COMPLETION_INDEX, "")
    return max(int(text), UNKNOWN) if _is_integer(text) else UNKNOWN


def indexes_of(pods: Iterable[ReadOnlyObject]) -> set[int]:
    return {index_of(pod) for pod in pods} - {UNKNOWN}


def failure_count(pod: ReadOnlyObject) -> int:
    """How many pods of this index failed before this one."""
    return _count(pod, FAILURE_COUNT)


def ignored_failure_count(pod: ReadOnlyObject) -> int:
    """How many of them the failure policy ignored."""
    return _count(pod, IGNORED_FAILURE_COUNT)


def all_failures(pod: ReadOnlyObject) -> int:
    return failure_count(pod) + ignored_failure_count(pod)


def _count(pod: ReadOnlyObject, annotation: str) -> int:
    text = annotations_of(pod).get(annotation, "")
    count = int(text) if _is_integer(text) else 0
    return count if 0 <= count < 2**31 else 0
