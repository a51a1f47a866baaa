"""When the change happened that leads to an update: the last-change-trigger-time annotation.

Consumers measure from it how long a change takes to reach them. Approximate where one object changes twice between two
reconciles. TriggerTimeTracker of k8s.io/endpointslice/util, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from controllers import pods
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, key_of, metadata, name_of

ANNOTATION = "endpoints.kubernetes.io/last-change-trigger-time"


class TriggerTimes:
    """Remembers, for each Service, the times it has seen. Services that are gone are to be forgotten.

    A time is owed until it is told: a write that failed because the cache was behind does not lose it. (Upstream's is
    lost then, but hardly ever, as its caches are milliseconds behind.)
    """

    def __init__(self) -> None:
        self._seen: dict[ObjectKey, Mapping[str, str]] = {}
        self._owed: dict[ObjectKey, str] = {}

    def next(self, service: ReadOnlyObject, its_pods: Iterable[ReadOnlyObject]) -> str:
        """The earliest time that is new since it was last `told`; "" where none is. Times sort as text: all are UTC."""
        created = metadata(service).get("creationTimestamp") or ""
        times = {name_of(pod): time for pod in its_pods if (time := _ready_changed(pod))} | {"": created}
        key = key_of(service)
        seen = self._seen.get(key)
        self._seen[key] = times
        new = [created] if seen is None else [time for name, time in times.items() if time > seen.get(name, "")]
        owed = min(filter(None, [self._owed.get(key), *new]), default="")
        if owed:
            self._owed[key] = owed
        return owed

    def told(self, key: ObjectKey) -> None:
        """The last time was written, or there was nothing to write."""
        self._owed.pop(key, None)

    def forget(self, key: ObjectKey) -> None:
        self._seen.pop(key, None)
        self._owed.pop(key, None)


def annotate(annotations: Mapping[str, str], time: str) -> dict[str, str]:
    """Annotations with the time, or without it where there is none to tell."""
    kept = {k: v for k, v in annotations.items() if k != ANNOTATION}
    return {**kept, ANNOTATION: time} if time else kept


def _ready_changed(pod: ReadOnlyObject) -> str:
    return (pods.ready_condition(pod) or Object()).get("lastTransitionTime") or ""
