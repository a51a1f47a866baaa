"""Every admission plugin, in Kubernetes' order (pkg/kubeapiserver/options/plugins.go, v1.36): one line a plugin.

`server.py` makes the chain with `chain_of`; `enabled` works out what --enable-admission-plugins and
--disable-admission-plugins make of the defaults. A new plugin is one module in `plugins/` and one line here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from dataclasses import dataclass

from apiserver.admission.chain import Chain, Plugin
from apiserver.admission.forms import Forms
from apiserver.admission.plugins.always_deny import AlwaysDeny
from apiserver.admission.plugins.always_pull_images import AlwaysPullImages
from apiserver.admission.plugins.certificate_subject_restriction import CertificateSubjectRestriction
from apiserver.admission.plugins.certificates import CertificateApproval, CertificateSigning
from apiserver.admission.plugins.default_classes import DefaultIngressClass, DefaultStorageClass
from apiserver.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from apiserver.admission.plugins.deny_service_external_ips import DenyServiceExternalIPs
from apiserver.admission.plugins.extended_resource_toleration import ExtendedResourceToleration
from apiserver.admission.plugins.limit_pod_hard_anti_affinity_topology import LimitPodHardAntiAffinityTopology
from apiserver.admission.plugins.limit_ranger import LimitRanger
from apiserver.admission.plugins.mutating_admission_policy import MutatingAdmissionPolicy
from apiserver.admission.plugins.mutating_admission_webhook import MutatingAdmissionWebhook
from apiserver.admission.plugins.namespace_auto_provision import CreateNamespace, NamespaceAutoProvision
from apiserver.admission.plugins.namespace_exists import NamespaceExists
from apiserver.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from apiserver.admission.plugins.node_declared_feature_validator import NodeDeclaredFeatureValidator
from apiserver.admission.plugins.node_restriction import NodeRestriction
from apiserver.admission.plugins.owner_references_permission_enforcement import OwnerReferencesPermissionEnforcement
from apiserver.admission.plugins.persistent_volume_claim_resize import PersistentVolumeClaimResize
from apiserver.admission.plugins.pod_node_selector import PodNodeSelector
from apiserver.admission.plugins.pod_resize_validator import PodResizeValidator
from apiserver.admission.plugins.pod_security import PodSecurity
from apiserver.admission.plugins.pod_toleration_restriction import PodTolerationRestriction
from apiserver.admission.plugins.pod_topology_labels import PodTopologyLabels
from apiserver.admission.plugins.priority import Priority
from apiserver.admission.plugins.rbac_escalation import RbacEscalation
from apiserver.admission.plugins.resource_quota import ResourceQuota
from apiserver.admission.plugins.runtime_class import RuntimeClass
from apiserver.admission.plugins.service_account import ServiceAccount
from apiserver.admission.plugins.storage_object_in_use_protection import StorageObjectInUseProtection
from apiserver.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition
from apiserver.admission.plugins.validating_admission_policy import ValidatingAdmissionPolicy
from apiserver.admission.plugins.validating_admission_webhook import ValidatingAdmissionWebhook
from apiserver.admission.quota_ledger import Ledger
from apiserver.admission.webhooks.asking import Asker
from apiserver.admission.webhooks.metrics import WebhookMetrics
from apiserver.auth.authorization import Authorizer
from apiserver.auth.escalation import Escalation
from apiserver.storage.reader import Reader
from apiserver.webhooks.client import WebhookClient
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.field import go_quote


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What plugins are made from; each takes what it needs."""

    reader: Reader
    ledger: Ledger
    escalation: Escalation
    clock: Clock
    rng: random.Random
    forms: Forms
    webhooks: WebhookClient
    webhook_metrics: WebhookMetrics
    create_namespace: CreateNamespace

    @property
    def authorizer(self) -> Authorizer:
        return self.escalation.authorizer

    def asker(self, *, mutating: bool) -> Asker:
        return Asker(self.webhooks, self.forms, self.clock, self.rng, self.webhook_metrics, mutating=mutating)


@dataclass(frozen=True, slots=True)
class Entry:
    """A plugin by the name the flags know it by, and how it is made.

    `make` is None for plugins of the real server that have nothing to do here: the flags know their names all the same.
    """

    name: str
    make: Callable[[Dependencies], Plugin] | None = None
    is_on: bool = True  # unless the flags say otherwise
    needs_file: bool = False  # with settings, which no flag of this server brings


def _off(name: str, make: Callable[[Dependencies], Plugin] | None = None) -> Entry:
    return Entry(name, make, is_on=False)


# No plugin of the real server, where the store of the four kinds makes these checks: no flag switches it off.
_ALWAYS = "RbacEscalation"

