"""What a pod spec means where its author said nothing.

`default_pod_spec` is for every pod template and every pod; `default_pod` adds what only materialises in a Pod
(requests from limits, service links, host ports). Follows pkg/apis/core/v1/defaults.go and conversion.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.resources.checks import NO_ITEMS
from apiserver.resources.filling import fill, fill_empty
from apiserver.resources.pods.images import default_pull_policy
from apiserver.resources.pods.pod_resources import default_pod_level_resources
from apiserver.resources.resource_lists import round_up
from kubeloop.apimachinery.meta import Object

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
HANDLERS = ("postStart", "preStop")

SPEC_DEFAULTS: Mapping[str, Any] = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
DEFAULT_GRACE_PERIOD_SECONDS = 30
CONTAINER_DEFAULTS: Mapping[str, Any] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
PROBE_DEFAULTS: Mapping[str, Any] = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
HTTP_GET_DEFAULTS: Mapping[str, Any] = {"path": "/", "scheme": "HTTP"}

# What a volume source gets where a field is absent; a mode of 0 or an empty type is a value of its own and stays.
SOURCE_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "hostPath": {"type": ""},
    "secret": {"defaultMode": 0o644},
    "configMap": {"defaultMode": 0o644},
    "downwardAPI": {"defaultMode": 0o644},
    "projected": {"defaultMode": 0o644},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
OLD_INIT_CONTAINER_ANNOTATIONS = tuple(
    f"pod.{stage}.kubernetes.io/{name}"
    for stage in ("alpha", "beta")
    for name in ("init-containers", "init-container-statuses")
)


def default_pod(pod: Object) -> None:
    """Everything a Pod gets on its way in, short of admission."""
    spec = pod.setdefault("spec", {})
    for list_name in ("containers", "initContainers"):
        for container in spec.get(list_name) or NO_ITEMS:
            _request_what_is_limited(container)
    if "resources" in spec:
        default_pod_level_resources(spec)
    if "enableServiceLinks" not in spec:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    default_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    default_pod_status(pod)


def default_pod_status(pod: Object) -> None:
    """What a Pod gets on its way in that is not about its spec."""
    drop_old_annotations(pod)
    if status := pod.get("status"):
        _default_pod_ips(status)


def default_pod_template(template: Object) -> None:
    """What the template of a workload gets."""
    template.setdefault("metadata", {})
    default_pod_spec(template.setdefault("spec", {}))
    drop_old_annotations(template)


def default_pod_spec(spec: Object) -> None:
    """What every pod spec gets, in a Pod or a template."""
    fill_empty(spec, SPEC_DEFAULTS)
    if "terminationGracePeriodSeconds" not in spec:
        spec["terminationGracePeriodSeconds"] = DEFAULT_GRACE_PERIOD_SECONDS
    if "securityContext" not in spec:
        spec["securityContext"] = {}
    mirror_service_account(spec)
    for volume in spec.get("volumes") or NO_ITEMS:
        default_volume(volume)
    for list_name in CONTAINER_LISTS:
        for container in spec.get(list_name) or NO_ITEMS:
            _default_container(container)
    if "overhead" in spec:
        round_up(spec["overhead"])
    if "resources" in spec:
        _default_resources(spec["resources"])


def mirror_service_account(spec: Object) -> None:
    """`serviceAccount` is the old spelling of `serviceAccountName`: both always say the same."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def drop_old_annotations(obj: Object) -> None:
    """Annotations by which init containers were once written down, unless they are all gone anyway."""
    annotations = (obj.get("metadata") or {}).get("annotations")
    if annotations:
        for key in OLD_INIT_CONTAINER_ANNOTATIONS:
            annotations.pop(key, None)
        if not annotations:
            del obj["metadata"]["annotations"]


def default_volume(volume: Object) -> None:
    """A volume that names no source is an emptyDir."""
    sources = [name for name in volume if name != "name"]
    if not sources:
        volume["emptyDir"] = {}
        return
    for name in sources:
        source = volume[name]
        if name in SOURCE_DEFAULTS:
            fill(source, SOURCE_DEFAULTS[name])
        if name == "image":
            if not source.get("pullPolicy"):
                source["pullPolicy"] = default_pull_policy(source.get("reference", ""))
        elif name == "downwardAPI":
            _default_downward_api(source)
        elif name == "projected":
            for projection in source.get("sources") or NO_ITEMS:
                _default_projection(projection)
        elif name == "ephemeral" and "volumeClaimTemplate" in source:
            default_claim_spec(source["volumeClaimTemplate"].setdefault("spec", {}))


