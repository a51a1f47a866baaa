"""The loops around PersistentVolumes: six of upstream's, and a provisioner of our own.

binder       persistentvolume-binder-controller: gives volumes to claims and takes them back
plan         what the binder does about a claim or a volume, as pure functions
migration    cloud disks that CSI drivers took over: the loops stand back from them
reclaim      what becomes of a volume whose claim is gone
provisioner  makes volumes for claims of classes with `provisioner: kubeloop.io/hostpath-sim`
expander     persistentvolume-expander-controller: claims that ask for more than they have
protection   persistentvolumeclaim-protection-controller, persistentvolume-protection-controller
class_protection  volumeattributesclass-protection-controller
ephemeral    ephemeral-volume-controller: claims for volumes that live as long as their pod
"""

from controllers.volumes.binder import add_binder
from controllers.volumes.class_protection import add_class_protection
from controllers.volumes.ephemeral import add_ephemeral
from controllers.volumes.expander import add_expander
from controllers.volumes.protection import add_claim_protection, add_volume_protection
from controllers.volumes.provisioner import add_provisioner

__all__ = [
    "add_binder",
    "add_claim_protection",
    "add_class_protection",
    "add_ephemeral",
    "add_expander",
    "add_provisioner",
    "add_volume_protection",
]
