"""Which nodes need a volume, and whether one may lose it. Pure; pkg/controller/volume/attachdetach, v1.36."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from controllers.pods import is_terminal
from kubeloop.apimachinery.conditions import conditions_of, is_true
from kubeloop.apimachinery.csi import MANAGED_ATTACHING
from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of, is_being_deleted, name_of, namespace_of

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
# How long a node that is not healthy may claim to use a volume that nobody needs there any more.
MAX_UNMOUNT_WAIT_SECONDS = 360.0
ATTACH_TIMEOUT_SECONDS = 120.0

_SHARED_MODES = ("ReadWriteMany", "ReadOnlyMany")


def needs_volumes(pod: ReadOnlyObject) -> bool:
    """Until it has ended, or is being deleted and nothing of it runs."""
    if is_terminal(pod):
        return False
    return not is_being_deleted(pod) or _runs(pod)


def _runs(pod: ReadOnlyObject) -> bool:
    status = pod.get("status") or {}
    lists = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    states = [one.get("state") or {} for name in lists for one in status.get(name) or ()]
    return any("terminated" not in state and "waiting" not in state for state in states)


def is_exclusive(volume: ReadOnlyObject) -> bool:
    """Whether it may be attached to one node only."""
    modes: Sequence[str] = (volume.get("spec") or {}).get("accessModes") or ()
    return bool(modes) and not any(mode in _SHARED_MODES for mode in modes)


def is_managed(node: ReadOnlyObject) -> bool:
    """Whether its kubelet leaves attaching to the control plane."""
    return MANAGED_ATTACHING in annotations_of(node)


def names_in_use(node: ReadOnlyObject) -> Collection[str]:
    names: Collection[str] = (node.get("status") or {}).get("volumesInUse") or ()
    return names


def names_attached(node: ReadOnlyObject) -> list[str]:
    return [one["name"] for one in (node.get("status") or {}).get("volumesAttached") or ()]


def is_forced(node: ReadOnlyObject, waited_seconds: float) -> bool:
    """Whether what the node says of its use no longer counts."""
    taints: Iterable[ReadOnlyObject] = (node.get("spec") or {}).get("taints") or ()
    if any(taint["key"] == OUT_OF_SERVICE for taint in taints):
        return True
    return not is_healthy(node) and waited_seconds > MAX_UNMOUNT_WAIT_SECONDS


def is_healthy(node: ReadOnlyObject) -> bool:
    return is_true(conditions_of(node), "Ready")


def multi_attach_error(volume: ReadOnlyObject, pod: ReadOnlyObject, others: Sequence[ReadOnlyObject]) -> str:
    """Why a pod does not get the volume; `others` are the pods that use it elsewhere."""
    local = sorted(name_of(other) for other in others if namespace_of(other) == namespace_of(pod))
    strangers = len(others) - len(local)
    if local:
        why = f"Volume is already used by pod(s) {', '.join(local)}"
        if strangers:
            why += f" and {strangers} pod(s) in different namespaces"
    elif strangers:
        why = f"Volume is already used by {strangers} pod(s) in different namespaces"
    else:
        why = "Volume is already exclusively attached to one node and can't be attached to another"
    return f'Multi-Attach error for volume "{name_of(volume)}" {why}'
