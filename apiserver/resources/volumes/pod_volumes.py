"""The volumes of a pod: each has a name of its own and one source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import NO_FIELDS, Errors, check_dns_label
from apiserver.resources.volumes.pod_sources import check_pod_volume_source
from kubeloop.apimachinery import field

Json = Mapping[str, Any]


def check_volumes(volumes: Sequence[Json], pod_name: str, is_pod: bool, path: str, errors: Errors) -> dict[str, Json]:
    """The well-formed volumes by name: only those count as there when a container mounts them."""
    if not volumes:
        return {}
    made_claims = {f"{pod_name}-{v.get('name', '')}" for v in volumes if "ephemeral" in v} if pod_name else set()
    good: dict[str, Json] = {}
    for i, volume in enumerate(volumes):
        at = f"{path}[{i}]"
        before = len(errors)
        check_pod_volume_source(volume, pod_name, is_pod, at, errors)
        name = volume.get("name", "")
        if name:
            check_dns_label(name, f"{at}.name", errors)
        else:
            errors.append(field.required(f"{at}.name"))
        if name in good:
            errors.append(field.duplicate(f"{at}.name", name))
        if len(errors) == before:
            good[name] = volume
        claim = (volume.get("persistentVolumeClaim") or NO_FIELDS).get("claimName")
        if claim in made_claims:
            reason = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(field.invalid(f"{at}.persistentVolumeClaim.claimName", claim, reason))
    return good
