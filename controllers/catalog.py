"""Every control loop there is, in the order in which they are started, and the choice among them.

Names and aliases are kube-controller-manager's. A new loop is one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from controllers import (
    attach_detach,
    certificates,
    cluster_role_aggregation,
    cron_job,
    daemon_set,
    deployment,
    device_taint_eviction,
    disruption,
    endpoints,
    endpointslice,
    endpointslice_mirroring,
    garbage_collector,
    horizontal_pod_autoscaler,
    job,
    legacy_tokens,
    namespace,
    node_ipam,
    node_lifecycle,
    node_ttl,
    pod_gc,
    policy_types,
    replicaset,
    resource_claims,
    resource_quota,
    root_ca_publisher,
    service_account_tokens,
    service_cidrs,
    serviceaccount,
    stateful_set,
    taint_eviction,
    ttl_after_finished,
    volumes,
)
from controllers.certificates.flags import Signing
from kubeloop.apimachinery.releases import RELEASES, is_since
from kubeloop.runtime.manager import Manager


@dataclass(frozen=True, slots=True)
class Settings:
    """What the process was told and some loops need; read once, at the start."""

    root_ca: str = root_ca_publisher.PLACEHOLDER
    default_storage_class: bool = False
    cluster_cidr: str = node_ipam.DEFAULT_CLUSTER_CIDR
    autoscaling: horizontal_pod_autoscaler.Settings = horizontal_pod_autoscaler.USUAL
    service_account_key: Path | None = None
    legacy_token_seconds: float = legacy_tokens.DEFAULT_SECONDS
    signing: Signing = field(default_factory=Signing)


@dataclass(frozen=True, slots=True)
class Loop:
    """`settings` names the fields of Settings that `add_to` takes as keyword arguments; `since`: the first minor
    version of Kubernetes whose API has what the loop is for."""

    name: str
    alias: str
    add_to: Callable[..., None]
    settings: tuple[str, ...] = ()
    since: str = RELEASES[0]

    def answers_to(self, name: str) -> bool:
        return name in (self.name, self.alias)

    def is_for(self, release: str) -> bool:
        return is_since(release, self.since)


LOOPS: tuple[Loop, ...] = (
    Loop("serviceaccount-controller", "serviceaccount", serviceaccount.add_to),
    Loop(
        "serviceaccount-token-controller",
        "serviceaccount-token",
        service_account_tokens.add_to,
        ("root_ca", "service_account_key"),
    ),
    Loop(
        "legacy-serviceaccount-token-cleaner-controller",
        "legacy-service-account-token-cleaner",
        legacy_tokens.add_to,
        ("legacy_token_seconds",),
    ),
    Loop("root-ca-certificate-publisher-controller", "root-ca-cert-publisher", root_ca_publisher.add_to, ("root_ca",)),
    Loop("deployment-controller", "deployment", deployment.add_to),
    Loop("replicaset-controller", "replicaset", replicaset.add_replica_sets),
    Loop("replicationcontroller-controller", "replicationcontroller", replicaset.add_replication_controllers),
    Loop("job-controller", "job", job.add_to),
    Loop("cronjob-controller", "cronjob", cron_job.add_to),
    Loop("ttl-after-finished-controller", "ttl-after-finished", ttl_after_finished.add_to),
    Loop("daemonset-controller", "daemonset", daemon_set.add_to),
    Loop("statefulset-controller", "statefulset", stateful_set.add_to),
    Loop("endpointslice-controller", "endpointslice", endpointslice.add_to),
    Loop("endpoints-controller", "endpoint", endpoints.add_to),
    Loop("endpointslice-mirroring-controller", "endpointslicemirroring", endpointslice_mirroring.add_to),
    Loop("service-cidr-controller", "service-cidr-controller", service_cidrs.add_to),
    Loop(
        "horizontal-pod-autoscaler-controller",
        "horizontalpodautoscaler",
        horizontal_pod_autoscaler.add_to,
        ("autoscaling",),
    ),
    Loop("node-ipam-controller", "nodeipam", node_ipam.add_to, ("cluster_cidr",)),
    Loop("node-lifecycle-controller", "nodelifecycle", node_lifecycle.add_to),
    Loop("taint-eviction-controller", "taint-eviction-controller", taint_eviction.add_to),
    Loop(
        "device-taint-eviction-controller",
        "device-taint-eviction-controller",
        device_taint_eviction.add_to,
        since="1.34",
    ),
    Loop("ttl-controller", "ttl", node_ttl.add_to),
    Loop("pod-garbage-collector-controller", "podgc", pod_gc.add_to),
    Loop("persistentvolume-binder-controller", "persistentvolume-binder", volumes.add_binder),
    Loop("persistentvolume-expander-controller", "persistentvolume-expander", volumes.add_expander),
    Loop("persistentvolumeclaim-protection-controller", "pvc-protection", volumes.add_claim_protection),
    Loop("persistentvolume-protection-controller", "pv-protection", volumes.add_volume_protection),
    Loop(
        "volumeattributesclass-protection-controller",
        "volumeattributesclass-protection-controller",
        volumes.add_class_protection,
        since="1.34",
    ),
    Loop("persistentvolume-attach-detach-controller", "attachdetach", attach_detach.add_to),
    Loop("csi-attacher-sim", "csi-attacher", attach_detach.add_attacher),
    Loop("resourceclaim-controller", "resource-claim-controller", resource_claims.add_to, since="1.34"),
    Loop("ephemeral-volume-controller", "ephemeral-volume", volumes.add_ephemeral),
    Loop("hostpath-sim-provisioner", "hostpath-sim", volumes.add_provisioner, ("default_storage_class",)),
    Loop("clusterrole-aggregation-controller", "clusterrole-aggregation", cluster_role_aggregation.add_to),
    Loop("certificatesigningrequest-approving-controller", "csrapproving", certificates.add_approver),
    Loop("certificatesigningrequest-signing-controller", "csrsigning", certificates.add_signer, ("signing",)),
    Loop("certificatesigningrequest-cleaner-controller", "csrcleaner", certificates.add_cleaner),
    Loop("disruption-controller", "disruption", disruption.add_to),
    Loop(
        "validatingadmissionpolicy-status-controller",
        "validatingadmissionpolicy-status-controller",
        policy_types.add_to,
    ),
    Loop("resourcequota-controller", "resourcequota", resource_quota.add_to),
    Loop("namespace-controller", "namespace", namespace.add_to),
    Loop("garbage-collector-controller", "garbagecollector", garbage_collector.add_to),
)


class UnknownLoop(ValueError):
    """--controllers names something that is no loop."""


def select(wanted: Sequence[str], loops: Iterable[Loop] = LOOPS) -> list[Loop]:
    """The loops that --controllers asks for: names, `*` for all, `-name` for all but one; the first word wins."""
    known = list(loops)
    for word in wanted:
        if word != "*" and not any(loop.answers_to(word.removeprefix("-")) for loop in known):
            names = ", ".join(loop.name for loop in known)
            raise UnknownLoop(f"--controllers: {word!r} is not in the list of known controllers ({names})")
    return [loop for loop in known if _is_wanted(loop, wanted)]


def add_to(manager: Manager, loops: Iterable[Loop], settings: Settings) -> None:
    """Add each of these loops to the manager."""
    for loop in loops:
        loop.add_to(manager, **{name: getattr(settings, name) for name in loop.settings})


def _is_wanted(loop: Loop, wanted: Sequence[str]) -> bool:
    for word in wanted:
        if loop.answers_to(word):
            return True
        if word.startswith("-") and loop.answers_to(word[1:]):
            return False
    return "*" in wanted
