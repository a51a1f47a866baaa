"""disruption-controller: says in a budget's status how many of its pods may go; evictions are granted by that.

plan      the status of a budget, from its pods and the scale of their owners
scale     how many pods an owner wants
budgets   one reconcile of a budget
pods      which budgets a pod has; and evictions that were announced on a pod and never happened
"""

from __future__ import annotations

from controllers.disruption.budgets import BudgetReconciler
from controllers.disruption.pods import BudgetsOfPods, PodReconciler
from controllers.disruption.scale import Scales
from kubeloop.apimachinery.resource import POD_DISRUPTION_BUDGETS, PODS
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.predicates import EventPredicate
from kubeloop.runtime.source import For, Watches

__all__ = ["add_to"]


def add_to(manager: Manager) -> None:
    budgets, pods = manager.informer(POD_DISRUPTION_BUDGETS), manager.informer(PODS)
    recorder = manager.event_recorder("controllermanager")
    of_pods = BudgetsOfPods(budgets)
    reconciler = BudgetReconciler(manager.api, manager.clock, budgets, pods, Scales(manager), recorder)
    manager.add(Controller("disruption", reconciler, [For(budgets), Watches(pods, of_pods.keys)]))
    marked = PodReconciler(manager.api, manager.clock, pods, of_pods, recorder)
    concerned = EventPredicate(lambda _, pod: pod is not None and marked.is_concerned(pod))
    manager.add(Controller("stale_pod_disruption", marked, [For(pods, [concerned])]))
