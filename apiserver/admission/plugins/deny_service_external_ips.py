"""DenyServiceExternalIPs: no Service takes addresses for itself that it does not have already."""

from __future__ import annotations

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Plugin
from kubeloop.apimachinery.meta import ReadOnlyObject


class DenyServiceExternalIPs(Plugin):
    operations = frozenset({CREATE, UPDATE})
    resources = frozenset({"services"})

    async def validate(self, attributes: Attributes) -> None:
        if attributes.object is None or attributes.subresource:
            return
        if not _external_ips(attributes.object) <= _external_ips(attributes.old_object or {}):
            raise attributes.forbidden("Use of external IPs is denied by admission control")


def _external_ips(service: ReadOnlyObject) -> set[str]:
    return set((service.get("spec") or {}).get("externalIPs") or ())
