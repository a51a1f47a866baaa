"""clusterrole-aggregation-controller: fills the rules of ClusterRoles that are the sum of others.

The rules are applied as this loop's own field, so that whoever else writes them is overruled, and seen to have tried.
pkg/controller/clusterroleaggregation, v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, key_of, labels_of, name_of
from kubeloop.apimachinery.resource import CLUSTER_ROLES
from kubeloop.apimachinery.selectors import from_label_selector
from kubeloop.client.api import Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import Watches

_NAME = "clusterrole-aggregation-controller"
_AGGREGATED = "aggregated"


def add_to(manager: Manager) -> None:
    roles = manager.informer(CLUSTER_ROLES)
    roles.add_index(_AGGREGATED, lambda role: ["yes"] if role.get("aggregationRule") else [])

    def all_aggregated(_: ReadOnlyObject) -> list[ObjectKey]:
        return [key_of(role) for role in roles.by_index(_AGGREGATED, "yes")]

    reconciler = RoleReconciler(manager.api, roles)
    manager.add(Controller("ClusterRoleAggregator", reconciler, [Watches(roles, all_aggregated)], workers=5))


class RoleReconciler:
    def __init__(self, api: Api, roles: Informer) -> None:
        self._api, self._roles = api, roles

    async def reconcile(self, key: ObjectKey) -> Result:
        role = self._roles.get(key)
        if role is None or not role.get("aggregationRule"):
            return DONE
        rules = aggregated_rules(role, self._roles.list())
        if rules != (role.get("rules") or []):
            await self._apply(name_of(role), rules)
        return DONE

    async def _apply(self, name: str, rules: list[Object]) -> None:
        wanted = {"metadata": {"name": name}, "rules": rules}
        try:
            await self._api.apply(CLUSTER_ROLES, wanted, field_manager=_NAME, force=True)
        except NotFound:
            return


def aggregated_rules(role: ReadOnlyObject, roles: Iterable[ReadOnlyObject]) -> list[Any]:
    """The rules of all roles that the selectors pick, one selector after the other, by name, each rule once."""
    by_name = sorted(roles, key=name_of)
    rules: list[Any] = []
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        is_selected = from_label_selector(selector).matches
        for other in by_name:
            if name_of(other) != name_of(role) and is_selected(labels_of(other)):
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules
