"""The checks that level restricted adds to baseline: what hardened pods must state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.admission.pod_security import baseline
from apiserver.admission.pod_security.pod import (
    Check,
    Container,
    Pod,
    Violation,
    containers_text,
    plural,
    quoted,
    security_of,
)
from apiserver.admission.pod_security.policy import Policy

_WINDOWS_SINCE = 25  # from this minor on, what Windows has no notion of is not asked of Windows pods
_VOLUME_TYPES = frozenset(
    ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"]
)
_OTHER_VOLUME_TYPES = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
    "photonPersistentDisk",
]


def privilege_escalation(pod: Pod, policy: Policy) -> Violation | None:
    if not policy.is_from(8) or (pod.is_windows and policy.is_from(_WINDOWS_SINCE)):
        return None
    bad = pod.containers_where(lambda container: security_of(container).get("allowPrivilegeEscalation") is not False)
    if not bad:
        return None
    detail = f"{containers_text(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def capabilities(pod: Pod, policy: Policy) -> Violation | None:
    if not policy.is_from(22) or (pod.is_windows and policy.is_from(_WINDOWS_SINCE)):
        return None
    added: set[str] = set()

    def adds_more(container: Container) -> bool:
        more = [one for one in _capabilities(container, "add") if one != "NET_BIND_SERVICE"]
        added.update(more)
        return bool(more)

    keeping = pod.containers_where(lambda container: "ALL" not in _capabilities(container, "drop"))
    adding = pod.containers_where(adds_more)
    details = []
    if keeping:
        details.append(f'{containers_text(keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        names = quoted(sorted(added))
        details.append(f"{containers_text(adding)} must not include {names} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def _capabilities(container: Container, field: str) -> list[str]:
    return (security_of(container).get("capabilities") or {}).get(field) or []


def volume_types(pod: Pod, policy: Policy) -> Violation | None:
    bad = {
        volume.get("name", ""): _type_of(volume)
        for volume in pod.spec.get("volumes") or ()
        if not _VOLUME_TYPES.intersection(volume)
    }
    if not bad:
        return None
    kinds = sorted(set(bad.values()))
    verb = plural(len(bad), "uses", "use")
    kind_word = plural(len(kinds), "volume type", "volume types")
    word = plural(len(bad), "volume", "volumes")
    return Violation("restricted volume types", f"{word} {quoted(bad)} {verb} restricted {kind_word} {quoted(kinds)}")


def _type_of(volume: Mapping[str, Any]) -> str:
    return next((kind for kind in _OTHER_VOLUME_TYPES if kind in volume), "unknown")


def run_as_non_root(pod: Pod, policy: Policy) -> Violation | None:
    """Every container says so, or the pod does for those that say nothing; nobody says the opposite."""
    bad = pod.containers_where(lambda container: security_of(container).get("runAsNonRoot") is False)
    silent = pod.containers_where(lambda container: security_of(container).get("runAsNonRoot") is None)
    of_pod = pod.security.get("runAsNonRoot")
    details = ["pod must not set securityContext.runAsNonRoot=false"] if of_pod is False else []
    if bad:
        details.append(f"{containers_text(bad)} must not set securityContext.runAsNonRoot=false")
    if not details and silent and of_pod is None:
        details.append(f"pod or {containers_text(silent)} must set securityContext.runAsNonRoot=true")
    return Violation("runAsNonRoot != true", " and ".join(details)) if details else None


def run_as_user(pod: Pod, policy: Policy) -> Violation | None:
    if not policy.is_from(23):
        return None
    bad = pod.containers_where(lambda container: security_of(container).get("runAsUser") == 0)
    setters = ["pod"] if pod.security.get("runAsUser") == 0 else []
    setters += [containers_text(bad)] if bad else []
    return Violation("runAsUser=0", f"{' and '.join(setters)} must not set runAsUser=0") if setters else None


def seccomp_profile(pod: Pod, policy: Policy) -> Violation | None:
    if not policy.is_from(19) or (pod.is_windows and policy.is_from(_WINDOWS_SINCE)):
        return None
    of_pod = baseline.seccomp_type(pod.security)
    wrong = pod.containers_where(lambda container: _is_wrong_profile(baseline.seccomp_type(security_of(container))))
    silent = pod.containers_where(lambda container: not baseline.seccomp_type(security_of(container)))
    values = {baseline.seccomp_type(security_of(one)) for one in pod.containers} | {of_pod}
    forbidden = quoted(sorted(value for value in values if _is_wrong_profile(value)))
    field = "securityContext.seccompProfile.type"
    details = []
    if _is_wrong_profile(of_pod):
        details.append(f"pod must not set {field} to {forbidden}")
    if wrong:
        details.append(f"{containers_text(wrong)} must not set {field} to {forbidden}")
    if not details and silent and not of_pod:
        details.append(f'pod or {containers_text(silent)} must set {field} to "RuntimeDefault" or "Localhost"')
    return Violation("seccompProfile", " and ".join(details)) if details else None


def _is_wrong_profile(kind: str) -> bool:
    return kind not in ("", "RuntimeDefault", "Localhost")


CHECKS: tuple[Check, ...] = (
    privilege_escalation,
    capabilities,
    volume_types,
    run_as_non_root,
    run_as_user,
    seccomp_profile,
)

# Checks of baseline that a stricter one here makes superfluous.
REPLACED: tuple[Check, ...] = (baseline.capabilities, baseline.host_path_volumes, baseline.seccomp_profile)
