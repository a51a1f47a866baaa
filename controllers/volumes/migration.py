"""The disks of clouds that Kubernetes once served itself, and the CSI drivers that took them over.

The loops stand back from such volumes and say so in annotations. staging/src/k8s.io/csi-translation-lib, v1.36.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubeloop.apimachinery.meta import ReadOnlyObject, annotations_of

MIGRATED_TO = "pv.kubernetes.io/migrated-to"
STORAGE_RESIZER = "volume.kubernetes.io/storage-resizer"

# The plugin's name, its source in a volume, and the driver.
_PLUGINS = (
    ("kubernetes.io/aws-ebs", "awsElasticBlockStore", "ebs.csi.aws.com"),
    ("kubernetes.io/gce-pd", "gcePersistentDisk", "pd.csi.storage.gke.io"),
    ("kubernetes.io/cinder", "cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/azure-disk", "azureDisk", "disk.csi.azure.com"),
    ("kubernetes.io/azure-file", "azureFile", "file.csi.azure.com"),
    ("kubernetes.io/vsphere-volume", "vsphereVolume", "csi.vsphere.vmware.com"),
    ("kubernetes.io/portworx-volume", "portworxVolume", "pxd.portworx.com"),
)
_DRIVERS = {plugin: driver for plugin, _, driver in _PLUGINS}


def driver_for(plugin: str) -> str:
    """The CSI driver that took the plugin over; "" where none did."""
    return _DRIVERS.get(plugin, "")


def plugin_of(volume: ReadOnlyObject) -> str:
    """The plugin that once served the volume; "" for a volume of today."""
    spec = volume.get("spec") or {}
    return next((plugin for plugin, source, _ in _PLUGINS if source in spec), "")


def marked(obj: ReadOnlyObject, provisioner_keys: Sequence[str]) -> dict[str, str] | None:
    """The annotations with the driver that took over from the provisioner they name; None where they are right.

    The first of `provisioner_keys` that is there counts.
    """
    annotations = dict(annotations_of(obj))
    named = next((annotations[key] for key in provisioner_keys if key in annotations), None)
    if named is None or annotations.get(MIGRATED_TO, "") == driver_for(named):
        return None
    if driver := driver_for(named):
        annotations[MIGRATED_TO] = driver
    else:
        del annotations[MIGRATED_TO]
    return annotations