def default_claim_spec(spec: Object) -> None:
    """The spec of a PersistentVolumeClaim, on its own or inside a template."""
    spec.setdefault("volumeMode", "Filesystem")
    _default_resources(spec.setdefault("resources", {}))


def _default_projection(projection: Object) -> None:
    # Behind feature gates that are off in v1.36; the projection itself stays, without a source.
    projection.pop("podCertificate", None)
    projection.pop("clusterTrustBundle", None)
    if "downwardAPI" in projection:
        _default_downward_api(projection["downwardAPI"])
    if "serviceAccountToken" in projection:
        projection["serviceAccountToken"].setdefault("expirationSeconds", 3600)


def _default_downward_api(source: Object) -> None:
    for item in source.get("items") or NO_ITEMS:
        if "fieldRef" in item:
            _default_field_reference(item["fieldRef"])
        if "resourceFieldRef" in item:
            item["resourceFieldRef"].setdefault("divisor", "0")


def _default_field_reference(reference: Object) -> None:
    if not reference.get("apiVersion"):
        reference["apiVersion"] = "v1"


def _default_container(container: Object) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = default_pull_policy(container.get("image", ""))
    fill_empty(container, CONTAINER_DEFAULTS)
    for port in container.get("ports") or NO_ITEMS:
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in container.get("env") or NO_ITEMS:
        if "valueFrom" in variable:
            _default_variable_source(variable["valueFrom"])
    if "resources" in container:
        _default_resources(container["resources"])
    else:
        container["resources"] = {}
    for name in PROBES:
        if name in container:
            _default_probe(container[name])
    if "lifecycle" in container:
        _default_lifecycle(container)


def _default_variable_source(source: Object) -> None:
    if "fieldRef" in source:
        _default_field_reference(source["fieldRef"])
    if "resourceFieldRef" in source:
        source["resourceFieldRef"].setdefault("divisor", "0")
    if "fileKeyRef" in source:
        source["fileKeyRef"].setdefault("optional", False)


def _default_probe(probe: Object) -> None:
    fill_empty(probe, PROBE_DEFAULTS)
    if "httpGet" in probe:
        fill_empty(probe["httpGet"], HTTP_GET_DEFAULTS)
    if "grpc" in probe:
        probe["grpc"]["service"] = probe["grpc"].get("service") or ""


def _default_lifecycle(container: Object) -> None:
    lifecycle = container["lifecycle"]
    # Stop signals are behind a feature gate that is off in v1.36; a lifecycle that is nothing else goes too.
    if lifecycle.pop("stopSignal", None) is not None and not lifecycle:
        del container["lifecycle"]
    for name in HANDLERS:
        if "httpGet" in lifecycle.get(name, ()):
            fill_empty(lifecycle[name]["httpGet"], HTTP_GET_DEFAULTS)


def _default_resources(resources: Object) -> None:
    if "limits" in resources:
        round_up(resources["limits"])
    if "requests" in resources:
        round_up(resources["requests"])


def _request_what_is_limited(container: Object) -> None:
    """A limit without a request is a request of the same amount."""
    limits = (container.get("resources") or {}).get("limits")
    if limits:
        container["resources"]["requests"] = limits | (container["resources"].get("requests") or {})


def _default_host_ports(spec: Object) -> None:
    """On the host's network every container port is a port of the host."""
    for list_name in ("containers", "initContainers"):
        for container in spec.get(list_name) or NO_ITEMS:
            for port in container.get("ports") or NO_ITEMS:
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]


def _default_pod_ips(status: Object) -> None:
    """`podIP` is the first of `podIPs`; where they differ the single one is right (old kubelets know only that)."""
    ip, ips = status.get("podIP"), status.get("podIPs")
    if ip and (not ips or ips[0].get("ip") != ip):
        status["podIPs"] = [{"ip": ip}]
    elif ips and not ip:
        status["podIP"] = ips[0].get("ip", "")
