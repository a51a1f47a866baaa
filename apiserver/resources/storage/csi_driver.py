"""CSIDrivers: what the cluster should know of a storage driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_ITEMS, Errors, check_one_of
from apiserver.resources.comparison import same
from apiserver.resources.filling import fill
from apiserver.resources.kinds import PlainKind
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]

DEFAULTS = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
}
GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
LIFECYCLE_MODES = ("Persistent", "Ephemeral")
SHORTEST_TOKEN_SECONDS = 600
LONGEST_TOKEN_SECONDS = 1 << 32
SHORTEST_UPDATE_SECONDS = 10
TOKENS_IN_ATTRIBUTES = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, "
    "set to true to prevent possible logging of tokens in volume attributes"
)


class CSIDriverStrategy(PlainKind):
    """It has no generation until its spec changes for the first time."""

    allow_unconditional_update = False
    returns_object_on_delete = True

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        fill(spec, DEFAULTS)
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]

    def prepare_for_create(self, obj: Object) -> None:
        obj["spec"].pop("preventPodSchedulingIfMissing", None)  # behind a feature gate that is off

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        check_one_of(spec["fsGroupPolicy"], GROUP_POLICIES, "spec.fsGroupPolicy", errors)
        _check_tokens(spec.get("tokenRequests") or NO_ITEMS, "spec.tokenRequests", errors)
        for mode in spec["volumeLifecycleModes"]:
            check_one_of(mode, LIFECYCLE_MODES, "spec.volumeLifecycleModes", errors)
        period = spec.get("nodeAllocatableUpdatePeriodSeconds")
        if period is not None and period < SHORTEST_UPDATE_SECONDS:
            reason = "must be greater than or equal to 10 seconds"
            errors.append(field.invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, reason))
        if "serviceAccountTokenInSecrets" in spec and not spec.get("tokenRequests"):
            at, value = "spec.serviceAccountTokenInSecrets", spec["serviceAccountTokenInSecrets"]
            reason = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
            errors.append(field.invalid(at, value, reason))

    def prepare_for_update(self, new: Object, old: Object) -> None:
        new["spec"].pop("preventPodSchedulingIfMissing", None)
        if not same(new["spec"], old["spec"]):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check(new, errors)
        for name, reported_as in (("attachRequired", "attachedRequired"), ("volumeLifecycleModes",) * 2):
            if new["spec"].get(name) != old["spec"].get(name):
                errors.append(field.invalid(f"spec.{reported_as}", new["spec"].get(name), validation.IMMUTABLE))

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        return () if same(new["spec"].get("tokenRequests"), old["spec"].get("tokenRequests")) else self.warnings(new)

    def warnings(self, obj: Object) -> Sequence[str]:
        spec = obj["spec"]
        if spec.get("tokenRequests") and "serviceAccountTokenInSecrets" not in spec:
            return (TOKENS_IN_ATTRIBUTES,)
        return ()


def _check_tokens(requests: Sequence[Json], path: str, errors: Errors) -> None:
    """Audiences differ; a token lives ten minutes at least."""
    seen: set[str] = set()
    for i, request in enumerate(requests):
        audience, seconds, at = request.get("audience", ""), request.get("expirationSeconds"), f"{path}[{i}]"
        if audience in seen:
            errors.append(field.duplicate(f"{at}.audience", audience))
            continue
        seen.add(audience)
        if seconds is None:
            continue
        if seconds < SHORTEST_TOKEN_SECONDS:
            reason = "may not specify a duration less than 10 minutes"
            errors.append(field.invalid(f"{at}.expirationSeconds", seconds, reason))
        if seconds > LONGEST_TOKEN_SECONDS:
            reason = "may not specify a duration larger than 2^32 seconds"
            errors.append(field.invalid(f"{at}.expirationSeconds", seconds, reason))


CSI_DRIVER = CSIDriverStrategy()
