"""Which service account tokens a kubelet may ask for: bound to its own pods, for what these mount them for."""

from __future__ import annotations

from typing import Any

from apiserver.admission.chain import CREATE, Attributes
from apiserver.auth.authorization import Access, Authorizer
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import ReadOnlyObject, namespace_of
from kubeloop.apimachinery.pod_references import ephemeral_claim_name, projections

# Volume sources from before CSI -> the driver that stands in for them.
_MIGRATED = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "azureDisk": "disk.csi.azure.com",
    "azureFile": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "portworxVolume": "pxd.portworx.com",
    "vsphereVolume": "csi.vsphere.vmware.com",
}


class TokenChecks:
    """Refuses TokenRequests that are not a node's to make."""

    def __init__(self, reader: Reader, authorizer: Authorizer) -> None:
        self._reader, self._authorizer = reader, authorizer

    def check(self, attributes: Attributes, node: str) -> None:
        if attributes.operation != CREATE or attributes.subresource != "token":
            return
        spec = (attributes.object or {}).get("spec") or {}
        pod = self._bound_pod(attributes, spec.get("boundObjectRef") or {}, node)
        self._check_audience(attributes, spec.get("audiences") or [], pod)

    def _bound_pod(self, attributes: Attributes, reference: ReadOnlyObject, node: str) -> ReadOnlyObject:
        name, uid = reference.get("name", ""), reference.get("uid", "")
        if (reference.get("apiVersion"), reference.get("kind")) != ("v1", "Pod") or not name:
            raise attributes.forbidden("node requested token not bound to a pod")
        if not uid:
            raise attributes.forbidden("node requested token with a pod binding without a uid")
        pod = self._reader.get("pods", attributes.namespace, name)
        if pod is None:
            raise NotFound.of("pod", "", name)
        if uid != pod["metadata"]["uid"]:
            why = f"the UID in the bound object reference ({uid}) does not match the UID in record"
            raise attributes.forbidden(f"{why}. The object might have been deleted and then recreated")
        if pod["spec"].get("nodeName") != node:
            raise attributes.forbidden("node requested token bound to a pod scheduled on a different node")
        return pod

    def _check_audience(self, attributes: Attributes, audiences: list[str], pod: ReadOnlyObject) -> None:
        """The pod mounts a token for it, a driver of its volumes wants one, or the node was given the right."""
        if len(audiences) > 1:
            raise attributes.forbidden("node may only request 0 or 1 audiences")
        audience = audiences[0] if audiences else ""
        try:
            if self._is_mounted(pod, audience):
                return
        except ExceptionGroup as missing:
            reasons = [str(reason) for reason in missing.exceptions]
            text = reasons[0] if len(reasons) == 1 else f"[{', '.join(reasons)}]"
            raise attributes.forbidden(f"error validating audience {go_quote(audience)}: {text}") from missing
        user = attributes.user
        verb = "request-serviceaccounts-token-audience"
        access = Access(user, verb, "", "v1", audience, namespace=attributes.namespace, name=attributes.name)
        if not self._authorizer.authorize(access).allowed:
            why = f"{user.name} is not authorized to request tokens for this audience"
            raise attributes.forbidden(f"audience {go_quote(audience)} not found in pod spec volume, {why}")

    def _is_mounted(self, pod: ReadOnlyObject, audience: str) -> bool:
        """Raises a group of NotFound where it is not, and not everything could be looked at."""
        missing: list[NotFound] = []
        for volume in pod["spec"].get("volumes") or ():
            tokens = (one["serviceAccountToken"] for one in projections(volume) if "serviceAccountToken" in one)
            if any(token.get("audience", "") == audience for token in tokens):
                return True
            try:
                driver = self._driver_of(pod, volume)
                if driver and self._wants(driver, audience):
                    return True
            except NotFound as error:
                missing.append(error)
        if missing:
            raise ExceptionGroup("volumes that lead nowhere", missing)
        return False

    def _driver_of(self, pod: ReadOnlyObject, volume: ReadOnlyObject) -> str:
        """The CSI driver behind a pod's volume; "" where there is none."""
        if (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
            return self._driver_of_claim(namespace_of(pod), ephemeral_claim_name(pod, volume))
        if claim := volume.get("persistentVolumeClaim"):
            return self._driver_of_claim(namespace_of(pod), claim.get("claimName", ""))
        return _driver_in(volume)

    def _driver_of_claim(self, namespace: str, name: str) -> str:
        claim = self._found("persistentvolumeclaims", "persistentvolumeclaim", "", namespace, name)
        volume_name = claim["spec"].get("volumeName", "")
        return _driver_in(self._found("persistentvolumes", "persistentvolume", "", "", volume_name)["spec"])

    def _wants(self, driver: str, audience: str) -> bool:
        found = self._found("csidrivers.storage.k8s.io", "csidriver", "storage.k8s.io", "", driver)
        return any(one.get("audience", "") == audience for one in found["spec"].get("tokenRequests") or ())

    def _found(self, resource: str, kind: str, group: str, namespace: str, name: str) -> ReadOnlyObject:
        found = self._reader.get(resource, namespace, name)
        if found is None:
            raise NotFound.of(kind, group, name)
        return found


def _driver_in(source: ReadOnlyObject) -> str:
    """The driver of a volume source, of a pod or of a persistent volume."""
    csi: dict[str, Any] | None = source.get("csi")
    if csi is not None:
        return str(csi.get("driver", ""))
    return next((driver for field, driver in _MIGRATED.items() if field in source), "")
