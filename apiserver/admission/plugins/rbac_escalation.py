"""No one grants what he does not have: the checks of `auth/escalation.py` on writes of roles and bindings.

The real server makes them in the storage of the four kinds, after mutating admission and before validation; the last
place among the mutating plugins is the same moment.
"""

from __future__ import annotations

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Plugin
from apiserver.auth.escalation import Escalation
from apiserver.auth.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES


class RbacEscalation(Plugin):
    operations = frozenset({CREATE, UPDATE})
    resources = frozenset({ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS})

    def __init__(self, escalation: Escalation) -> None:
        self._escalation = escalation

    async def admit(self, attributes: Attributes) -> None:
        if attributes.object is None:
            return
        is_role = str(attributes.resource) in (ROLES, CLUSTER_ROLES)
        check = self._escalation.check_role if is_role else self._escalation.check_binding
        check(
            attributes.resource.plural,
            attributes.namespace,
            attributes.object,
            attributes.old_object,
            attributes.user,
        )
