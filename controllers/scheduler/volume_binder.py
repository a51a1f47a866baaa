"""Which volumes a pod could have on a node, and seeing to it that it gets them.

Finding is done from a snapshot of what is known and assumed; binding writes what was assumed and waits until the
volume loops have done their part. pkg/scheduler/framework/plugins/volumebinding/binder.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controllers import claims
from controllers.scheduler.assumed_objects import AssumedObjects
from controllers.scheduler.interface import Handle
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.pod_info import PodInfo
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import (
    Object,
    ObjectKey,
    ReadOnlyObject,
    annotations_of,
    is_older,
    key_of,
    labels_of,
    name_of,
    uid_of,
)
from kubeloop.apimachinery.quantity import parse
from kubeloop.apimachinery.resource import (
    CSI_DRIVERS,
    CSI_STORAGE_CAPACITIES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STORAGE_CLASSES,
    Resource,
)
from kubeloop.apimachinery.selectors import Labels, from_label_selector

NO_VOLUMES = "node(s) didn't find available persistent volumes to bind"
WRONG_NODE = "node(s) didn't match PersistentVolume's node affinity"
NO_SPACE = "node(s) did not have enough free storage"
LOST_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_ORDER = (WRONG_NODE, NO_VOLUMES, NO_SPACE, LOST_VOLUME)

_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pod's claims: those that have their volume, and those that get it with the node. Free volumes by class."""

    bound: Sequence[Object] = ()
    delayed: Sequence[Object] = ()
    volumes: Mapping[str, Sequence[Object]] | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What binding the pod to a node takes: volumes to take, and claims to have volumes made for."""

    bindings: Sequence[tuple[Object, Object]] = ()  # a volume and its claim
    provisions: Sequence[Object] = ()

    @property
    def is_nothing(self) -> bool:
        return not self.bindings and not self.provisions


class BindingFailed(Exception):
    """The pod cannot have its volumes here after all."""

    def __init__(self, why: str) -> None:
        super().__init__(f"binding volumes: {why}")


class VolumeBinder:
    def __init__(self, handle: Handle, timeout_seconds: float) -> None:
        self._handle, self._timeout_seconds = handle, timeout_seconds
        self.claims = AssumedObjects(handle.lister(PERSISTENT_VOLUME_CLAIMS))
        self.volumes = AssumedObjects(handle.lister(PERSISTENT_VOLUMES))
        self.classes = handle.lister(STORAGE_CLASSES)
        self._nodes, self._pods = handle.lister(NODES), handle.lister(PODS)
        self._drivers = handle.lister(CSI_DRIVERS)
        self._capacities = handle.lister(CSI_STORAGE_CAPACITIES)

    def volumes_of_classes(self, delayed: Sequence[Object]) -> dict[str, list[Object]]:
        """The volumes that these claims may choose from."""
        names = {claims.class_of(claim) for claim in delayed}
        found: dict[str, list[Object]] = {name: [] for name in names}
        if names:
            for volume in self.volumes.list():
                if claims.class_of(volume) in names:
                    found[claims.class_of(volume)].append(volume)
        return found

    # Finding ------------------------------------------------------------------------------------------------------

    def find(self, wanted: Wanted, node: NodeInfo) -> Found | tuple[str, ...]:
        """What the pod would get on the node, or all that speaks against it."""
        why_not_bound = self._why_not_bound(wanted.bound, node.labels)
        found = self._find_delayed(wanted, node)
        if not why_not_bound and isinstance(found, Found):
            return found
        said = {why_not_bound, found if isinstance(found, str) else ""}
        return tuple(reason for reason in _ORDER if reason in said)

    def _why_not_bound(self, bound: Sequence[Object], labels: Labels) -> str:
        for claim in bound:
            volume = self.volumes.get(ObjectKey("", claims.volume_name(claim)))
            if volume is None:
                return LOST_VOLUME
            if not claims.is_reachable(volume, labels):
                return WRONG_NODE
        return ""

    def _find_delayed(self, wanted: Wanted, node: NodeInfo) -> Found | str:
        promised = [claim for claim in wanted.delayed if claims.SELECTED_NODE in annotations_of(claim)]
        if any(annotations_of(claim)[claims.SELECTED_NODE] != node.name for claim in promised):
            return NO_VOLUMES
        bindings: list[tuple[Object, Object]] = []
        provisions = list(promised)
        for claim in sorted(wanted.delayed, key=claims.requested):  # small ones first: they leave the most to the rest
            if claim in promised:
                continue
            volume = claims.find_match(
                claim,
                (wanted.volumes or {}).get(claims.class_of(claim), ()),
                is_delayed=True,
                node_labels=node.labels,
                excluded={name_of(taken) for taken, _ in bindings},
            )
            if volume is not None:
                bindings.append((volume, claim))
            else:
                provisions.append(claim)
        why = next(filter(None, (self._why_not_made(claim, node.labels) for claim in provisions)), "")
        return why or Found(bindings, provisions)

    def _why_not_made(self, claim: Object, labels: Labels) -> str:
        """Why no volume can be made for the claim where these labels are; "" if one can."""
        storage_class = self.classes.get(ObjectKey("", claims.class_of(claim)))
        if storage_class is None or storage_class.get("provisioner", "") in ("", claims.NO_PROVISIONER):
            return NO_VOLUMES
        if not _allows(storage_class.get("allowedTopologies") or (), labels):
            return NO_VOLUMES
        return "" if self._has_space(claim, storage_class, labels) else NO_SPACE

    def _has_space(self, claim: Object, storage_class: Object, labels: Labels) -> bool:
        """Only drivers that say so publish how much space there is."""
        driver = self._drivers.get(ObjectKey("", storage_class["provisioner"]))
        if driver is None or not (driver.get("spec") or {}).get("storageCapacity"):
            return True
        return any(
            capacity.get("storageClassName") == name_of(storage_class)
            and _is_enough(capacity, claim)
            and capacity.get("nodeTopology") is not None
            and from_label_selector(capacity["nodeTopology"]).matches(labels)
            for capacity in self._capacities.list()
        )

    # Binding ------------------------------------------------------------------------------------------------------

    def assume(self, found: Found, node_name: str) -> Found:
        """From now on the volumes are taken. What is returned is what to write."""
        bindings, provisions = [], []
        for volume, claim in found.bindings:
            after = claims.bound_to(volume, claim)
            self.volumes.assume(volume, after)
            bindings.append((after, claim))
        for claim in found.provisions:
            after = {**claim, "metadata": claims.with_annotations(claim, {claims.SELECTED_NODE: node_name})}
            self.claims.assume(claim, after)
            provisions.append(after)
        return Found(bindings, provisions)

    def restore(self, found: Found) -> None:
        for volume, _ in found.bindings:
            self.volumes.restore(key_of(volume))
        for claim in found.provisions:
            self.claims.restore(key_of(claim))

    async def bind(self, pod: PodInfo, found: Found, node_name: str) -> None:
        """Write, and wait until every claim has its volume. ApiError or BindingFailed where that cannot be."""
        volumes = [(await self._write(PERSISTENT_VOLUMES, volume), claim) for volume, claim in found.bindings]
        provisions = [await self._write(PERSISTENT_VOLUME_CLAIMS, claim) for claim in found.provisions]
        left = self._timeout_seconds
        while not self._is_done(pod, volumes, provisions, node_name):
            if left <= 0:
                raise BindingFailed("context deadline exceeded")
            await self._handle.pause(_POLL_SECONDS)
            left -= _POLL_SECONDS

    async def _write(self, resource: Resource, obj: Object) -> Object:
        """Nothing is written that stands already: somebody may have kept the volume for this very claim."""
        seen = (self.volumes if resource == PERSISTENT_VOLUMES else self.claims).seen(key_of(obj))
        return obj if seen == obj else await self._handle.api.update(resource, obj)

    def _is_done(
        self,
        pod: PodInfo,
        bindings: Sequence[tuple[Object, Object]],
        provisions: Sequence[Object],
        node_name: str,
    ) -> bool:
        node = self._nodes.get(ObjectKey("", node_name))
        if node is None:
            name = go_quote(node_name)
            raise BindingFailed(f"failed to get node {name}: node {name} not found")
        known = self._pods.get(pod.key)
        if known is None or uid_of(known) != pod.uid:
            raise BindingFailed(f"pod does not exist any more: pod {go_quote(pod.name)} not found")
        return all(self._has_volume(volume, claim, node) for volume, claim in bindings) and all(
            self._has_been_made(claim, node) for claim in provisions
        )

    def _has_volume(self, written: Object, claim: Object, node: Object) -> bool:
        volume = self.volumes.seen(key_of(written))
        if volume is None:
            name = go_quote(name_of(written))
            raise BindingFailed(f"failed to check binding: persistentvolumes {name} not found")
        if is_older(volume, written):
            return False
        _check_reachable(volume, node)
        if not (claims.claim_ref(volume) or {}).get("uid"):
            raise BindingFailed(f"ClaimRef got reset for pv {go_quote(name_of(volume))}")
        return claims.is_bound(self._claim(claim, "failed to check binding"))

    def _has_been_made(self, written: Object, node: Object) -> bool:
        claim = self._claim(written, "failed to check provisioning pvc")
        if is_older(claim, written):
            return False
        if not annotations_of(claim):
            raise BindingFailed(f"selectedNode annotation reset for PVC {go_quote(name_of(claim))}")
        if annotations_of(claim).get(claims.SELECTED_NODE) != name_of(node):
            raise BindingFailed(f"provisioning failed for PVC {go_quote(name_of(claim))}")
        name = claims.volume_name(claim)
        if name:
            volume = self.volumes.seen(ObjectKey("", name))
            if volume is None:
                return False
            _check_reachable(volume, node)
        return claims.is_bound(claim)

    def _claim(self, written: Object, what_failed: str) -> Object:
        key = key_of(written)
        claim = self.claims.seen(key)
        if claim is None:
            raise BindingFailed(f"{what_failed}: persistentvolumeclaims {go_quote(str(key))} not found")
        return claim


def _check_reachable(volume: ReadOnlyObject, node: ReadOnlyObject) -> None:
    if not claims.is_reachable(volume, labels_of(node)):
        names = f"pv {go_quote(name_of(volume))} node affinity doesn't match node {go_quote(name_of(node))}"
        raise BindingFailed(f"{names}: no matching NodeSelectorTerms")


def _is_enough(capacity: ReadOnlyObject, claim: ReadOnlyObject) -> bool:
    limit = capacity.get("maximumVolumeSize") or capacity.get("capacity")
    return limit is not None and claims.requested(claim) <= parse(str(limit))


def _allows(topologies: Sequence[ReadOnlyObject], labels: Labels) -> bool:
    """Whether one of the terms holds; no terms allow everything, an empty one nothing."""
    if not topologies:
        return True
    terms = [term.get("matchLabelExpressions") or () for term in topologies]
    return any(term and all(labels.get(one["key"]) in one["values"] for one in term) for term in terms)
