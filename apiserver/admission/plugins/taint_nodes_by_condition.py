"""TaintNodesByCondition: a new node is tainted not-ready until the node loop has seen it ready."""

from __future__ import annotations

from apiserver.admission.chain import CREATE, Attributes, Plugin

_NOT_READY = "node.kubernetes.io/not-ready"
_NO_SCHEDULE = "NoSchedule"


class TaintNodesByCondition(Plugin):
    operations = frozenset({CREATE})
    resources = frozenset({"nodes"})

    async def admit(self, attributes: Attributes) -> None:
        node = attributes.object
        if node is None or attributes.subresource:
            return
        spec = node.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any(taint.get("key") == _NOT_READY and taint.get("effect") == _NO_SCHEDULE for taint in taints):
            spec["taints"] = [*taints, {"key": _NOT_READY, "effect": _NO_SCHEDULE}]
