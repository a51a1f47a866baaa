"""What control plane and nodes both know of volumes that CSI drivers attach to nodes.

pkg/volume/csi and pkg/volume/util, v1.36.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from kubeloop.apimachinery.meta import ReadOnlyObject

# On nodes whose kubelet leaves attaching to the control plane.
MANAGED_ATTACHING = "volumes.kubernetes.io/controller-managed-attach-detach"


def csi_source(volume: ReadOnlyObject) -> Mapping[str, Any] | None:
    """Of a PersistentVolume; None where no CSI driver serves it."""
    return (volume.get("spec") or {}).get("csi")


def needs_attaching(volume: ReadOnlyObject, csi_driver: ReadOnlyObject | None) -> bool:
    """Whether a node has to be given the volume before its pods can use it; a driver that says nothing wants that."""
    if csi_source(volume) is None:
        return False
    required = ((csi_driver or {}).get("spec") or {}).get("attachRequired")
    return required is None or bool(required)


def unique_volume_name(volume: ReadOnlyObject) -> str:
    """The name of a CSI volume in the status of nodes; "" for others."""
    source = csi_source(volume)
    return f"kubernetes.io/csi/{source['driver']}^{source['volumeHandle']}" if source is not None else ""


def attachment_name(volume: ReadOnlyObject, node: str) -> str:
    """The VolumeAttachment of a CSI volume on a node: there is never a second one."""
    source = csi_source(volume) or {}
    text = f"{source.get('volumeHandle', '')}{source.get('driver', '')}{node}"
    return f"csi-{hashlib.sha256(text.encode()).hexdigest()}"
