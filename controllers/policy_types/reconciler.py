"""Keys are ValidatingAdmissionPolicies: each generation is looked at once.

What a policy matches may change its schema, or be defined later: as upstream, that is seen with the next change of the
policy (pkg/controller/validatingadmissionpolicystatus, v1.36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from controllers.policy_types.kinds import KindName, ServedKinds
from controllers.policy_types.schemas import Schemas
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, generation_of, name_of
from kubeloop.apimachinery.resource import VALIDATING_ADMISSION_POLICIES
from kubeloop.client.api import APPLY, Api
from kubeloop.client.informer import Informer
from kubeloop.runtime.controller import Controller
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.result import DONE, Result
from kubeloop.runtime.source import For

if TYPE_CHECKING:
    from controllers.policy_types.checking import Matched

NAME = "validatingadmissionpolicy-status"


def add_to(manager: Manager) -> None:
    policies = manager.informer(VALIDATING_ADMISSION_POLICIES)
    manager.add(Controller(NAME, PolicyReconciler(manager.api, policies), [For(policies)], workers=5))


class PolicyReconciler:
    def __init__(self, api: Api, policies: Informer) -> None:
        self._api, self._policies = api, policies
        self._kinds = ServedKinds(api)

    async def reconcile(self, key: ObjectKey) -> Result:
        policy = self._policies.get(key)
        if policy is None or generation_of(policy) <= (policy.get("status") or {}).get("observedGeneration", 0):
            return DONE
        warnings = await self._warnings(policy)
        await self._apply(policy, {"expressionWarnings": warnings} if warnings else {})
        return DONE

    async def _warnings(self, policy: ReadOnlyObject) -> list[Object]:
        from controllers.policy_types import checking

        spec = policy.get("spec") or {}
        rules = (spec.get("matchConstraints") or {}).get("resourceRules") or ()
        schemas = Schemas(self._api)
        matched = [await self._matched(schemas, kind) for kind in await self._kinds.matched_by(rules)]
        return checking.warnings_of(spec, [each for each in matched if each], await self._params(schemas, spec))

    async def _params(self, schemas: Schemas, spec: ReadOnlyObject) -> Matched | None:
        named = spec.get("paramKind")
        if not named:
            return None
        group, _, version = named.get("apiVersion", "").rpartition("/")
        return await self._matched(schemas, KindName(group, version, named.get("kind", "")))

    async def _matched(self, schemas: Schemas, kind: KindName) -> Matched | None:
        from controllers.policy_types.checking import Matched

        schema = await schemas.schema_of(kind)
        return None if schema is None else Matched(kind, schema)

    async def _apply(self, policy: ReadOnlyObject, found: Object) -> None:
        resource = VALIDATING_ADMISSION_POLICIES
        status = {"observedGeneration": generation_of(policy), "typeChecking": found}
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        wanted = {**kind, "metadata": {"name": name_of(policy)}, "status": status}
        try:
            await self._api.patch(
                resource,
                name_of(policy),
                wanted,
                patch_type=APPLY,
                subresource="status",
                field_manager=NAME,
                force=True,
            )
        except NotFound:
            return
