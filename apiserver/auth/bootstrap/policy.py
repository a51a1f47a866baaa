"""The RBAC objects every cluster starts with. The server creates those that are missing at start.

`OBJECTS` are complete but for what a create adds (uid, creationTimestamp). admin, edit and view come with the rules
they aggregate, as the aggregation loop would fill them in, so that they work without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from apiserver.auth.authorization import Rule
from apiserver.auth.bootstrap import controllers, namespaces, users
from kubeloop.apimachinery.meta import Object, labels_of, name_of

# The namespaces that the roles and bindings in them need first.
NAMESPACES = ("kube-system", "kube-public")


def _with_aggregated_rules(roles: Iterable[Object]) -> Iterator[Object]:
    """Every role with its own rules or, where it aggregates, with those of the roles it selects.

    In rounds, because admin gathers edit, which gathers view.
    """
    known = {name_of(role): role for role in roles}
    for _ in range(3):
        for name, role in known.items():
            if "aggregationRule" in role:
                selectors = [one["matchLabels"] for one in role["aggregationRule"]["clusterRoleSelectors"]]
                known[name] = {**role, "rules": _gathered(known, selectors, name)}
    yield from known.values()


def _gathered(roles: Mapping[str, Object], selectors: Iterable[Mapping[str, str]], own_name: str) -> list[Rule]:
    """The rules of all selected roles, in order of the roles' names, each rule once."""
    rules: list[Rule] = []
    for labels in selectors:
        for name in sorted(roles):
            if name != own_name and labels.items() <= labels_of(roles[name]).items():
                rules += [rule for rule in roles[name]["rules"] if rule not in rules]
    return rules


OBJECTS: tuple[Object, ...] = (
    *_with_aggregated_rules((*users.CLUSTER_ROLES, *controllers.CLUSTER_ROLES)),
    *users.CLUSTER_ROLE_BINDINGS,
    *controllers.CLUSTER_ROLE_BINDINGS,
    *namespaces.ROLES,
    *namespaces.ROLE_BINDINGS,
)
