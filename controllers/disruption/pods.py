"""Which budgets a pod has; and evictions that were announced on a pod and never happened."""

from __future__ import annotations

from collections.abc import Iterable

from controllers.pod_status import DISRUPTION_TARGET
from controllers.pods import is_terminal
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.conditions import conditions_of, get_condition
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    generation_of,
    is_being_deleted,
    key_of,
    labels_of,
    name_of,
    namespace_of,
)
from kubeloop.apimachinery.resource import PODS
from kubeloop.apimachinery.selectors import SelectorError, from_label_selector
from kubeloop.apimachinery.times import format_time, seconds_since
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.result import DONE, RequeueAfter, Result

# How long a pod may be marked as about to go without being deleted.
STALE_SECONDS = 120.0
_BY_KUBELET = "TerminationByKubelet"  # such a pod may take any time to end


class BudgetsOfPods:
    def __init__(self, budgets: Informer) -> None:
        self._budgets = budgets

    def keys(self, pod: ReadOnlyObject) -> list[ObjectKey]:
        """All of them; upstream counts anew for one, picked at random, and tells of it."""
        return [key_of(budget) for budget in self._budgets.list(namespace_of(pod)) if _selects(budget, pod)]


class PodReconciler:
    def __init__(self, api: Api, clock: Clock, pods: Informer, budgets: BudgetsOfPods, recorder: EventRecorder) -> None:
        self._api, self._clock, self._pods, self._budgets, self._recorder = api, clock, pods, budgets, recorder

    def is_concerned(self, pod: ReadOnlyObject) -> bool:
        """Whether there may be anything to do about the pod, and it needs a look at all."""
        return get_condition(conditions_of(pod), DISRUPTION_TARGET) is not None or len(self._budgets.keys(pod)) > 1

    async def reconcile(self, key: ObjectKey) -> Result:
        pod = self._pods.get(key)
        if pod is None:
            return DONE
        await self._tell_of_many(pod, self._budgets.keys(pod))
        seconds = seconds_to_stale(pod, self._clock)
        if seconds is None:
            return DONE
        if seconds > 0:
            return RequeueAfter(seconds)
        try:
            await self._api.update(PODS, unmarked(pod, format_time(self._clock.now())), subresource="status")
        except NotFound:
            return DONE
        return DONE

    async def _tell_of_many(self, pod: Object, budgets: Iterable[ObjectKey]) -> None:
        names = [budget.name for budget in budgets]
        if len(names) < 2:
            return
        subject = f"Pod {go_quote(namespace_of(pod))}/{go_quote(name_of(pod))}"
        message = f"{subject} matches multiple PodDisruptionBudgets.  Chose {go_quote(names[0])} arbitrarily."
        await self._recorder.event(pod, "Warning", "MultiplePodDisruptionBudgets", message)


def seconds_to_stale(pod: ReadOnlyObject, clock: Clock) -> float | None:
    """How long until the pod's DisruptionTarget condition is not believed any more; None where it has none to doubt."""
    condition = get_condition(conditions_of(pod), DISRUPTION_TARGET)
    if condition is None or condition.get("status") != "True" or condition.get("reason") == _BY_KUBELET:
        return None
    if is_being_deleted(pod) or is_terminal(pod) or not condition.get("lastTransitionTime"):
        return None
    return max(0.0, STALE_SECONDS - seconds_since(condition["lastTransitionTime"], clock.now()))


def unmarked(pod: ReadOnlyObject, now: str) -> Object:
    """The pod with its DisruptionTarget condition False, its reason and message gone."""
    false: Object = {"type": DISRUPTION_TARGET, "status": "False", "lastProbeTime": None, "lastTransitionTime": now}
    if generation_of(pod):
        false["observedGeneration"] = generation_of(pod)
    conditions = [false if one["type"] == DISRUPTION_TARGET else one for one in conditions_of(pod)]
    return {**pod, "status": {**pod["status"], "conditions": conditions}}


def _selects(budget: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
    try:
        return from_label_selector((budget.get("spec") or {}).get("selector")).matches(labels_of(pod))
    except SelectorError:
        return False
