"""CSIStorageCapacities: how much storage of a class a driver has left, and for which nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.checks import (
    NO_FIELDS,
    NO_ITEMS,
    Errors,
    check_dns_subdomain,
    check_immutable,
    check_label_selector,
    go_selector,
)
from apiserver.resources.comparison import same
from apiserver.resources.kinds import PlainKind
from apiserver.resources.pods.warnings import OLD_NODE_LABELS
from kubeloop.apimachinery import field, quantity, validation
from kubeloop.apimachinery.meta import Object

Json = Mapping[str, Any]


class CSIStorageCapacityStrategy(PlainKind):
    rechecks_object = True
    allow_unconditional_update = False

    def check(self, obj: Object, errors: Errors) -> None:
        check_label_selector(obj.get("nodeTopology"), "nodeTopology", errors)
        check_dns_subdomain(obj.get("storageClassName", ""), "storageClassName", errors)
        if "capacity" in obj and (capacity := quantity.parse(obj["capacity"])).sign < 0:
            errors.append(field.invalid("capacity", str(capacity), validation.MUST_BE_NON_NEGATIVE))

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        self.check(new, errors)
        if not same(new.get("nodeTopology"), old.get("nodeTopology")):
            value = go_selector(new.get("nodeTopology"))
            errors.append(field.invalid("nodeTopology", value, validation.IMMUTABLE))
        check_immutable(new.get("storageClassName", ""), old.get("storageClassName", ""), "storageClassName", errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        topology, warnings = obj.get("nodeTopology") or NO_FIELDS, []
        for i, expression in enumerate(topology.get("matchExpressions") or NO_ITEMS):
            key = expression.get("key", "")
            if key in OLD_NODE_LABELS:
                warnings.append(f"nodeTopology.matchExpressions[{i}].key: {key} is {OLD_NODE_LABELS[key]}")
        for label in topology.get("matchLabels") or NO_FIELDS:
            if label in OLD_NODE_LABELS:
                warnings.append(f"nodeTopology.matchLabels.{label}: {OLD_NODE_LABELS[label]}")
        return warnings


CSI_STORAGE_CAPACITY = CSIStorageCapacityStrategy()