PLUGINS: tuple[Entry, ...] = (
    _off("AlwaysAdmit"),
    _off("NamespaceAutoProvision", lambda given: NamespaceAutoProvision(given.reader, given.create_namespace)),
    Entry("NamespaceLifecycle", lambda given: NamespaceLifecycle(given.reader, given.clock)),
    _off("NamespaceExists", lambda given: NamespaceExists(given.reader)),
    _off("LimitPodHardAntiAffinityTopology", lambda given: LimitPodHardAntiAffinityTopology()),
    Entry("LimitRanger", lambda given: LimitRanger(given.reader)),
    Entry("ServiceAccount", lambda given: ServiceAccount(given.reader, given.clock, given.rng)),
    _off("NodeRestriction", lambda given: NodeRestriction(given.reader, given.escalation.authorizer)),
    Entry("TaintNodesByCondition", lambda given: TaintNodesByCondition()),
    _off("AlwaysPullImages", lambda given: AlwaysPullImages()),
    Entry("ImagePolicyWebhook", is_on=False, needs_file=True),
    Entry("PodSecurity", lambda given: PodSecurity(given.reader)),
    _off("PodNodeSelector", lambda given: PodNodeSelector(given.reader)),
    Entry("Priority", lambda given: Priority(given.reader)),
    Entry("DefaultTolerationSeconds", lambda given: DefaultTolerationSeconds()),
    _off("PodTolerationRestriction", lambda given: PodTolerationRestriction(given.reader)),
    Entry("EventRateLimit", is_on=False, needs_file=True),
    _off("ExtendedResourceToleration", lambda given: ExtendedResourceToleration()),
    Entry("DefaultStorageClass", lambda given: DefaultStorageClass(given.reader)),
    Entry("StorageObjectInUseProtection", lambda given: StorageObjectInUseProtection()),
    Entry("PodGroupProtection"),
    _off(
        "OwnerReferencesPermissionEnforcement",
        lambda given: OwnerReferencesPermissionEnforcement(given.forms, given.authorizer),
    ),
    Entry("PersistentVolumeClaimResize", lambda given: PersistentVolumeClaimResize(given.reader)),
    Entry("RuntimeClass", lambda given: RuntimeClass(given.reader)),
    Entry("CertificateApproval", lambda given: CertificateApproval(given.authorizer)),
    Entry("CertificateSigning", lambda given: CertificateSigning(given.authorizer)),
    Entry("ClusterTrustBundleAttest"),
    Entry("CertificateSubjectRestriction", lambda given: CertificateSubjectRestriction()),
    Entry("DefaultIngressClass", lambda given: DefaultIngressClass(given.reader)),
    _off("DenyServiceExternalIPs", lambda given: DenyServiceExternalIPs()),
    Entry("PodTopologyLabels", lambda given: PodTopologyLabels(given.reader)),
    Entry("PodGroupWorkloadExists"),
    Entry("NodeDeclaredFeatureValidator", lambda given: NodeDeclaredFeatureValidator(given.reader)),
    Entry("JobValidation"),
    Entry("PodResizeValidator", lambda given: PodResizeValidator(given.reader)),
    Entry(_ALWAYS, lambda given: RbacEscalation(given.escalation)),
    Entry(
        "MutatingAdmissionPolicy",
        lambda given: MutatingAdmissionPolicy(given.reader, given.forms, given.authorizer),
    ),
    Entry(
        "MutatingAdmissionWebhook",
        lambda given: MutatingAdmissionWebhook(given.reader, given.forms, given.authorizer, given.asker(mutating=True)),
    ),
    Entry(
        "ValidatingAdmissionPolicy",
        lambda given: ValidatingAdmissionPolicy(given.reader, given.forms, given.authorizer),
    ),
    Entry(
        "ValidatingAdmissionWebhook",
        lambda given: ValidatingAdmissionWebhook(
            given.reader, given.forms, given.authorizer, given.asker(mutating=False)
        ),
    ),
    Entry("ResourceQuota", lambda given: ResourceQuota(given.reader, given.ledger, given.clock)),
    _off("AlwaysDeny", lambda given: AlwaysDeny()),
)

DEFAULT_ON = frozenset(entry.name for entry in PLUGINS if entry.is_on)
_NAMES = frozenset(entry.name for entry in PLUGINS) - {_ALWAYS}


class PluginFlagError(ValueError):
    """The two flags name what is not there, or contradict each other."""


def enabled(enable: Collection[str] = (), disable: Collection[str] = ()) -> frozenset[str]:
    """The plugins that are on: the defaults, more, and fewer. Raises PluginFlagError in the real server's words."""
    reasons = [
        f"{flag} plugin {go_quote(name)} is unknown"
        for flag, names in (("enable-admission-plugins", enable), ("disable-admission-plugins", disable))
        for name in names
        if name not in _NAMES
    ]
    reasons += [
        f"couldn't init admission plugin {go_quote(entry.name)}: no config specified"
        for entry in PLUGINS
        if entry.needs_file and entry.name in enable
    ]
    if both := sorted({*enable} & {*disable}):
        listed = " ".join(both)
        reasons.append(f"[{listed}] in enable-admission-plugins and disable-admission-plugins overlapped")
    if reasons:
        raise PluginFlagError(reasons[0] if len(reasons) == 1 else f"[{', '.join(reasons)}]")
    return (DEFAULT_ON - {*disable}) | {*enable}


def chain_of(given: Dependencies, names: Collection[str] = DEFAULT_ON) -> Chain:
    """The chain of the plugins that are on, in order."""
    plugins = (entry.make(given) for entry in PLUGINS if entry.make is not None and entry.name in names)
    return Chain(plugins, given.clock.monotonic)
