"""pods/eviction: a delete that a PodDisruptionBudget may forbid with 429.

The steps are those of registry/core/pod/storage/eviction.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from apiserver.admission.chain import CREATE
from apiserver.registry.context import SERVER, Context, Machinery
from apiserver.registry.deletion import Deleter
from apiserver.registry.options import DeleteOptions
from apiserver.registry.store import ResourceStore
from apiserver.registry.strategy import ServerRules
from apiserver.storage.interface import Key
from kubeloop.apimachinery import selectors
from kubeloop.apimachinery.conditions import get_condition, set_condition
from kubeloop.apimachinery.errors import ApiError, BadRequest, Conflict, Forbidden, TooManyRequests
from kubeloop.apimachinery.meta import Object, labels_of
from kubeloop.apimachinery.times import format_time

# A budget remembers at most so many evicted pods whose deletion it has not seen yet (MaxDisruptedPodSize).
MAX_DISRUPTED_PODS = 2000
RETRY_SECONDS = 10

_REFUSAL = "Cannot evict pod as it would violate the pod's disruption budget."


class EvictionStore:
    """Creates Evictions, which are not stored: they charge the pod's budget and delete the pod."""

    def __init__(self, pods: ResourceStore, budgets: ResourceStore, deleter: Deleter, machinery: Machinery) -> None:
        self._pods, self._budgets, self._deleter, self._machinery = pods, budgets, deleter, machinery

    async def create(self, eviction: Object, context: Context) -> None:
        # Admission sees the Eviction; what it does to the pod and its budget is the server's own doing.
        attributes = context.attributes(CREATE, self._pods.kind.resource, eviction)
        await self._machinery.admission.mutate(attributes)
        eviction = attributes.object or eviction
        if eviction.get("metadata", {}).get("name", "") != context.name:
            raise BadRequest("name in URL does not match name in Eviction object")
        wanted = eviction.get("deleteOptions") or {}
        if context.dry_run and (other := wanted.get("dryRun")) and other != ["All"]:
            why = f"Non-matching dry-run options in request and content: [All] and [{' '.join(other)}]"
            raise ApiError(why, code=500)
        options = DeleteOptions.parse({}, wanted)
        context = replace(context, dry_run=context.dry_run or options.dry_run)
        await self._machinery.admission.validate(attributes)
        pod = (await self._pods.get(context)).object()
        if not _may_ignore_budgets(pod):
            budget = self._budget_of(pod)
            if budget and _spares(budget, pod):
                options = replace(options, resource_version=pod["metadata"]["resourceVersion"])
            elif budget:
                await self._charge(budget, context)
        await self._evict(context, options)

    def _budget_of(self, pod: Object) -> Object | None:
        budgets = list(self._budgets_of(pod))
        if len(budgets) > 1:
            raise ApiError(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                code=500,
            )
        return budgets[0] if budgets else None

    def _budgets_of(self, pod: Object) -> Iterator[Object]:
        storage, namespace = self._budgets.kind.storage, pod["metadata"].get("namespace", "")
        for budget in self._machinery.reader.list(storage, namespace):
            selector = budget["spec"].get("selector")
            if selector is not None and selectors.from_label_selector(selector).matches(labels_of(pod)):
                yield budget

    async def _charge(self, budget: Object, context: Context) -> None:
        """Take one disruption from the budget, or refuse."""
        name = budget["metadata"]["name"]
        charging = replace(context, name=name, subresource="status", field_manager=SERVER)

        def charged(current: Object) -> Object:
            _check(current)
            status = dict(current["status"])
            now = format_time(self._machinery.clock.now())
            status["disruptionsAllowed"] = status["disruptionsAllowed"] - 1
            if status["disruptionsAllowed"] == 0:
                status["conditions"] = set_condition(status.get("conditions") or [], _none_left(current), now)
            status["disruptedPods"] = {**(status.get("disruptedPods") or {}), context.name: now}
            return {**current, "metadata": dict(current["metadata"]), "status": status}

        try:
            await self._budgets.patch(charged, charging, ServerRules(), is_admitted=True)
        except Conflict as error:
            raise _too_many(f"The disruption budget {name} is still being processed by the server.") from error

    async def _evict(self, context: Context, options: DeleteOptions) -> None:
        self._check_preconditions(context, options)
        if not context.dry_run:
            marking = replace(context, subresource="status")
            marked = await self._pods.patch(
                self._with_condition, marking, ServerRules(), is_tracked=False, is_admitted=True
            )
            if options.resource_version:
                options = replace(options, resource_version=str(marked.revision))
        await self._deleter.delete(context, options, is_admitted=True)

    def _check_preconditions(self, context: Context, options: DeleteOptions) -> None:
        """Before the pod is marked, so that a refused eviction leaves it as it was."""
        stored = self._machinery.cache.get(Key(self._pods.kind.storage, context.namespace, context.name))
        if stored is not None:
            self._deleter.check_preconditions(stored.object(), options)

    def _with_condition(self, pod: Object) -> Object:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        status = dict(pod.get("status") or {})
        now = format_time(self._machinery.clock.now())
        status["conditions"] = set_condition(status.get("conditions") or [], condition, now)
        return {**pod, "metadata": dict(pod["metadata"]), "status": status}


def _may_ignore_budgets(pod: Object) -> bool:
    """Whether evicting the pod disrupts nothing that still runs."""
    phase = pod.get("status", {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


def _spares(budget: Object, pod: Object) -> bool:
    """Whether an unready pod may go without charging the budget (unhealthyPodEvictionPolicy)."""
    ready = get_condition(pod.get("status", {}).get("conditions") or [], "Ready")
    if ready and ready.get("status") == "True":
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy", 0)
    return desired > 0 and status.get("currentHealthy", 0) >= desired


def _check(budget: Object) -> None:
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        message = f"The disruption budget {name} is still being processed by the server."
        raise _too_many(message, RETRY_SECONDS)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise Forbidden.of("poddisruptionbudget", "policy", name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or {}) > MAX_DISRUPTED_PODS:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise Forbidden.of("poddisruptionbudget", "policy", name, why)
    if allowed == 0:
        raise _too_many(_why_none_allowed(name, status))


def _why_none_allowed(name: str, status: Object) -> str:
    condition = get_condition(status.get("conditions") or [], "DisruptionAllowed") or {}
    refused = condition.get("status") == "False" and condition.get("message")
    if refused and condition.get("reason") == "SyncFailed":
        why = f"because it failed sync: {condition['message']}"
        return f"The disruption budget {name} does not allow evicting pods currently {why}"
    desired, current = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    if current <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    if refused:
        why = f"({condition.get('reason', '')}): {condition['message']}"
        return f"The disruption budget {name} does not allow evicting pods currently {why}"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _none_left(budget: Object) -> Object:
    return {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": budget["metadata"].get("generation", 0),
        "reason": "InsufficientPods",
        "message": "",
    }


def _too_many(cause: str, retry_seconds: int = 0) -> TooManyRequests:
    details: Object = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    if retry_seconds:
        details["retryAfterSeconds"] = retry_seconds
    return TooManyRequests(_REFUSAL, details=details)
