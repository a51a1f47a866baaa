"""Every admission plugin, in Kubernetes' order (pkg/kubeapiserver/options/plugins.go, v1.36): one line a plugin.

`main` makes the server's chain with `default_chain`. A new plugin is one module in `plugins/` and one line here.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from apiserver.admission.chain import Chain, Plugin
from apiserver.admission.plugins.certificate_subject_restriction import CertificateSubjectRestriction
from apiserver.admission.plugins.certificates import CertificateApproval, CertificateSigning
from apiserver.admission.plugins.default_classes import DefaultIngressClass, DefaultStorageClass
from apiserver.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from apiserver.admission.plugins.limit_ranger import LimitRanger
from apiserver.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from apiserver.admission.plugins.persistent_volume_claim_resize import PersistentVolumeClaimResize
from apiserver.admission.plugins.pod_security import PodSecurity
from apiserver.admission.plugins.pod_topology_labels import PodTopologyLabels
from apiserver.admission.plugins.priority import Priority
from apiserver.admission.plugins.rbac_escalation import RbacEscalation
from apiserver.admission.plugins.resource_quota import ResourceQuota
from apiserver.admission.plugins.runtime_class import RuntimeClass
from apiserver.admission.plugins.service_account import ServiceAccount
from apiserver.admission.plugins.storage_object_in_use_protection import StorageObjectInUseProtection
from apiserver.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition
from apiserver.admission.plugins.validating_admission_policy import ValidatingAdmissionPolicy
from apiserver.admission.quota_ledger import Ledger
from apiserver.auth.escalation import Escalation
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.clock import Clock


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What plugins are made from; each takes what it needs."""

    reader: Reader
    ledger: Ledger
    escalation: Escalation
    clock: Clock
    rng: random.Random


PLUGINS: tuple[Callable[[Dependencies], Plugin], ...] = (
    lambda given: NamespaceLifecycle(given.reader, given.clock),
    lambda given: LimitRanger(given.reader),
    lambda given: ServiceAccount(given.reader, given.clock, given.rng),
    lambda given: TaintNodesByCondition(),
    lambda given: PodSecurity(given.reader),
    lambda given: Priority(given.reader),
    lambda given: DefaultTolerationSeconds(),
    lambda given: DefaultStorageClass(given.reader),
    lambda given: StorageObjectInUseProtection(),
    lambda given: PersistentVolumeClaimResize(given.reader),
    lambda given: RuntimeClass(given.reader),
    lambda given: CertificateApproval(given.escalation.authorizer),
    lambda given: CertificateSigning(given.escalation.authorizer),
    lambda given: CertificateSubjectRestriction(),
    lambda given: DefaultIngressClass(given.reader),
    lambda given: PodTopologyLabels(given.reader),
    lambda given: RbacEscalation(given.escalation),
    lambda given: ValidatingAdmissionPolicy(given.reader),
    lambda given: ResourceQuota(given.reader, given.ledger, given.clock),
)


def default_chain(given: Dependencies) -> Chain:
    """The chain with every plugin."""
    return Chain(make(given) for make in PLUGINS)
