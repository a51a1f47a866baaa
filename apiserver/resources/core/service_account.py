"""ServiceAccounts."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.resources.checks import NO_FIELDS, NO_ITEMS
from apiserver.resources.kinds import PlainKind
from kubeloop.apimachinery.meta import Object

ENFORCE_MOUNTABLE_SECRETS = "kubernetes.io/enforce-mountable-secrets"


class ServiceAccountStrategy(PlainKind):
    rechecks_object = True
    returns_object_on_delete = True

    def prepare_for_create(self, obj: Object) -> None:
        _keep_only_names(obj)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        _keep_only_names(new)

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        return () if self.warnings(old) else self.warnings(new)

    def warnings(self, obj: Object) -> Sequence[str]:
        if ENFORCE_MOUNTABLE_SECRETS not in (obj["metadata"].get("annotations") or NO_FIELDS):
            return ()
        return (
            f"metadata.annotations[{ENFORCE_MOUNTABLE_SECRETS}]: deprecated in v1.32+; "
            "prefer separate namespaces to isolate access to mounted secrets",
        )


def _keep_only_names(account: Object) -> None:
    """References to secrets are by name; what else a client wrote there is dropped."""
    secrets = account.get("secrets") or NO_ITEMS
    if secrets:
        account["secrets"] = [{"name": s["name"]} if s.get("name") else {} for s in secrets]


SERVICE_ACCOUNT = ServiceAccountStrategy()
