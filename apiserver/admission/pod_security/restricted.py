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
    is_relaxed,
    plural,
    quoted,
    security_of,
    setters_text,
)
from apiserver.admission.pod_security.policy import Policy

_WINDOWS_SINCE = 25  # from this minor on, what Windows has no notion of is not asked of Windows pods
_VOLUME_TYPES = frozenset(
    [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ]
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
    bad = [volume for volume in pod.spec.get("volumes") or () if not _VOLUME_TYPES.intersection(volume)]
    if not bad:
        return None
    names = quoted(volume.get("name", "") for volume in bad)
    kinds = sorted({_type_of(volume) for volume in bad})
    verb = plural(len(bad), "uses", "use")
    kind_word = plural(len(kinds), "volume type", "volume types")
    word = plural(len(bad), "volume", "volumes")
    return Violation("restricted volume types", f"{word} {names} {verb} restricted {kind_word} {quoted(kinds)}")


def _type_of(volume: Mapping[str, Any]) -> str:
    return next((kind for kind in _OTHER_VOLUME_TYPES if kind in volume), "unknown")


def proc_mount(pod: Pod, policy: Policy) -> Violation | None:
    """Of every pod, while baseline asks less of those in a user namespace of their own."""
    return baseline.masked_proc(pod, policy) if policy.is_from(35) else None


def run_as_non_root(pod: Pod, policy: Policy) -> Violation | None:
    """Every container says so, or the pod does for those that say nothing; nobody says the opposite."""
    if is_relaxed(pod, policy):
        return None
    reason, of_pod = "runAsNonRoot != true", pod.security.get("runAsNonRoot")
    bad = pod.containers_where(lambda container: security_of(container).get("runAsNonRoot") is False)
    if of_pod is False or bad:
        who = setters_text(of_pod is False, bad)
        return Violation(reason, f"{who} must not set securityContext.runAsNonRoot=false")
    silent = pod.containers_where(lambda container: security_of(container).get("runAsNonRoot") is None)
    if of_pod or not silent:
        return None
    return Violation(reason, f"pod or {containers_text(silent)} must set securityContext.runAsNonRoot=true")


def run_as_user(pod: Pod, policy: Policy) -> Violation | None:
    if not policy.is_from(23) or is_relaxed(pod, policy):
        return None
    of_pod = pod.security.get("runAsUser") == 0
    bad = pod.containers_where(lambda container: security_of(container).get("runAsUser") == 0)
    if not of_pod and not bad:
        return None
    return Violation("runAsUser=0", f"{setters_text(of_pod, bad)} must not set runAsUser=0")


def seccomp_profile(pod: Pod, policy: Policy) -> Violation | None:
    """What baseline asks, and that there is a profile at all."""
    if not policy.is_from(19) or (pod.is_windows and policy.is_from(_WINDOWS_SINCE)):
        return None
    bad = baseline.seccomp_profile(pod, policy)
    if bad is not None or pod.security.get("seccompProfile") is not None:
        return bad
    silent = pod.containers_where(lambda container: security_of(container).get("seccompProfile") is None)
    if not silent:
        return None
    detail = (
        f"pod or {containers_text(silent)} must set securityContext.seccompProfile.type "
        'to "RuntimeDefault" or "Localhost"'
    )
    return Violation("seccompProfile", detail)


CHECKS: tuple[Check, ...] = (
    privilege_escalation,
    capabilities,
    proc_mount,
    volume_types,
    run_as_non_root,
    run_as_user,
    seccomp_profile,
)

# Checks of baseline that a stricter one here makes superfluous, and the minor version from which on it does.
REPLACED: Mapping[Check, int] = {
    baseline.capabilities: 22,
    baseline.host_path_volumes: 0,
    baseline.proc_mount: 35,
    baseline.seccomp_profile: 19,
}
