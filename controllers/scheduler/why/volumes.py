"""The volume plugins refuse: claims get their volumes, or pods that hold what cannot be shared go."""

from __future__ import annotations

from collections.abc import Sequence

from controllers import claims
from controllers.scheduler.interface import Plugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.plugins.volume_restrictions import conflict
from controllers.scheduler.pod_claims import PodClaim, pod_claims
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.why.changes import Change, Extra
from controllers.scheduler.why.room import removal
from kubeloop.apimachinery.meta import Object, ObjectKey, is_being_deleted
from kubeloop.apimachinery.resource import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, STORAGE_CLASSES

MAX_CHOICE = 10  # of pods on a node; with more of them, others would do as well


def give_volumes(plugin: Plugin, pod: PodInfo, node: NodeInfo) -> Sequence[Change]:
    """All claims of the pod that have no volume get one. Where a volume is, is nothing that could be changed."""
    kinds = (PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES)
    known, volumes, classes = map(plugin.handle.lister, kinds)
    texts: list[str] = []
    extra: list[Extra] = []
    for one in pod_claims(pod):
        claim = known.get(one.key)
        if claim is None or is_being_deleted(claim):
            texts.append(f"create the claim {one.key}{'' if claim is None else ' anew'}, with a volume")
        elif not claims.is_bound(claim):
            place = f" that {node.name} can reach" if claims.is_delayed(classes.get(_class_key(claim))) else ""
            texts.append(f"give the claim {one.key} a volume of {_size(claim)}{place}")
        elif volumes.get(ObjectKey("", claims.volume_name(claim))) is None:
            texts.append(f"create the claim {one.key} anew: its volume {claims.volume_name(claim)} is gone")
        else:
            continue
        extra += _with_a_volume(one, claim, pod)
    return [Change(" and ".join(texts), 3, extra=extra)] if texts else []


def share_no_more(plugin: Plugin, pod: PodInfo, node: NodeInfo) -> Sequence[Change]:
    """Or the pods here go that have a disk or a claim that only one may have."""
    in_the_way = [
        other
        for other in node.pods.values()
        if conflict(pod.pod, other.pod) or set(pod.claim_keys) & set(other.claim_keys)
    ]
    return [*give_volumes(plugin, pod, node), *([removal(in_the_way, node)] if in_the_way else [])]


def attach_fewer(plugin: Plugin, pod: PodInfo, node: NodeInfo) -> Sequence[Change]:
    """Or one of the pods here that have volumes goes."""
    with_volumes = [other for other in node.pods.values() if any(pod_claims(other))]
    with_volumes.sort(key=lambda other: (other.priority, other.name))
    return [*give_volumes(plugin, pod, node), *(removal([other], node) for other in with_volumes[:MAX_CHOICE])]


def _class_key(claim: Object) -> ObjectKey:
    return ObjectKey("", claims.class_of(claim))


def _size(claim: Object) -> str:
    size: str = claim["spec"]["resources"]["requests"]["storage"]
    return size


def _with_a_volume(one: PodClaim, claim: Object | None, pod: PodInfo) -> Sequence[Extra]:
    """The claim and its volume as they would be: bound to each other, and reached from everywhere."""
    name = f"for-{one.key.name}"
    metadata = {"namespace": one.key.namespace, "name": one.key.name, **((claim or {}).get("metadata") or {})}
    metadata.pop("deletionTimestamp", None)
    metadata["annotations"] = {**(metadata.get("annotations") or {}), claims.BIND_COMPLETED: "yes"}
    if one.is_ephemeral:
        owner = {"apiVersion": PODS.api_version, "kind": PODS.kind, "name": pod.name, "uid": pod.uid}
        metadata["ownerReferences"] = [{**owner, "controller": True}]
    spec = {"accessModes": ["ReadWriteOnce"], **((claim or {}).get("spec") or {}), "volumeName": name}
    bound: Object = {"metadata": metadata, "spec": spec, "status": {"phase": "Bound"}}
    return [(PERSISTENT_VOLUME_CLAIMS, bound), (PERSISTENT_VOLUMES, {"metadata": {"name": name}, "spec": {}})]
