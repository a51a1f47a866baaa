"""ReplicaSets."""

from __future__ import annotations

from apiserver.resources.apps.workload import (
    Workload,
    check_at_most_replicas,
    check_counts,
    check_selected_template,
    check_selector,
)
from apiserver.resources.checks import NO_FIELDS, Errors, check_not_negative, check_selector_kept
from apiserver.resources.filling import fill
from kubeloop.apimachinery.meta import Object

COUNTS = (
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    "terminatingReplicas",
)


class ReplicaSetStrategy(Workload):
    def default_spec(self, spec: Object, obj: Object) -> None:
        fill(spec, {"replicas": 1})

    def blank_status(self, obj: Object) -> Object:
        return {"replicas": 0}

    def check(self, obj: Object, errors: Errors) -> None:
        spec = obj["spec"]
        check_not_negative(spec.get("replicas", 0), "spec.replicas", errors)
        check_not_negative(spec.get("minReadySeconds", 0), "spec.minReadySeconds", errors)
        check_selector(spec.get("selector"), "deployment", errors)
        check_selected_template(spec, "invalid label selector", "ReplicaSet", errors)

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check(new, errors)
        check_selector_kept(new["spec"].get("selector"), old["spec"].get("selector"), errors)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        status = new.get("status") or NO_FIELDS
        check_counts(status, COUNTS, errors)
        counts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
        check_at_most_replicas(status, counts, errors, ready_word="readyReplicas")


REPLICA_SET = ReplicaSetStrategy()
