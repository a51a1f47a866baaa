"""One reconcile of a budget: count, write the status, come back when an eviction may have failed."""

from __future__ import annotations

from collections.abc import Sequence

from controllers.disruption import plan
from controllers.disruption.scale import NoScale, Scales
from controllers.label_selectors import as_go_prints
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, name_of, namespace_of
from kubeloop.apimachinery.resource import POD_DISRUPTION_BUDGETS
from kubeloop.apimachinery.selectors import SelectorError, from_label_selector
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.apply import update_status
from kubeloop.runtime.event_recorder import EventRecorder
from kubeloop.runtime.result import DONE, RequeueAfter, Result

_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. As a result, the"
    " status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these"
    ' pods please set ".spec.minAvailable" field of the PDB to an integer value.'
)


class BudgetReconciler:
    def __init__(
        self, api: Api, clock: Clock, budgets: Informer, pods: Informer, scales: Scales, recorder: EventRecorder
    ) -> None:
        self._api, self._clock, self._budgets, self._pods = api, clock, budgets, pods
        self._scales, self._recorder = scales, recorder

    async def reconcile(self, key: ObjectKey) -> Result:
        budget = self._budgets.get(key)
        if budget is None:
            return DONE
        try:
            pods = await self._pods_of(budget)
            counts = await self._counts(budget, pods)
        except (NoScale, ValueError) as error:
            await self._write(budget, plan.failed_status(budget, str(error), self._clock.now()))
            return DONE
        now = self._clock.now()
        disrupted = plan.disrupted(budget, pods, now)
        await self._tell_of_failed_evictions(budget, pods, disrupted)
        await self._write(budget, plan.status(budget, pods, counts, disrupted.pods, now))
        return DONE if disrupted.recheck_seconds is None else RequeueAfter(disrupted.recheck_seconds + 0.001)

    async def _pods_of(self, budget: Object) -> list[Object]:
        try:
            selector = from_label_selector(budget["spec"].get("selector"))
        except SelectorError as error:
            await self._recorder.event(budget, "Warning", "NoPods", f"Failed to get pods: {error}")
            raise
        pods = self._pods.list(namespace_of(budget), selector)
        if not pods:
            await self._recorder.event(budget, "Normal", "NoPods", "No matching pods found")
        return pods

    async def _counts(self, budget: Object, pods: Sequence[Object]) -> plan.Counts:
        try:
            if not plan.needs_scale(budget):
                return plan.counts(budget, len(pods), 0)
            scale = await self._scales.of_owners(pods)
            counts = plan.counts(budget, len(pods), scale.total)
        except (NoScale, ValueError) as error:
            message = f"Failed to calculate the number of expected pods: {error}"
            await self._recorder.event(budget, "Warning", "CalculateExpectedPodCountFailed", message)
            raise
        if scale.unmanaged:
            message = _UNMANAGED.format(selector=as_go_prints(budget["spec"].get("selector") or {}))
            await self._recorder.event(budget, "Warning", "UnmanagedPods", message)
        return counts

    async def _tell_of_failed_evictions(
        self, budget: Object, pods: Sequence[Object], disrupted: plan.Disrupted
    ) -> None:
        namespace = namespace_of(budget)
        message = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"  # sic
        for pod in pods:
            if name_of(pod) in disrupted.overdue:
                await self._recorder.event(pod, "Warning", "NotDeleted", message)

    async def _write(self, budget: Object, status: Object) -> None:
        """Conflict where an eviction was charged meanwhile: counted again then."""
        try:
            await update_status(self._api, POD_DISRUPTION_BUDGETS, budget, status)
        except NotFound:
            return
